"""How far apart two learners are, and how far they may be.

All tolerances come from `spec.bound`: a random walk of n roundings of size eps, amplified by the condition number of
what was computed. That number is measured, for any method at all, as the condition of a map is defined: change every
number of the rows by a tiny relative amount and see by how much more the state changes. A backward stable kernel
returns the exact result of rows that differ by a few eps from those it got, so that it stays within the bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.conformance.rows import Chunk
from orfit_bench.errors import DivergedError
from orfit_bench.spec import bound, deviation

if TYPE_CHECKING:
    from orfit_bench.conformance.trial import Trial

Array = NDArray[Any]
AMBIENT = ("feature", "parameter", "input")
"""The dimensions along which vectors lie that span something."""


NUDGES = 3


class Span(np.ndarray[Any, Any]):
    """An orthonormal basis (p, k) of which only the subspace counts."""


def look(thing: Any) -> dict[str, Array]:
    """What can be compared of a learner, or of an array: arrays by name, and spans."""
    if not hasattr(thing, "method"):
        return {} if thing is None else {"predictions": np.asarray(thing)}
    counts = np.array([thing._steps, thing.n_samples_seen_, thing.pending])
    found: dict[str, Array] = {"counts": counts}
    if thing._features is None:
        return found
    fields = thing._layout_.arrays(thing._s)
    for f in thing._layout_.fields:
        if f.compared == "entries":
            found[f.name] = fields[f.name]
        elif f.compared == "span":
            axis = next(i for i, dim in enumerate(f.dims) if dim.startswith(AMBIENT))
            found[f.name] = span(np.asarray(fields[f.name], float).swapaxes(0, axis))
    return found


def span(V: Array) -> Array:
    """An orthonormal basis of what the columns of V (p, k) span; zero columns are free room."""
    return np.linalg.qr(V[:, V.any(axis=0)])[0].view(Span) if np.isfinite(V).all() else V


def apart(got: dict[str, Array], want: dict[str, Array]) -> tuple[float, str]:
    """The largest deviation and the name of what deviates: of entries relative to the largest, of spans the sine."""
    if got.keys() != want.keys():
        return float("inf"), "names"
    found = {name: _apart(got[name], want[name]) for name in want}
    worst = max(found, key=lambda name: found[name], default="")
    return found.get(worst, 0.0), worst


def _apart(got: Array, want: Array) -> float:
    if not (isinstance(want, Span) and isinstance(got, Span)):
        return deviation(got, want)
    if got.shape != want.shape:
        return float("inf")
    residual = np.asarray(want) - np.asarray(got) @ (np.asarray(got).T @ np.asarray(want))
    return float(np.linalg.norm(residual, 2)) if residual.size else 0.0


def tolerance(trial: Trial, chunk: Chunk, found: float = float("inf")) -> float:
    """How far apart two right learners of these rows may be; the condition is measured only where `found` needs it."""
    n = max(1, chunk.X.size)
    least = bound(trial.dtype, n, 1.0, 1)
    return least if found <= least else bound(trial.dtype, n, condition(trial, chunk), 1)


def nudge_of(dtype: str) -> float:
    """The tiny change: far above rounding, and far below sqrt(eps), where rows begin to count as dependent."""
    return float(np.finfo(dtype).eps ** 0.7)


def condition(trial: Trial, chunk: Chunk) -> float:
    """By how much a relative change of the rows' numbers is amplified in the state and in what was predicted.

    The largest of several random changes: a single one may miss the direction that matters.
    """
    truth, nudge = trial.truth, nudge_of(trial.dtype)
    random = np.random.default_rng([trial.seed, *chunk.X.shape])

    def nudged(a: Array) -> Array:
        return np.asarray(a * (1 + nudge * random.uniform(-1, 1, a.shape)), a.dtype)

    def looked(rows: Chunk) -> tuple[dict[str, Array], dict[str, Array]]:
        learner = truth.create()
        told = truth.learn(learner, rows)
        return look(learner), look(told)

    try:
        plain, *others = (looked(rows) for rows in (chunk, *(chunk.numbers(nudged) for _ in range(NUDGES))))
    except DivergedError:
        return float("inf")
    changes = [apart(a, b)[0] for other in others for a, b in zip(plain, other, strict=True)]
    return float(max(1.0, *(change / nudge for change in changes)))
