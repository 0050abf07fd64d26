"""Blocks on the device, compared with rows of the reference."""

import pytest
from helpers.wide import CASES, leaves_what_rows_leave, rows

import orfit_bench as ob
from orfit_bench_cupy import _block_rls


@pytest.mark.filterwarnings("ignore::orfit_bench.AccuracyWarning")
@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("method", "settings"), CASES, ids=str)
@pytest.mark.parametrize("wild", [None, 40, 100])
def test_a_block_leaves_what_rows_leave(in_place, method, settings, dtype, wild):
    leaves_what_rows_leave(in_place, method, settings, dtype, wild)


def test_tame_rows_never_go_to_the_host(in_place, monkeypatch):
    monkeypatch.delattr(_block_rls, "learn_rows_on_host")
    X, y = rows("rls", "float64")
    ob.create("rls", backend=in_place).partial_fit(X, y)
