"""The kit on the backend's code."""

import pytest

from orfit_bench.conformance import conform
from orfit_bench_cupy import METHODS

LONG = ("apa", "gp", "orfit", "owm", "sgd")
"""Two thirds of the time: all their checks are with the slow tests."""
FEW = ("agrees_with_reference", "any_chunking", "arrays_are_of_the_backend", "a_step_that_leaves_the_floats_is_refused")
CASES = [
    (method, dtype, slow)
    for method in METHODS
    for dtype, slow in (("float64", False), ("float64", True), ("float32", True))
    if method in LONG or (dtype, slow) != ("float64", True)
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("method", "dtype", "whole"),
    [
        pytest.param(method, dtype, slow or method not in LONG, marks=[pytest.mark.slow] if slow else [])
        for method, dtype, slow in CASES
    ],
)
def test_conforms(in_place, method, dtype, whole):
    report = conform(method, backends=[in_place], dtypes=[dtype], only=() if whole else FEW)
    assert report.passed, [r for r in report.records if r.status == "failed"]
