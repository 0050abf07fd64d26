"""Measurements of a method on a backend through the public interface.

This package is loaded by path in the environment of any commit of orfit_bench, including older ones. Therefore it uses
relative imports, and imports only names of orfit_bench that every commit has. `Missing` is raised for features that a
commit does not have; they are shown as n/a.
"""

from .exactness import (
    FLOOR,
    read_trajectories,
    stored_trajectories,
    stored_trajectory,
    trajectory_deviation,
    trajectory_of,
)
from .names import BACKENDS, FULL_SIZES, METHODS, QUICK_SIZE, Missing, broken, pairs
from .rows import Array
from .times import STARTS, reference_seconds, start_seconds
from .workload import Workload

__all__ = [
    "BACKENDS",
    "FLOOR",
    "FULL_SIZES",
    "METHODS",
    "QUICK_SIZE",
    "STARTS",
    "Array",
    "Missing",
    "Workload",
    "broken",
    "pairs",
    "read_trajectories",
    "reference_seconds",
    "start_seconds",
    "stored_trajectories",
    "stored_trajectory",
    "trajectory_deviation",
    "trajectory_of",
]
