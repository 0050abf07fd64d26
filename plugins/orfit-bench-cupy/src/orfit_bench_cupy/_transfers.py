"""Transfers between device and host memory, and rules whose step is computed by the Numba kernel in host memory.

Fields of a state without dimensions, and `count`, always lie in host memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs

Array = Any
"""An array on the device."""
Host = NDArray[Any]


def fetch(*arrays: Array) -> list[Host]:
    """Copies in host memory of arrays of one dtype: they travel together, so that the host waits once."""
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


def copy_host_fields(s: Any) -> dict[str, Host]:
    """Copies of the record's fields that lie in host memory."""
    return {name: a.copy() for name, a in s._asdict().items() if isinstance(a, np.ndarray)}


def assign_fields(s: Any, t: Any, names: Sequence[str]) -> None:
    """These fields of the record s become what they are in t, in host memory."""
    for name in names:
        new, field = getattr(t, name), getattr(s, name)
        field[...] = new if isinstance(field, np.ndarray) else field.__array_namespace__().asarray(new)


def invert_lower(L: Host) -> Host:
    """The inverse of a lower triangular matrix; LinAlgError where it is singular."""
    (trtri,) = get_lapack_funcs(("trtri",), (L,))
    inverse, failed = trtri(L.T, lower=0)  # what C order holds by rows, LAPACK takes by columns
    if failed:
        raise np.linalg.LinAlgError("Singular matrix")
    found: Host = inverse.T
    return found


def run_on_host(s: Any, act: Callable[..., Any], *arrays: Array) -> Any:
    """act(t, *copies) in host memory, where t may be changed; what it returns."""
    here = copy_host_fields(s)
    names = [name for name in s._fields if name not in here]
    found = fetch(*(getattr(s, name) for name in names), *arrays)
    t = s._replace(**{k: np.array(v) for k, v in zip(names, found, strict=False)}, **here)
    result = act(t, *found[len(names) :])
    assign_fields(s, t, s._fields)
    return result
