"""Weights, arrays and projections of a network's layers, for arrays of any library.

Shapes: w (p, 1) holds the matrices Theta_l (n, m), for n inputs and m outputs, one after another in C order; U (k, n)
has orthonormal rows.
"""

from __future__ import annotations

import itertools
from typing import Any

from orfit_bench.spec.kernel_arguments import Params, State

Array = Any
"""An array of a library with `__array_namespace__`."""


def layer_matrices(w: Array, shapes: tuple[tuple[int, int], ...]) -> list[Array]:
    """The matrices (n, m) of the layers as views of w (p, 1)."""
    xp, ends = w.__array_namespace__(), itertools.accumulate(n * m for n, m in shapes)
    return [xp.reshape(w[end - n * m : end, :], (n, m)) for (n, m), end in zip(shapes, ends, strict=True)]


def layer_fields(s: State, name: str, p: Params) -> list[Array]:
    """The arrays of a field, one for each layer."""
    return [getattr(s, f"{name}_{layer}") for layer in range(1, len(p.shapes) + 1)]


def used_rows(basis: Array) -> Array:
    """The rows of a basis that are in use; the rows after them are zero."""
    xp = basis.__array_namespace__()
    return basis[: int(xp.count_nonzero(xp.any(basis, axis=1))), :]


def project_off(U: Array, A: Array) -> Array:
    """A - U'U A (n, m), projected twice: one projection leaves eps A in the span of U."""
    for _ in range(2):
        A = A - U.T @ (U @ A)
    return A


def propagated_errors(a: Array, Delta: Array) -> Array:
    """The errors e (1, m) at a layer's outputs, from its input a (n,) and its gradient step Delta = a e (n, m).

    They are zero if the input is zero.
    """
    xp = a.__array_namespace__()
    i = xp.argmax(xp.abs(a))[None]
    largest = xp.take(a, i)
    return xp.take(Delta, i, axis=0) / xp.where(largest == 0, 1, largest)
