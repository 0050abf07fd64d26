"""Functions that the kernels share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from array_api_compat import array_namespace

Array = Any
NO_MODELS = "the models of orfit-bench need arrays with __array_namespace__, which PyTorch tensors lack"
ONE_ROW = "this kernel learns one row per step, and a model with several outputs gives a row for each"


def is_finite(a: Array) -> bool:
    """Whether all entries are finite."""
    xp = array_namespace(a)
    return bool(xp.all(xp.isfinite(a)))


def make_learn(update: Callable[[Any, Array, Array, Any], bool]) -> Callable[..., int]:
    """`learn` of a linear model from `update`, row by row."""

    def learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
        for i in range(X.shape[0]):
            x = X[i : i + 1, :]
            f = x @ s.w
            if out is not None:
                out[i : i + 1, :] = f
            if not update(s, x, Y[i : i + 1, :] - f, p.at(i)):
                return i
        return int(X.shape[0])

    return learn
