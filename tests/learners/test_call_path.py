"""The numbers of Python calls, and of the files that contain them, for learning one row."""

import sys
from pathlib import Path

import numpy as np
import pytest

import orfit_bench as ob
import orfit_bench_numpy

PACKAGES = tuple(str(Path(str(package.__file__)).parent) for package in (ob, orfit_bench_numpy))


@pytest.mark.parametrize("call", ["partial_fit", "learn_one"])
def test_one_row_of_rls_takes_15_calls_in_6_files(call: str) -> None:
    X, y = np.eye(16), np.ones(16)
    learner = ob.create("rls", backend="numpy").partial_fit(X, y).learn_one(X[0], y[0])
    called: list[str] = []

    def count(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGES):
            called.append(frame.f_code.co_filename)

    row = (X[:1], y[:1]) if call == "partial_fit" else (X[0], y[0])
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        getattr(learner, call)(*row)
    finally:
        sys.setprofile(before)
    assert len(called) <= 15
    assert len(set(called)) <= 6
