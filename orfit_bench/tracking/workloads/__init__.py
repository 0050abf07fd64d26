"""What is measured of a method on a backend, by the public interface alone.

This package is loaded by its path beside any commit of orfit_bench, older ones too: it imports of itself by relative
names, and of orfit_bench only what every commit has. What a commit cannot do raises `Missing`, which shows as n/a.
"""

from .exactness import FLOOR, frozen, off
from .names import BACKENDS, FULL_SIZES, METHODS, QUICK_SIZE, Missing, pairs
from .times import STARTS, reference_seconds, start_seconds
from .workload import Workload

__all__ = [
    "BACKENDS",
    "FLOOR",
    "FULL_SIZES",
    "METHODS",
    "QUICK_SIZE",
    "STARTS",
    "Missing",
    "Workload",
    "frozen",
    "off",
    "pairs",
    "reference_seconds",
    "start_seconds",
]
