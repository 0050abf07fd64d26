"""Counting floating-point operations: an array type that counts the operations of NumPy's functions on it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.conformance.inspection import with_kernel

if TYPE_CHECKING:
    from orfit_bench.conformance.context import CheckContext

CUBIC = {
    "svd": 22,
    "pinv": 22,
    "lstsq": 22,
    "matrix_rank": 4,
    "svdvals": 4,
    "eig": 25,
    "eigvals": 10,
    "eigh": 9,
    "eigvalsh": 4,
    "qr": 4,
    "inv": 2,
    "matrix_power": 2,
    "solve": 1,
    "cholesky": 1,
    "det": 1,
    "slogdet": 1,
}
"""Operations of a factorization of an (m, n) matrix, in units of m n min(m, n), within a small factor."""
REDUCTIONS = ("sum", "prod", "mean", "max", "amax", "min", "amin", "any", "all", "count_nonzero", "norm")
"""Functions that read every entry of their first argument and return fewer."""


class Counted(np.ndarray[Any, Any]):
    """An array that counts operations on itself and on all results."""

    flops = 0.0
    in_double = 0.0
    """Number of operations with a result in float64."""

    def dot(self, b: Any, out: Any = None) -> Any:
        """Call `numpy.dot`, which is counted."""
        return np.dot(self, b)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **more: Any) -> Any:
        """Count the operations, and compute on plain arrays."""
        plain = [_plain(a) for a in inputs]
        if "out" in more:
            more["out"] = tuple(_plain(a) for a in more["out"])
        result = getattr(ufunc, method)(*plain, **more)
        _add(_operations(ufunc.__name__, method, plain, result), result)
        return _counted(result)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Count products and factorisations by their sizes."""
        plain_args, plain_kwargs = _plain(args), _plain(kwargs)
        result = function(*plain_args, **plain_kwargs)
        _add(_of_function(function.__name__, plain_args, result), result)
        return _counted(result)


def _add(operations: float, result: Any) -> None:
    """Count operations with this result."""
    Counted.flops += operations
    results = result if type(result) is tuple else (result,)
    if any(getattr(a, "dtype", None) == np.float64 for a in results):
        Counted.in_double += operations


def _plain(a: Any) -> Any:
    if isinstance(a, Counted):
        return a.view(np.ndarray)
    if isinstance(a, (tuple, list)) and type(a) in (tuple, list):
        return type(a)(_plain(b) for b in a)
    return {k: _plain(v) for k, v in a.items()} if type(a) is dict else a


def _counted(a: Any) -> Any:
    if isinstance(a, np.ndarray) and a.dtype.kind == "f":
        return a.view(Counted)
    if isinstance(a, tuple):
        return type(a)(*map(_counted, a)) if hasattr(a, "_fields") else tuple(map(_counted, a))
    return a


def _size(a: Any) -> int:
    return int(math.prod(getattr(a, "shape", ())))


def _operations(name: str, method: str, inputs: list[Any], result: Any) -> float:
    if name in ("matmul", "vecdot", "matvec", "vecmat"):
        return float(2 * _size(result) * np.shape(inputs[0])[-1])
    if method in ("reduce", "accumulate", "reduceat"):
        return float(_size(inputs[0]))
    return float(max((_size(a) for a in (result if type(result) is tuple else (result,))), default=0))


def _of_function(name: str, args: Any, result: Any) -> float:
    if name in CUBIC:
        m, n = np.shape(args[0])[-2:]
        return float(CUBIC[name] * m * n * min(m, n))
    if name in ("dot", "vdot", "inner"):
        return float(2 * max(_size(result), 1) * np.shape(args[0])[-1])
    if name in REDUCTIONS:
        return float(_size(args[0]))
    if name in ("outer", "kron"):
        return float(_size(result))
    if name in ("einsum", "tensordot", "multi_dot"):
        # 2 sqrt(product of the sizes of the operands and the result): 2 m k n for a product of two matrices
        operands = [a for a in _flat(args) if hasattr(a, "shape")]
        return float(max(math.prod(map(_size, operands)) * max(_size(result), 1), 1) ** 0.5 * 2)
    return float(_size(result))


def _flat(a: Any) -> list[Any]:
    return [c for b in a for c in _flat(b)] if isinstance(a, (tuple, list)) else [a]


class Counting:
    """A kernel whose arguments are replaced by counting arrays."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    def __getattr__(self, name: str) -> Any:
        if name == "for_network":  # networks then use `update`, which is counted
            raise AttributeError(name)
        function = getattr(self._kernel, name)

        def counting(s: Any, *arguments: Any) -> Any:
            counted = type(s)(*map(_counted, s)) if hasattr(s, "_fields") else _counted(s)
            return function(counted, *map(_counted, arguments))

        return counting


def count_flops(context: CheckContext, d: int) -> float:
    """The number of operations for learning rows of d features."""
    _count(context, d)
    return Counted.flops


def share_in_double(context: CheckContext, d: int) -> float:
    """The share of the operations whose results are in float64."""
    _count(context, d)
    return Counted.in_double / max(Counted.flops, 1)


def _count(context: CheckContext, d: int) -> None:
    chunk, learner = context.rows(d=d), with_kernel(context.create(), Counting)
    Counted.flops = Counted.in_double = 0.0
    context.learn_raw(learner, chunk)
