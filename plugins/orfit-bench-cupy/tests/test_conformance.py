"""The kit on the backend's code, in CuPy's place and, where there is one, on a device.

In CuPy's place every run takes the checks that tell the kernels from the reference's, under all settings: the laws, and
the rest that holds of every learner, are then as good as proven there. All of it is with the slow tests.
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
    [("float64", FEW), *(pytest.param(dtype, (), marks=pytest.mark.slow) for dtype in ("float64", "float32"))],
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
