"""The kernels of `blocks.cu`: compiled once for each dtype, launched with the sizes of their arrays."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from orfit_bench.kernels.guards import Limits
from orfit_bench_cupy._transfers import Array

FLAGS = ("--std=c++17", "--fmad=false")
"""Fused multiply-add is disabled, so that a device computes the same bits as a host compiler."""
TILE, PITCH, LANES = 32, 33, 32
"""The same values as in `blocks.cu`."""
THREADS = 256
MAX_SHRINKAGE = 0.25
"""Digits by which a block may shrink a variance, as a share of all: the error of P - V'V is relative to P."""
FACTOR_ERROR = 4
"""Allowed rounding error of L L' - K, in units of b eps sqrt(K_ii K_jj); for a Cholesky factor it is at most 1."""


def source() -> str:
    """The source code in `blocks.cu`."""
    return files(__package__).joinpath("blocks.cu").read_text()


@cache
def _module(xp: Any, dtype: np.dtype[Any]) -> Any:
    real = "double" if dtype.itemsize == 8 else "float"
    return xp.RawModule(code=source(), options=(*FLAGS, f"-DREAL={real}"))


@cache
def _function(xp: Any, name: str, dtype: np.dtype[Any]) -> Any:
    return _module(xp, dtype).get_function(name)


class BlockKernels:
    """The kernels for arrays of one dtype; Python integers and floats are converted to the C types of the arguments."""

    def __init__(self, xp: Any, dtype: np.dtype[Any]) -> None:
        self._xp, self._dtype, self._info = xp, np.dtype(dtype), np.finfo(dtype)

    def _launch(self, name: str, blocks: int, room: int, *given: Any) -> None:
        arguments = tuple(self._to_c(a) for a in given)
        function, memory = _function(self._xp, name, self._dtype), room * self._dtype.itemsize
        function((blocks,), (THREADS,), arguments, shared_mem=memory)

    def _to_c(self, a: Any) -> Any:
        if isinstance(a, int):
            return np.int32(a)
        return self._dtype.type(a) if isinstance(a, float) else a

    def prepare_rows(
        self, S: Array, F: Array, Y: Array, noise: Array, power: Array, gaps: Array, K: Array, right: Array
    ) -> None:
        """Compute K and the right-hand sides of the triangular solve; the first rows of `right` are P X'."""
        b, r = Y.shape
        self._launch("prepare_rows", b, 0, S, F, Y, noise, power, gaps, K, right, b, len(right) - r, r)

    def compare_factor(self, K: Array, product: Array, fits: Array) -> None:
        """Set fits[j] to 1 if row j of the product L L' equals row j of K to rounding, otherwise to 0."""
        b = len(K)
        allowed = FACTOR_ERROR * (b + 2) * float(self._info.eps)
        self._launch("compare_factor", b, LANES, K, product, fits, b, allowed)

    def measure_features(self, X: Array, P: Array, w: Array, right: Array, move: Array) -> Array:
        """The measurements of the rows and the weights for each TILE of features, (tiles, 3 b + 4)."""
        (b, d), r = X.shape, w.shape[1]
        measured = self._xp.empty((-(-d // TILE), 3 * b + 4), dtype=self._dtype)
        room = (TILE + 1) * PITCH + TILE * PITCH + 4 * TILE
        limits = float(self._info.max), float(self._info.eps) ** -MAX_SHRINKAGE
        self._launch("measure_features", len(measured), room, X, P, w, right, move, measured, b, d, r, *limits)
        return measured

    def predict_rows(self, F: Array, C: Array, right: Array, out: Array) -> None:
        """Compute out <- F + tril(C, -1) Z for C = X V'."""
        b, r = out.shape
        self._launch("predict_rows", b, 0, F, C, right, out, b, len(right) - r, r)

    def judge_block(
        self,
        found: tuple[Array, Array, Array, Array],
        rows: tuple[Array, Array, Array],
        out: Array | None,
        verdicts: Array,
        block: int,
        r: int,
        limits: Limits,
    ) -> None:
        """The verdict on a block: found is (L, fits, measured, right), rows is (noise, power, gaps)."""
        L, right, eps = found[0], found[3], float(self._info.eps)
        b, sizes = len(L), (block, len(L), len(right) - r, r)
        numbers = *map(float, limits), eps, eps ** (1 / 3), float(self._info.max)
        given = (*found, *rows, right if out is None else out, verdicts, int(out is not None), *sizes, *numbers)
        self._launch("judge_block", 1, 2 * b + 5 * LANES, *given)

    def apply_block(self, P: Array, w: Array, G: Array, move: Array, verdicts: Array, block: int, kept: float) -> None:
        """P <- (P - G) / kept and w <- w + move; nothing changes if this block, or one before it, is refused."""
        d, r = w.shape
        tiles = -(-d // TILE)
        self._launch("apply_block", tiles**2, TILE * PITCH, P, w, G, move, verdicts, block, d, r, float(kept))
