"""Activations z -> a of a layer, each with its slope, over the namespace xp of their arguments.

No intermediate number overflows: exp gets only numbers that are not positive.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

Array = Any
LEAK = 0.01
"""Slope of leaky_relu below 0."""
BEND, CUBIC = math.sqrt(2 / math.pi), 0.044715
"""gelu is z Phi(z), Phi the normal distribution function, in its tanh form: array namespaces do not have erf."""


class Activation(NamedTuple):
    """value(xp, z) and slope(xp, z), both elementwise in the dtype of z."""

    value: Callable[[Any, Array], Array]
    slope: Callable[[Any, Array], Array]


def sigmoid(xp: Any, z: Array) -> Array:
    """1 / (1 + exp(-z))."""
    e = xp.exp(-xp.abs(z))
    return xp.where(z >= 0, 1 / (1 + e), e / (1 + e))


def _tanh_slope(xp: Any, z: Array) -> Array:
    a = xp.tanh(z)
    return (1 - a) * (1 + a)


def _step(xp: Any, z: Array, below: float) -> Array:
    one = xp.ones_like(z)
    return xp.where(z > 0, one, below * one)


def _elu(xp: Any, z: Array) -> Array:
    return xp.where(z > 0, z, xp.expm1(xp.minimum(z, 0)))


def _sigmoid_slope(xp: Any, z: Array) -> Array:
    e = xp.exp(-xp.abs(z))
    return e / (1 + e) ** 2


def _silu_slope(xp: Any, z: Array) -> Array:
    return sigmoid(xp, z) + z * _sigmoid_slope(xp, z)


def _gelu_bend(xp: Any, z: Array) -> tuple[Array, Array]:
    """t = tanh(BEND (z + CUBIC z^3)) and z clipped to [-10, 10], so that z^3 is finite; beyond, t is 1 or -1."""
    z = xp.clip(z, -10, 10)
    return xp.tanh(BEND * (z + CUBIC * z**3)), z


def _gelu(xp: Any, z: Array) -> Array:
    t, _ = _gelu_bend(xp, z)
    return z / 2 * (1 + t)


def _gelu_slope(xp: Any, z: Array) -> Array:
    t, z = _gelu_bend(xp, z)
    return (1 + t) / 2 + z / 2 * (1 - t) * (1 + t) * BEND * (1 + 3 * CUBIC * z**2)


ACTIVATIONS: dict[str, Activation] = {
    "tanh": Activation(lambda xp, z: xp.tanh(z), _tanh_slope),
    "relu": Activation(lambda xp, z: xp.maximum(z, 0), lambda xp, z: _step(xp, z, 0)),
    "leaky_relu": Activation(lambda xp, z: xp.where(z > 0, z, LEAK * z), lambda xp, z: _step(xp, z, LEAK)),
    "elu": Activation(_elu, lambda xp, z: xp.exp(xp.minimum(z, 0))),
    "sigmoid": Activation(sigmoid, _sigmoid_slope),
    "softplus": Activation(lambda xp, z: xp.maximum(z, 0) + xp.log1p(xp.exp(-xp.abs(z))), sigmoid),
    "silu": Activation(lambda xp, z: z * sigmoid(xp, z), _silu_slope),
    "gelu": Activation(_gelu, _gelu_slope),
}
"""The activations by name. Only relu and leaky_relu have a kink, at 0: their slope there is that below (0 and LEAK)."""
