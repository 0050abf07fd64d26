"""Small correct learners and kernels, to which the faults are added."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from helpers.methods import change, declare

import orfit_bench as ob
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Cost, Field, Integer, Setting

METHODS = ob.methods()
STEP = 0.05
WEIGHTS = Field("w", ("parameter", "output"), "weights")
COST = Cost(flops=lambda s, z: 6 * z["parameter"], floats=lambda s, z: 3 * z["parameter"])
PLAIN = declare("plain", WEIGHTS, theory={"cost": COST})
BATCHES = change(PLAIN, kernel={"blocks": True}, settings=(Setting("batch_size", Integer(1), 2, "rows of a step"),))


def plain(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    """The correct kernel of PLAIN and BATCHES."""
    B = p.batch_size
    for i in range(0, len(X), B):
        f = X[i : i + B] @ s.w
        if out is not None:
            out[i : i + B] = f
        if not block(s, X[i : i + B], Y[i : i + B], p):
            return i
    return len(X)


def block(s: Any, A: Any, Y: Any, p: Any) -> bool:
    """The step of PLAIN and BATCHES."""
    w = s.w + s.w.dtype.type(STEP) * A.T @ (Y - A @ s.w)
    if not np.isfinite(w).all():
        return False
    s.w[...] = w
    return True


def one_by_one(learn: Callable[..., int], s: Any, X: Any, Y: Any, p: Any, out: Any) -> Iterator[tuple[int, int]]:
    """Learn the rows one by one with a kernel of one-row steps, and yield (i, step of row i) after each."""
    for i in range(len(X)):
        if not learn(s, X[i : i + 1], Y[i : i + 1], p.at(i), None if out is None else out[i : i + 1]):
            return
        yield i, p.t + i


class KernelModule:
    """A kernel module with these functions."""

    def __init__(self, **functions: Any) -> None:
        self.__dict__.update(functions)


PLAIN_KERNEL = KernelModule(learn=plain, step=block)


LAST = Field("last", ("feature",), "the row before")
WITH_LAST = change(PLAIN, state={"fields": (WEIGHTS, LAST)})
DOUBLE = change(PLAIN, state={"fields": (WEIGHTS, Field("double", ("parameter", "output"), "twice the weights"))})


def with_momentum(s: Any, X: Any, Y: Any, p: Any, out: Any, sign: int = 1) -> int:
    """The correct kernel of WITH_LAST; `sign` is that of the stored previous row."""
    for i in range(len(X)):
        f = X[i] @ s.w
        if out is not None:
            out[i] = f
        w = s.w + STEP * np.outer(X[i] + sign * s.w.dtype.type(0.1) * s.last, Y[i] - f)
        if not np.isfinite(w).all():
            return i
        s.w[...], s.last[...] = w, sign * X[i]
    return len(X)


def carries_the_double(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    """The kernel of PLAIN, with the field `double`."""
    n, before = 0, s.w.copy()
    for i, _ in one_by_one(plain, s, X, Y, p, out):
        if not np.isfinite(2 * s.w).all():
            s.w[...] = before
            return n
        before, n = s.w.copy(), i + 1
        s.double[...] = 2 * s.w
    return n


def reference_kernel(method: str) -> Any:
    """The reference kernel."""
    return registry().kernel("numpy", method)


def reference_with(method: str, **functions: Any) -> Any:
    """The reference kernel with some functions replaced."""
    kernel = reference_kernel(method)
    names = ("learn", "update", "step", "predict_step", "rts_smooth")
    return KernelModule(**{n: getattr(kernel, n) for n in names if hasattr(kernel, n)} | functions)


LMS, OJA = (change(METHODS[name], theory={"laws": ()}) for name in ("lms", "oja"))
LINEAR_LMS = change(LMS, kernel={"models": False})
