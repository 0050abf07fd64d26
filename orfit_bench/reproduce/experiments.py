"""The experiments by name, in the order of the sources."""

from __future__ import annotations

from orfit_bench.reproduce.experiment import Experiment
from orfit_bench.reproduce.orfit_rotated_digits import ORFIT_ROTATED_DIGITS
from orfit_bench.reproduce.orfit_unlimited import ORFIT_UNLIMITED

EXPERIMENTS: dict[str, Experiment] = {e.name: e for e in (ORFIT_ROTATED_DIGITS, ORFIT_UNLIMITED)}
