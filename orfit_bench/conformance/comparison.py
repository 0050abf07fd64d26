"""Comparison of learners and arrays: the compared arrays, and the largest deviation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.conformance.inspection import host_arrays_of, layout_of
from orfit_bench.spec import Field, deviation
from orfit_bench.spec.law import to_numpy64

Array = NDArray[Any]
AMBIENT = ("feature", "parameter", "input")
"""The dimensions of the space of the columns of a basis."""


class SpanBasis(np.ndarray[Any, Any]):
    """An orthonormal basis (p, k) that is compared by the subspace that it spans."""


def comparable_state(value: Any) -> dict[str, Array]:
    """The arrays by which a learner (or an array of predictions, or None) is compared."""
    if not hasattr(value, "method"):
        return {} if value is None else {"predictions": np.asarray(value)}
    state = value.live_state
    if state is None:
        return {"counts": np.zeros(3, int)}
    found: dict[str, Array] = {"counts": np.array([state.n_steps, state.n_samples, state.pending.count])}
    fields = host_arrays_of(value)
    for f in layout_of(value).fields:
        if f.compared == "entries":
            found[f.name] = fields[f.name]
        elif f.compared == "span":
            found[f.name] = span_basis(to_numpy64(fields[f.name]).swapaxes(0, axes_along(f)[0]))
    if value.method.state.solution:
        found[value.method.state.weights] = value.backend.asnumpy(value.rule.solved_weights(state))
    return found


def axes_along(field: Field, dims: tuple[str, ...] = AMBIENT) -> list[int]:
    """The axes of a field along these dimensions; those of a layered field end in the number of the layer."""
    names = [dim if dim in dims or not field.layered else dim.rpartition("_")[0] for dim in field.dims]
    return [axis for axis, name in enumerate(names) if name in dims]


def span_basis(V: Array) -> Array:
    """An orthonormal basis of the span of the columns of V (p, k); columns of zeros are unused."""
    return np.linalg.qr(V[:, V.any(axis=0)])[0].view(SpanBasis) if np.isfinite(V).all() else V


def max_deviation(got: dict[str, Array], want: dict[str, Array]) -> tuple[float, str]:
    """The largest relative deviation (of spans: the sine of the largest angle) and the name of that array."""
    if got.keys() != want.keys():
        return float("inf"), "names"
    found = {name: _deviation(got[name], want[name]) for name in want}
    largest = max(found, key=lambda name: found[name], default="")
    return found.get(largest, 0.0), largest


def _deviation(got: Array, want: Array) -> float:
    if not (isinstance(want, SpanBasis) and isinstance(got, SpanBasis)):
        return deviation(got, want)
    if got.shape != want.shape:
        return float("inf")
    residual = np.asarray(want) - np.asarray(got) @ (np.asarray(got).conj().T @ np.asarray(want))
    return float(np.linalg.norm(residual, 2)) if residual.size else 0.0
