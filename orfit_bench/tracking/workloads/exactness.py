"""Deviations of results from stored or other results."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .names import Missing
from .rows import Array

TRAJECTORIES = Path(__file__).parent.with_name("trajectories.npz")
FLOOR = 1e-12
"""Upper bound of accumulated rounding errors of float64; deviations up to this are not regressions."""


def trajectory_deviation(got: dict[str, Array], want: dict[str, Array]) -> float:
    """Return the largest relative deviation between trajectories. Raises ValueError if their fields differ."""
    if lacking := set(want) ^ set(got):
        raise ValueError(f"the fields differ: {', '.join(sorted(lacking))}")
    return max(relative(got[name], want[name]) for name in want)


def relative(got: Array, want: Array) -> float:
    """Return the largest difference relative to the largest value. Raises ValueError if shapes differ."""
    if got.shape != want.shape:
        raise ValueError(f"shape {got.shape}, want {want.shape}")
    difference = float(abs(got - want).max(initial=0.0))
    if not np.isfinite(difference):  # NaN would be shown as n/a
        raise ValueError("the values are not finite")
    return difference / (float(abs(want).max(initial=0.0)) or 1.0)


def stored_trajectory(method: str, source: Path | None = None) -> dict[str, Array]:
    """Return the stored trajectory of a method on the reference backend. Raises `Missing` if there is none."""
    found = {name.partition("/")[2]: array for name, array in read_trajectories(source, f"{method}/").items()}
    if not found:
        raise Missing(f"no trajectory of {method} is stored: freeze it, in a commit of its own (docs/tracking.md)")
    return found


def read_trajectories(source: Path | None = None, prefix: str = "") -> dict[str, Array]:
    """Return the arrays of a file of trajectories whose names, "method/field", begin with the prefix.

    Raises ValueError if the file cannot be read.
    """
    source = source or TRAJECTORIES
    try:
        with source.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            return {name: file[name] for name in file.files if name.startswith(prefix)}
    except Exception as error:  # NumPy raises many kinds for damaged files
        raise ValueError(
            f"{source}: cannot be read as stored trajectories ({error}): restore it from an earlier commit, or freeze "
            f"the methods again, in a commit of its own (docs/tracking.md)"
        ) from error
