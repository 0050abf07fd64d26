"""Transfers between device and host memory, and rules whose step is computed by the Numba kernel in host memory.

Fields of a state without dimensions, and `count`, are always in host memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs

from orfit_bench.spec.kernel_arguments import FleetParams, Params, State

Array = Any
"""An array on the device."""
Host = NDArray[Any]


def fetch(*arrays: Array) -> list[Host]:
    """Copy arrays of one dtype to host memory in one transfer, so that the host waits once."""
    xp = arrays[0].__array_namespace__()
    flat, found, begin = xp.concatenate([a.ravel() for a in arrays]), [], 0
    flat = flat.get() if hasattr(flat, "get") else flat
    for a in arrays:
        found.append(flat[begin : begin + a.size].reshape(a.shape))
        begin += a.size
    return found


def is_finite(*arrays: Array) -> bool:
    """Whether all entries of arrays of one dtype are finite; the host waits once."""
    return bool(np.isfinite(fetch(*(abs(a).max() for a in arrays))).all())


def copy_host_fields(s: State) -> dict[str, Host]:
    """Copies of the fields of the state that are in host memory."""
    return {name: a.copy() for name, a in s._asdict().items() if isinstance(a, np.ndarray)}


def assign_fields(s: State, t: Any, names: Sequence[str]) -> None:
    """Assign these fields of t, in host memory, to the state s."""
    for name in names:
        new, field = getattr(t, name), getattr(s, name)
        field[...] = new if isinstance(field, np.ndarray) else field.__array_namespace__().asarray(new)


def invert_lower(L: Host) -> Host:
    """The inverse of a lower triangular matrix; raises LinAlgError if it is singular."""
    (trtri,) = get_lapack_funcs(("trtri",), (L,))
    inverse, failed = trtri(L.T, lower=0)  # a C-order array is its transpose for LAPACK
    if failed:
        raise np.linalg.LinAlgError("Singular matrix")
    found: Host = inverse.T
    return found


def run_on_host(s: State, act: Callable[..., Any], *arrays: Array) -> Any:
    """Return act(t, *copies), with t a copy of the state s in host memory whose changes are assigned to s."""
    on_host = copy_host_fields(s)
    names = [name for name in s._fields if name not in on_host]
    found = fetch(*(getattr(s, name) for name in names), *arrays)
    t = s._replace(**{k: np.array(v) for k, v in zip(names, found, strict=False)}, **on_host)
    result = act(t, *found[len(names) :])
    assign_fields(s, t, s._fields)
    return result


def learn_rows_on_host(
    learn: Callable[..., Any], s: State, X: Array, Y: Array, p: Params | FleetParams, out: Array | None
) -> Any:
    """Learn rows with a kernel of another backend on a copy of the state in host memory; returns its result."""
    predictions = None if out is None else np.empty(out.shape, out.dtype)
    learned = run_on_host(s, lambda t, x, y: learn(t, x, y, p, predictions), X, Y)
    if out is not None:
        out[...] = out.__array_namespace__().asarray(predictions)
    return learned
