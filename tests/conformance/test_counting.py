"""Operations are counted the same way for functions of NumPy and for methods of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from orfit_bench.conformance.counting import Counted


def operations(act: Callable[[Any], object]) -> float:
    before = Counted.flops
    act(np.ones((30, 40)).view(Counted))
    return Counted.flops - before


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "max", "min", "any", "all"])
def test_reductions_look_at_every_entry(name: str) -> None:
    for axis in (None, 0, 1):
        by_function = operations(lambda a: getattr(np, name)(a, axis=axis))  # noqa: B023
        assert by_function == 1200
        if name != "mean":  # a method that divides, too
            assert operations(lambda a: getattr(a, name)(axis=axis)) == by_function  # noqa: B023


def test_products_are_counted_alike() -> None:
    assert operations(lambda a: a @ a.T) == operations(lambda a: np.dot(a, a.T)) == 2 * 30 * 30 * 40
    assert operations(np.linalg.norm) == 1200
