"""Losses l(y, f) of a prediction f, as values only; kernels compute the derivatives.

Every function is analytic in f between its kinks, so that a complex f gives the derivative in full precision:
l'(y, f) = Im l(y, f + i h) / h for any small h.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from orfit_bench.spec import Array

Loss = Callable[[Array, Array, Mapping[str, Any]], Array]


def absolute_value(z: Array) -> Array:
    """|z| for real z, continued analytically."""
    return np.asarray(z * np.sign(z.real))


def positive_part(z: Array) -> Array:
    """max(0, z), continued analytically."""
    return np.where(z.real > 0, z, 0)


def huber(y: Array, f: Array, settings: Mapping[str, Any]) -> Array:
    """e^2 / 2 up to |e| = delta, and its tangent beyond."""
    e, delta = absolute_value(y - f), settings["delta"]
    return np.where(e.real <= delta, e * e / 2, delta * e - delta**2 / 2)


def logistic(y: Array, f: Array, settings: Mapping[str, Any]) -> Array:
    """log(1 + exp(-m)) for the margin m = y f, without overflow of the exponential."""
    m = y * f
    return np.asarray(positive_part(-m) + np.log1p(np.exp(-absolute_value(m))))


LOSSES: dict[str, Loss] = {
    "square": lambda y, f, settings: (y - f) ** 2 / 2,
    "absolute": lambda y, f, settings: absolute_value(y - f),
    "huber": huber,
    "hinge": lambda y, f, settings: positive_part(1 - y * f),
    "logistic": logistic,
    "epsilon_insensitive": lambda y, f, settings: positive_part(absolute_value(y - f) - settings["epsilon"]),
    "quantile": lambda y, f, settings: (
        settings["tau"] * positive_part(y - f) + (1 - settings["tau"]) * positive_part(f - y)
    ),
}
MARGINS = ("hinge", "logistic")
"""Losses of a margin y f, with targets -1 and 1."""

CROSS_ENTROPY = "cross_entropy"
"""The joint loss of all outputs, -sum_k y_k log q_k with q their softmax; its targets are probabilities."""


def risk_gradient(loss: str, X: Array, y: Array, w: Array, settings: Mapping[str, Any]) -> Array:
    """The gradient (d,) of the mean loss of the rows X (n, d), y (n,) at w (d,), which must not be at a kink."""
    h = 1e-30
    f = (X @ w)[:, None] + 1j * h * X  # column k: a step along coordinate k
    gradient: Array = LOSSES[loss](y[:, None], f, settings).imag.mean(axis=0) / h
    return gradient
