"""The kit on the backend's code; what takes longest is with the slow tests."""

import pytest

from orfit_bench.conformance import conform
from orfit_bench_cupy import METHODS

LONG = ("kalman", "orfit", "sgd")
SHORT = ("agrees_with_reference", "chunks_change_nothing")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.slow)])
@pytest.mark.parametrize("method", METHODS)
def test_conforms(in_place, method, dtype):
    report = conform(method, backends=[in_place], dtypes=[dtype])
    assert report.passed, report.records
