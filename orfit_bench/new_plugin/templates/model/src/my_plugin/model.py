"""Radial basis functions with learned centres and amplitudes: replace the functions with your own model.

Regression methods that support models fit it: `orfit_bench.create("sgd", model=MODEL)`.
"""

import numpy as np
from numpy.typing import NDArray
from orfit_bench import spec

Array = NDArray[np.float64]
UNITS = 3


def parts(w: Array, x: Array) -> tuple[Array, Array, Array]:
    """The amplitudes (UNITS,), the differences x - centre (UNITS, d), and the values of the units (UNITS,)."""
    amplitudes, centres = w[:UNITS], w[UNITS:].reshape(UNITS, -1)
    differences = x - centres
    return amplitudes, differences, np.exp(-0.5 * (differences**2).sum(1))


def predict(w: Array, X: Array) -> Array:
    """f(x) = sum_k a_k exp(-|x - c_k|^2 / 2) for all rows: (n, 1)."""
    rows = (parts(w, x) for x in X)
    return np.array([amplitudes @ units for amplitudes, _, units in rows]).reshape(len(X), 1)


def jacobian(w: Array, x: Array) -> Array:
    """The derivatives of f(x) with respect to the amplitudes and the centres: (1, p)."""
    amplitudes, differences, units = parts(w, x)
    return np.concatenate([units, ((amplitudes * units)[:, None] * differences).ravel()])[None, :]


MODEL = spec.Model(
    name="my_plugin",
    predict=predict,
    jacobian=jacobian,
    parameters=lambda d, c: UNITS * (d + 1),
    start=lambda draw, d, c: draw(UNITS * (d + 1)),
)
