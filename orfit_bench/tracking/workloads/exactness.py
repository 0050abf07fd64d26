"""Deviations of results from stored or other results."""

from __future__ import annotations

import io
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
    return trajectory_of(method, stored_trajectories(source))


def stored_trajectories(source: Path | None = None) -> dict[str, Array]:
    """Return the trajectories in a file, by default those of this package.

    Raises OSError if it cannot be read, and ValueError as `read_trajectories` does.
    """
    source = source or TRAJECTORIES
    return read_trajectories(source.read_bytes(), str(source))


def trajectory_of(method: str, stored: dict[str, Array]) -> dict[str, Array]:
    """Return the trajectory of a method from those of a file. Raises `Missing` if there is none."""
    found = {name.removeprefix(f"{method}/"): a for name, a in stored.items() if name.startswith(f"{method}/")}
    if not found:
        raise Missing(f"no trajectory of {method} is stored: freeze it, in a commit of its own (docs/tracking.md)")
    return found


def read_trajectories(data: bytes, source: str) -> dict[str, Array]:
    """Return the arrays of an .npz file of trajectories, by "method/rows/row/field".

    Raises ValueError, which names the source of the data, if they are anything else.
    """
    try:
        if not data.startswith(b"PK"):
            raise ValueError("it is no .npz file")
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
        for name, array in found.items():
            if name.count("/") != 3 or array.dtype.kind != "f" or not np.isfinite(array).all():
                raise ValueError(f"got {name!r} of {array.dtype}, want finite numbers named method/rows/row/field")
    except Exception as error:  # NumPy raises many kinds for damaged files
        raise ValueError(
            f"{source}: cannot be read as stored trajectories ({error}): restore it from an "
            f"earlier commit, or freeze the methods again, in a commit of its own (docs/tracking.md)"
        ) from error
    return found
