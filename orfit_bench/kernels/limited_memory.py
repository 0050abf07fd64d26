"""Functions for kernels with a limited memory of directions: which directions they keep, and how exact these are.

A new direction is the residual r of a gradient x after its parts along the stored directions u_j, a_j = u_j'x, are
subtracted. Rounding and the errors e_j of the stored directions give it the error (eps^2 |x|^2 + sum e_j^2 a_j^2)^(1/2)
/ |r|. If the memory holds most directions of the gradients, this error grows with every row, unless the memory keeps
the largest directions.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.spec.kernel_arguments import Params, State

Array = NDArray[Any]


@cache
def most_error(dtype: Any) -> float:
    """The estimated error of a direction above which the state is marked: 9e-6, or 0.03 in single precision.

    For a row that nearly depends on those before it, the estimate is too large, since their errors cancel.
    """
    return 16 * math.pow(np.finfo(dtype).eps, 0.4)


def errors_of_step(s: State, J: Array, R: Array) -> Array:
    """The estimated errors (n + a,) of the stored directions and of the new ones of a step, at most 1.

    J (q, p) are its gradients, of which R (a, q) are the parts along the new directions.
    """
    n, size = int(s.count[0]), np.abs(J).max(axis=1, keepdims=True)
    G = np.divide(J, size, out=np.zeros_like(J), where=size > 0)  # whose squares neither over- nor underflow
    eps, parts = float(np.finfo(J.dtype).eps), s.direction_errors[:n] * (G @ s.basis[:n].T)
    noise = eps**2 * np.vecdot(G, G) + np.vecdot(parts, parts)
    scaled = np.divide(R, size.T, out=np.zeros_like(R), where=size.T > 0)
    shares = 1 / scaled if scaled.size == 1 else np.linalg.pinv(scaled)  # (q, a) of J in each direction
    return np.concatenate([s.direction_errors[:n], np.minimum(np.sqrt(noise @ np.square(shares)), 1)])


def keep_errors(s: State, errors: Array, kept: Array) -> None:
    """Store the errors of those directions that are kept, and mark a state in which one has lost half of its digits."""
    s.direction_errors[: len(kept)] = errors[kept]
    if errors.max(initial=0) > most_error(errors.dtype):
        s.precision_lost[...] = 1


def kept_positions(n: int, p: Params) -> Array:
    """The positions of n directions, new ones last, that a memory keeps: the latest, or all but those drawn.

    Each of the uniform numbers in p.draws removes one of those that are left.
    """
    kept = list(range(n))
    if p.summary == "latest":
        return np.array(kept[-p.memory :])
    for u in p.draws[0][: max(0, n - p.memory)]:
        del kept[int(u * len(kept))]
    return np.array(kept)


@cache
def least_share(dtype: Any) -> float:
    """A size counts as larger than another if this share of it is larger.

    Equal sizes may differ in the last quarter of their digits, since rounding depends on the chunk and the backend.
    """
    return 1 - math.pow(np.finfo(dtype).eps, 0.75)


def order_by_size(sizes: Array, n: int) -> Array:
    """The positions of sizes in descending order, of which the first n are ordered already.

    Each is inserted before those that it exceeds by more than rounding, so that the earliest of equal ones is first.
    """
    order, share = list(range(n)), least_share(sizes.dtype)
    for i in range(n, len(sizes)):
        place = i
        while place > 0 and sizes[order[place - 1]] < share * sizes[i]:
            place -= 1
        order.insert(place, i)
    return np.array(order, np.intp)
