"""Rows without noise after a control: the same warnings and refusals for any cuts of the rows into calls."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob


def outcome(learner: Any, cuts: tuple[int, ...], size: float) -> tuple[int, bool, str]:
    """How many rows were learned, whether digits were lost, and the error."""
    X, y = size * np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([1.0, 2.0, -1.0])
    given = {"control": np.ones((3, 2)), "observation_noise": np.array([0.0, 1.0, 0.0])}
    error = ""
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        try:
            for begin, end in itertools.pairwise(cuts):
                learner.partial_fit(X[begin:end], y[begin:end], **{k: v[begin:end] for k, v in given.items()})
        except ob.DivergedError as refused:
            error = f"step {refused.step}"
    return learner.n_samples_seen_, any(issubclass(w.category, ob.AccuracyWarning) for w in issued), error


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-5, 1e-7, 1e-10])
@pytest.mark.parametrize("form", ["covariance", "square_root"])
@pytest.mark.parametrize("model", ["linear", "own"])
@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_cuts_do_not_matter(backend: str, model: str, form: str, size: float) -> None:
    chosen: dict[str, Any] = {"backend": backend, "initial_covariance": 100.0, "form": form}
    if model == "own":
        chosen["transition"] = ob.Transition("rest", lambda w: w, lambda w: np.eye(len(w)))
    found = {
        cuts: outcome(ob.create("kalman", **chosen), cuts, size)
        for cuts in ((0, 3), (0, 2, 3), (0, 1, 3), (0, 1, 2, 3))
    }
    assert len(set(found.values())) == 1, found
