"""Losses of sgd, which have numbers in compiled functions, and their slopes."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.spec.kernel_arguments import Params
from orfit_bench_numba._arrays import Array
from orfit_bench_numba._compile import inline

SQUARE, ABSOLUTE, HUBER, HINGE, LOGISTIC, INSENSITIVE, QUANTILE, CROSS_ENTROPY = range(8)
LOSSES = {
    "square": SQUARE,
    "absolute": ABSOLUTE,
    "huber": HUBER,
    "hinge": HINGE,
    "logistic": LOGISTIC,
    "epsilon_insensitive": INSENSITIVE,
    "quantile": QUANTILE,
    "cross_entropy": CROSS_ENTROPY,
}
LOSS_PARAMETERS = {"huber": "delta", "epsilon_insensitive": "epsilon", "quantile": "tau"}
"""The setting that is the parameter of a loss."""


def loss_of(p: Params) -> tuple[int, float]:
    """The number of the loss and its parameter."""
    return LOSSES[p.loss], float(getattr(p, LOSS_PARAMETERS[p.loss])) if p.loss in LOSS_PARAMETERS else 0.0


@inline
def loss_slope(loss: int, e: Any, y: Any, parameter: Any) -> Any:
    """The derivative of the loss l(y, f) with respect to f, given e = y - f; 0 at a kink, NaN if e is NaN."""
    if loss == SQUARE or np.isnan(e):
        return -e
    if loss == HUBER:
        return -min(max(e, -parameter), parameter)
    if loss == HINGE:
        return -y if y * e > 0 else 0 * y  # 1 - y f = y (y - f), for y is -1 or 1
    if loss == LOGISTIC:
        return -y / (1 + np.exp(1 - y * e))
    if loss == QUANTILE:
        return -parameter * (e > 0) + (1 - parameter) * (e < 0)
    return -np.sign(e) * (abs(e) > parameter)  # absolute has the parameter 0, insensitive epsilon


@inline
def become_slopes_of_cross_entropy(S: Array, B: Array, batch: int) -> None:
    """S <- (q - y) / batch, q the softmax of the m outputs of a row; S is (batch m, 1) for models, else (batch, m)."""
    c = S.shape[1]
    m = len(S) * c // batch
    for begin in range(0, len(S) * c, m):
        top, total = S[begin // c, 0], S.dtype.type(0)
        for j in range(begin, begin + m):
            top = top if S[j // c, j % c] <= top else S[j // c, j % c]
        for j in range(begin, begin + m):
            S[j // c, j % c] = np.exp(S[j // c, j % c] - top)
            total += S[j // c, j % c]
        for j in range(begin, begin + m):
            S[j // c, j % c] = (S[j // c, j % c] / total - B[j // c, j % c]) / batch
