"""F P F' by every algorithm, since one machine uses only some of them."""

from typing import Any

import numba
import numpy as np
import pytest
from llvmlite import binding

from orfit_bench_numba._machine import MAX_DIRECT_OPERATIONS, has_fast_blas
from orfit_bench_numba._symmetric import (
    PADDING,
    combine_both_sides,
    multiply_lower_triangle,
    multiply_strips,
    strip_width,
)


@numba.njit
def combine(F: Any, P: Any, N: Any, tile: Any) -> None:
    combine_both_sides(F, P, N, tile)


@numba.njit
def multiply(F: Any, P: Any, N: Any, tile: Any) -> None:
    np.dot(F, P, N)
    multiply_lower_triangle(N, F, tile)


@numba.njit
def strips(F: Any, P: Any, N: Any, tile: Any) -> None:
    multiply_strips(F, P, N, tile, 16)


@numba.njit
def width(d: int) -> Any:
    return strip_width(d)


def test_strips_are_narrow_enough_for_products_without_copies() -> None:
    widths = [width(d) for d in range(500)]
    assert all(d * d * w <= MAX_DIRECT_OPERATIONS for d, w in enumerate(widths))
    assert any(widths) == has_fast_blas()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("way", "sizes"),
    [(combine, (4, 25, 41, 64, 130)), (multiply, (4, 25, 112, 130)), (strips, (4, 25, 41, 130, 251, 353))],
)
def test_all_ways_give_the_lower_triangle(way: Any, sizes: tuple[int, ...], dtype: str) -> None:
    for d in sizes:
        F, A = np.random.default_rng(d).standard_normal((2, d, d)).astype(dtype)
        P, N = A @ A.T, np.full((d, d), np.nan, dtype)
        way(F, P, N, np.full(d * max(2 * (d + PADDING), 112), np.nan, dtype))
        want = F.astype(float) @ P @ F.T
        np.testing.assert_allclose(np.tril(N), np.tril(want), atol=d * np.finfo(dtype).eps * np.abs(want).max())


@pytest.mark.parametrize(
    ("name", "avx512", "want"),
    [
        ("emeraldrapids", True, True),
        ("alderlake", False, False),
        ("znver4", True, True),
        ("znver5", True, False),
        ("apple-m2", None, False),
    ],
)
def test_blas_is_fast_with_avx_512_but_not_on_znver5(
    name: str, avx512: bool | None, want: bool, monkeypatch: Any
) -> None:
    monkeypatch.setattr(binding, "get_host_cpu_name", lambda: name)
    monkeypatch.setattr(binding, "get_host_cpu_features", lambda: {} if avx512 is None else {"avx512f": avx512})
    assert has_fast_blas() == want


def test_an_unknown_processor_has_no_fast_blas(monkeypatch: Any) -> None:
    def fail() -> None:
        raise RuntimeError("failed to get host cpu features.")

    monkeypatch.setattr(binding, "get_host_cpu_features", fail)
    assert not has_fast_blas()
