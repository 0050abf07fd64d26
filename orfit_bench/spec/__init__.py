"""The contract: what a method, a state, a backend, a model, a stream, a metric and an experiment are.

It imports nothing heavy, so a plugin may import it at start-up.
"""

from orfit_bench.spec.backend import REFERENCE, Absent, Backend, Override
from orfit_bench.spec.data import Data
from orfit_bench.spec.experiment import Experiment, Reproduced, Request
from orfit_bench.spec.kernel import Kernel
from orfit_bench.spec.kernel_arguments import FilterParams, FleetParams, Params, State
from orfit_bench.spec.law import Equality, Law, Measured, Rows, bound, deviation, measure_claim, nan_max
from orfit_bench.spec.matrix_types import Matrix, MatrixOrTransition
from orfit_bench.spec.merge import Combine, Merge, Side
from orfit_bench.spec.method import KernelSpec, Method
from orfit_bench.spec.metric import Metric, Record
from orfit_bench.spec.model import LINEAR, Model, Transition
from orfit_bench.spec.setting import Setting
from orfit_bench.spec.state import (
    Array,
    Diagonal,
    Draw,
    Field,
    Growth,
    PrecisionWarning,
    Settings,
    Sizes,
    Solution,
    StateSpec,
    WeightCovariance,
)
from orfit_bench.spec.stream import Stream
from orfit_bench.spec.theory import Cost, InverseGram, Theory
from orfit_bench.spec.types import Choice, Integer, Names, Number, NumberOrSchedule, Text
from orfit_bench.spec.weighting import Weighting

SPEC_VERSION = (1, 0)
"""Major and minor number of this contract; a plugin states the one it was built for."""

__all__ = [
    "LINEAR",
    "REFERENCE",
    "SPEC_VERSION",
    "Absent",
    "Array",
    "Backend",
    "Choice",
    "Combine",
    "Cost",
    "Data",
    "Diagonal",
    "Draw",
    "Equality",
    "Experiment",
    "Field",
    "FilterParams",
    "FleetParams",
    "Growth",
    "Integer",
    "InverseGram",
    "Kernel",
    "KernelSpec",
    "Law",
    "Matrix",
    "MatrixOrTransition",
    "Measured",
    "Merge",
    "Method",
    "Metric",
    "Model",
    "Names",
    "Number",
    "NumberOrSchedule",
    "Override",
    "Params",
    "PrecisionWarning",
    "Record",
    "Reproduced",
    "Request",
    "Rows",
    "Setting",
    "Settings",
    "Side",
    "Sizes",
    "Solution",
    "State",
    "StateSpec",
    "Stream",
    "Text",
    "Theory",
    "Transition",
    "WeightCovariance",
    "Weighting",
    "bound",
    "deviation",
    "measure_claim",
    "nan_max",
]
