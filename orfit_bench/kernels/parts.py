"""Sizes and quotients of complex numbers by their real and imaginary parts.

|z| can overflow where both parts are finite, and a quotient of complex numbers where its divisor is subnormal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def largest_parts(a: Array) -> Array:
    """The larger absolute value of the real and imaginary parts of each entry."""
    found: Array = np.maximum(np.abs(a.real), np.abs(a.imag)) if a.dtype.kind == "c" else np.abs(a)
    return found


def divided(a: Array, size: Any) -> Array:
    """The quotient a / size for real `size`; zero where `size` is zero."""
    size = np.asarray(size, a.real.dtype)
    found: Array = np.zeros(np.broadcast_shapes(a.shape, size.shape), a.dtype)
    parts = ((found.real, a.real), (found.imag, a.imag)) if a.dtype.kind == "c" else ((found, a),)
    for quotient, part in parts:
        np.divide(part, size, out=quotient, where=size > 0)
    return found
