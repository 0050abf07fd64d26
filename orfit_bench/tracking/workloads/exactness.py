"""How far numbers are from those that were frozen, or from any others."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .names import Missing
from .rows import Array

TRAJECTORIES = Path(__file__).parent.with_name("trajectories.npz")
FLOOR = 1e-12
"""Roundings of float64 add up to less: deviations up to this are no change."""


def off(got: dict[str, Array], want: dict[str, Array]) -> float:
    """Largest relative deviation of one trajectory from another; ValueError where they are not of the same fields."""
    if lacking := set(want) ^ set(got):
        raise ValueError(f"not of the same fields: {', '.join(sorted(lacking))}")
    return max(relative(got[name], want[name]) for name in want)


def relative(got: Array, want: Array) -> float:
    """The largest difference as a share of the largest number; ValueError for another shape or what is not finite."""
    if got.shape != want.shape:
        raise ValueError(f"shape {got.shape}, want {want.shape}")
    difference = float(abs(got - want).max(initial=0.0))
    if not np.isfinite(difference):  # NaN would read as n/a
        raise ValueError("the numbers are not finite")
    return difference / (float(abs(want).max(initial=0.0)) or 1.0)


def frozen(method: str) -> dict[str, Array]:
    """The trajectory of a method as it was frozen, by the reference backend; `Missing` where none was."""
    with np.load(TRAJECTORIES, allow_pickle=False) as file:
        kept = {name.partition("/")[2]: file[name] for name in file.files if name.startswith(f"{method}/")}
    if not kept:
        raise Missing(f"no trajectory of {method} was frozen")
    return kept
