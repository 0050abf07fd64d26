"""How far apart two learners are, and how far they may be.

All tolerances come from `spec.bound`: a random walk of n roundings of size eps, amplified by the condition number of
what was computed. That number is measured, for any method at all, as the condition of a map is defined: change every
number that the kernel is given by a tiny relative amount and see by how much more the state changes. A backward stable
kernel returns the exact result of numbers that differ by a few eps from those it got, so that it stays within the
bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.conformance.inspection import host_arrays_of, layout_of, with_kernel
from orfit_bench.conformance.rows import Chunk
from orfit_bench.errors import DivergedError
from orfit_bench.spec import LINEAR, bound, deviation

if TYPE_CHECKING:
    from orfit_bench.conformance.trial import Trial

Array = NDArray[Any]
Act = Callable[["Trial", Any, Chunk], Any]
AMBIENT = ("feature", "parameter", "input")
"""The dimensions along which vectors lie that span something."""
FAR, NEAR = 2, 5
"""Nudges of each size: one may miss the direction that matters, and a cut-off that is met goes either way."""


class Span(np.ndarray[Any, Any]):
    """An orthonormal basis (p, k) of which only the subspace counts."""


def look(thing: Any) -> dict[str, Array]:
    """What can be compared of a learner, or of an array: arrays by name, and spans."""
    if not hasattr(thing, "method"):
        return {} if thing is None else {"predictions": np.asarray(thing)}
    state = thing.live_state
    if state is None:
        return {"counts": np.zeros(3, int)}
    found: dict[str, Array] = {"counts": np.array([state.n_steps, state.n_samples, state.pending.count])}
    fields = host_arrays_of(thing)
    for f in layout_of(thing).fields:
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


def learning(trial: Trial, learner: Any, chunk: Chunk) -> Array | None:
    """What is done with the rows, unless a check says otherwise: they are learned, with predictions on the way."""
    return trial.learn(learner, chunk)


def tolerance(trial: Trial, chunk: Chunk, found: float = float("inf"), act: Act = learning) -> float:
    """How far apart two right learners of these rows may be; the condition is measured only where `found` needs it."""
    n = max(1, chunk.X.size)
    least = bound(trial.dtype, n, 1.0, 1)
    return least if found <= least else bound(trial.dtype, n, condition(trial, chunk, act), 1)


def nudge_of(dtype: str) -> float:
    """The tiny change: far above rounding, and far below sqrt(eps), where rows begin to count as dependent."""
    return float(np.finfo(dtype).eps ** 0.7)


def roundings(dtype: str) -> float:
    """The change that a few roundings make."""
    return 8 * float(np.finfo(dtype).eps)


def condition(trial: Trial, chunk: Chunk, act: Act = learning) -> float:
    """By how much a relative change of what the kernel is given is amplified in the state and in what was predicted.

    The larger of two: of changes far above rounding, which is the problem's own number, and of a few roundings, which
    the reference's way of solving it may amplify more (a covariance without noise: by the square); without a reference
    only the former, since the latter would be those of the code under test.
    """
    sizes = [nudge_of(trial.dtype)] * FAR + [roundings(trial.dtype)] * (NEAR if trial.truth is not trial else 0)
    random = np.random.default_rng([trial.seed, *chunk.X.shape])

    def looked(size: float) -> tuple[dict[str, Array], dict[str, Array]]:
        learner = nudged(trial.truth, size, random)
        told = act(trial.truth, learner, chunk)
        return look(learner), look(told)

    try:
        plain, *others = map(looked, [0.0, *sizes])
    except DivergedError:
        return float("inf")
    changes = [max(map(_change, plain, other)) for other in others]
    return max(1.0, *(change / size for change, size in zip(changes, sizes, strict=True)))


def _change(a: dict[str, Array], b: dict[str, Array]) -> float:
    change, _ = apart(a, b)
    return change if change < 1 else float("inf")  # chaos: it would grow no more with the nudge


def nudged(trial: Trial, size: float, random: np.random.Generator) -> Any:
    """A new learner whose kernel is given every number with a relative change of at most this size."""

    def near(a: Any) -> Any:
        return a * trial.backend.asarray((1 + size * random.uniform(-1, 1, a.shape)).astype(trial.dtype))

    return with_kernel(trial.create(**_nudged_model(trial, near)), lambda kernel: Nudged(kernel, near))


def _nudged_model(trial: Trial, near: Callable[[Any], Any]) -> dict[str, Any]:
    """The trial's model, which predicts from slightly other weights: also where no row was learned yet."""
    model = trial.variant.model
    return {} if model is LINEAR else {"model": replace(model, predict=lambda w, X: model.predict(near(w), X))}


class Nudged:
    """A kernel that is given slightly other rows, gradients, errors and inputs of layers than it would be."""

    def __init__(self, kernel: Any, nudged: Callable[[Any], Any]) -> None:
        self._kernel, self._nudged = kernel, nudged

    def __getattr__(self, name: str) -> Any:
        act = getattr(self._kernel, name)
        if name not in ("learn", "step", "update", "store"):
            return act
        return lambda s, *given: act(s, *map(self._of, given[:3]), *given[3:])

    def _of(self, given: Any) -> Any:
        if hasattr(given, "dtype"):
            return self._nudged(given)
        if layers := getattr(given, "inputs", None):
            return given._replace(inputs=tuple(map(self._nudged, layers)))
        return given
