"""The factor of a row in a step that is divided by eps + x'x, for rows and errors of any size.

A step is e (step / energy) x, computed in this order, if no square or quotient over- or underflows. Otherwise it is
gain (x 2^power), computed with separate exponents, so that only the result can over- or underflow.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import inline


@inline
def is_divisor(energy: Scalar, share: Scalar, tiny: Scalar) -> Any:
    """Whether neither the energy eps + x'x nor share = step / energy over- or underflowed."""
    return tiny < energy and tiny < share  # share is 0 for an infinite energy


@inline
def is_exact(gain: Any, e: Any, tiny: Scalar) -> Any:
    """Whether gain = e share neither over- nor underflowed."""
    return keeps_digits(gain, e, tiny) and abs(gain) < np.inf


@inline
def keeps_digits(gain: Any, e: Any, tiny: Scalar) -> Any:
    """Whether gain = e share did not underflow."""
    return tiny < abs(gain) or e == 0


@inline
def gain_and_power(x: Array, e: Scalar, step: Scalar, eps: Scalar) -> Any:
    """The gain and power of the step for a row of real numbers; the gain is 0 for a row of zeros."""
    size = np.sqrt(eps)
    for j in range(len(x)):
        size = max(size, abs(x[j]))
    k = math.frexp(size)[1]
    energy = math.ldexp(eps, -2 * k)
    for j in range(len(x)):
        part = math.ldexp(x[j], -k)
        energy += part * part
    if size == 0:
        return e * size, 0
    (z, i), (v, h) = math.frexp(e), math.frexp(step)
    gain, n = math.frexp(z * v / energy)
    return gain + gain, i + h + n - 1 - 2 * k  # an integer times a float32 would be a float64


@inline
def stays_finite_scaled(w: Array, gain: Scalar, x: Array, power: int) -> Any:
    """Whether all of w + gain (x 2^power) is finite."""
    finite = True
    for j in range(len(w)):
        finite &= np.isfinite(w[j] + gain * math.ldexp(x[j], power))
    return finite


@inline
def add_scaled(w: Array, gain: Scalar, x: Array, power: int) -> None:
    """Compute w <- w + gain (x 2^power)."""
    for j in range(len(w)):
        w[j] += gain * math.ldexp(x[j], power)


@inline
def step_outputs_by_exponents(w: Array, x: Array, e: Array, step: Scalar, eps: Scalar) -> Any:
    """Take the step of w (p, c) for the errors e (c,); if w would not be finite, change nothing and return False."""
    for k in range(len(e)):
        gain, power = gain_and_power(x, e[k], step, eps)
        if not stays_finite_scaled(w[:, k], gain, x, power):
            return False
    for k in range(len(e)):
        gain, power = gain_and_power(x, e[k], step, eps)
        add_scaled(w[:, k], gain, x, power)
    return True
