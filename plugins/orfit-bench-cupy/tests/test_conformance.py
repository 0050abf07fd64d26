"""The kit on the backend's code, on the stand-in for CuPy and, if there is one, on a device.

The quick tests run, with the stand-in for CuPy, the checks that distinguish the kernels from the reference, under all
settings. The slow tests run the whole kit in float64 and these checks in float32; on a device `dev.py gpu` runs
the whole kit in both.
"""

import pytest

from orfit_bench.conformance import conform
from orfit_bench_cupy import BACKEND, METHODS

FEW = (
    "agrees_with_reference",
    "any_chunking",
    "one_row",
    "arrays_have_backend_type",
    "arrays_are_on_device",
    "overflowing_step_is_refused",
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("dtype", "only"),
    [
        ("float64", FEW),
        pytest.param("float64", (), marks=pytest.mark.slow),
        pytest.param("float32", FEW, marks=pytest.mark.slow),
    ],
    ids=["some", "float64", "float32"],
)
def test_conforms(in_place, method, dtype, only):
    report = conform(method, backends=[in_place], dtypes=[dtype], only=only)
    assert report.passed, str(report)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", METHODS)
def test_conforms_on_a_device(method):
    if reason := BACKEND.reason:
        pytest.skip(reason)
    report = conform(method, backends=[BACKEND.name])
    assert report.passed, str(report)
