"""`cupy.cublas`: products of one triangle."""

from __future__ import annotations

import numpy as np

from ._array import ndarray, plain
from ._counts import COUNTS
from ._real import bound, declared
from ._rounding import flushed, uneven


def _syrk(
    trans: str, a: ndarray, out: ndarray | None = None, alpha: float = 1.0, beta: float = 0.0, lower: bool = False
) -> ndarray:
    """out <- alpha a a' + beta out, or a'a with trans "T", in one triangle; the other one does not change."""
    X = plain(a).T if trans == "T" else plain(a)
    if trans not in ("N", "T") or X.ndim != 2:
        raise TypeError(f"syrk: got trans {trans!r} and {X.ndim} dimensions")
    if out is None:
        out = ndarray(np.zeros((len(X), len(X)), X.dtype, order="F"))
    L = plain(out)
    assert (L.dtype, L.shape) == (X.dtype, (len(X), len(X)))
    COUNTS.launches += 1 if L.flags.c_contiguous == plain(a).flags.c_contiguous else 2
    triangle = (np.tril if lower else np.triu)(np.ones(L.shape, bool))
    with np.errstate(all="ignore"):
        product = uneven(X @ X.T, (X.shape, "syrk", X.dtype.char))
        scaled = beta * flushed(L) if beta else 0
        L[triangle] = (X.dtype.type(alpha) * product + scaled).astype(L.dtype)[triangle]
    return out


syrk = bound("cublas.syrk", declared("cupy/cublas.py", "syrk"), _syrk)
