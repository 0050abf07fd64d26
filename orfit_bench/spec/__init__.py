"""The contract: what a method, a state, a backend, a model, a stream, a metric and an experiment are.

It computes nothing and imports nothing heavy: a plugin may import it at start-up.
"""

from orfit_bench.spec.backend import Absent, Backend, Kernel
from orfit_bench.spec.experiment import Experiment, Reproduced, Request
from orfit_bench.spec.law import Equality, Law, Measured, Rows, bound, deviation, nan_max
from orfit_bench.spec.merge import Merge, Side
from orfit_bench.spec.method import Cost, Diagonal, Field, Growth, Method
from orfit_bench.spec.metric import Metric, Record
from orfit_bench.spec.model import LINEAR, Model, Transition
from orfit_bench.spec.setting import Setting
from orfit_bench.spec.stream import Data, Stream
from orfit_bench.spec.types import Choice, Integer, Matrix, MatrixOrTransition, Number, NumberOrSchedule, Text

SPEC_VERSION = (1, 0)
"""Major and minor number of this contract; a plugin states the one it was built for."""

__all__ = [
    "LINEAR",
    "SPEC_VERSION",
    "Absent",
    "Backend",
    "Choice",
    "Cost",
    "Data",
    "Diagonal",
    "Equality",
    "Experiment",
    "Field",
    "Growth",
    "Integer",
    "Kernel",
    "Law",
    "Matrix",
    "MatrixOrTransition",
    "Measured",
    "Merge",
    "Method",
    "Metric",
    "Model",
    "Number",
    "NumberOrSchedule",
    "Record",
    "Reproduced",
    "Request",
    "Rows",
    "Setting",
    "Side",
    "Stream",
    "Text",
    "Transition",
    "bound",
    "deviation",
    "nan_max",
]
