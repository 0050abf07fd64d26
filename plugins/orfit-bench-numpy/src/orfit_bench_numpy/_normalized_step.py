"""A step along a row, divided by the squared norm of the row, for rows and errors of any size.

Shapes: J (1, p) the row x^H, E (1, r) its errors.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from orfit_bench.kernels.guards import is_finite, is_normal, normal_range
from orfit_bench.kernels.linalg import inverse_or_zero
from orfit_bench.kernels.loops import Array
from orfit_bench.kernels.parts import largest_parts


def normalized_step(J: Array, E: Array, step: Any, eps: Any) -> Array:
    """The step (p, r) along x, step e x / (eps + x^H x); zeros for a row of zeros."""
    energy = np.vdot(J, J).real + J.real.dtype.type(eps)
    share = energy.dtype.type(step) / energy
    gain = E * share
    if is_normal(energy) and is_normal(share) and are_exact(gain, E):
        move: Array = J.conj().T.dot(gain)
        return move
    return step_by_exponents(J, E, float(step), float(eps))


def are_exact(gain: Array, E: Array) -> bool:
    """Whether no multiple of the errors over- or underflowed."""
    smallest, _ = normal_range(gain.dtype)
    return np.count_nonzero(np.abs(gain) > smallest) == np.count_nonzero(E) and is_finite(gain)


def step_by_exponents(J: Array, E: Array, step: float, eps: float) -> Array:
    """The step of `normalized_step` with separate exponents, so that only the result can over- or underflow.

    With x = u 2^k, step = v 2^i and e = z 2^j for each error, it is 2^(i + j - k) times that of u, v, z and eps 2^-2k.
    """
    real = J.real.dtype.type
    k = int(np.frexp(max(largest_parts(J).max(), np.sqrt(real(eps))))[1])
    u = times_power(J, -k)
    energy = np.vdot(u, u).real + np.ldexp(real(eps), -2 * k)
    v, i = math.frexp(step)
    j = exponents(E)
    gain = v * times_power(E, -j) * inverse_or_zero(energy)
    n = exponents(gain) - 1  # moves 2^n from the gain to the row, so that only their product can over- or underflow
    return times_power(J.conj().T, i + j - 2 * k + n) * times_power(gain, -n)


def exponents(a: Array) -> Array:
    """The exponent n of each entry, whose larger part is between 2^(n - 1) and 2^n; 0 for zeros."""
    return np.frexp(largest_parts(a))[1]


def times_power(a: Array, n: Any) -> Array:
    """The product a 2^n."""
    real: Array = np.ldexp(a.real, n)
    return real + 1j * np.ldexp(a.imag, n) if a.dtype.kind == "c" else real
