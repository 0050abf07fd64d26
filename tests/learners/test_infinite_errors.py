"""Rows whose prediction overflows: the order of a sum decides whether its error is infinite or not a number."""

from __future__ import annotations

import numpy as np
import pytest

import orfit_bench as ob

LOSSES = ("absolute", "huber", "hinge", "logistic", "epsilon_insensitive", "quantile")


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("loss", LOSSES)
def test_sgd_refuses_an_infinite_error_whatever_its_slope(loss: str, backend: str) -> None:
    settings = {"loss": loss, "backend": backend, "step_size": 1e-200, "initial_weights": [1e200, 1e200]}
    X, y = np.array([[1.0, 0.0], [1e150, 1e150], [0.0, 1.0]]), np.ones(3)
    learner = ob.create("sgd", **settings)
    with pytest.raises(ob.DivergedError, match="at step 2, row 1"):
        learner.partial_fit(X, y)
    assert learner.n_samples_seen_ == 1
    fleet = ob.fleet("sgd", 2, **settings)
    with pytest.raises(ob.DivergedError) as caught:
        fleet.partial_fit(np.stack([X, 1e-200 * X]), np.stack([y, y]))
    assert caught.value.members == (0,)
    assert fleet.n_samples_seen_.tolist() == [1, 3]


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_one_row_a_call_and_several_outputs_are_refused_alike(backend: str) -> None:
    settings = {"loss": "huber", "backend": backend, "step_size": 1e-200, "momentum": 0.5}
    learner = ob.create("sgd", initial_weights=[1e200, 1e200], **settings).learn_one([1.0, 0.0], 1.0)
    with pytest.raises(ob.DivergedError):
        learner.learn_one([1e150, 1e150], 1.0)
    for d in (2, 100):  # few features are learned row by row, many by calls of BLAS
        several = ob.create("sgd", initial_weights=np.full((d, 3), 1e200), **settings)
        with pytest.raises(ob.DivergedError):
            several.partial_fit(np.full((1, d), 1e150), np.ones((1, 3)))
