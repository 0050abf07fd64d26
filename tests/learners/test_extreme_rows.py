"""Learners of random rows, some of which are zero, repeated, tiny, or near the largest number."""

from __future__ import annotations

import faulthandler
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob

TRIALS = 40
"""Number of learners of each method, settings and dtype."""
PATIENCE = 60
"""Seconds after which a call counts as hanging: the process ends and reports the place."""
Settings = list[dict[str, Any]]
SUBSPACES: Settings = [{"n_components": k, "batch_size": size} for k, size in ((1, 1), (4, 3))]
SETTINGS: dict[str, Settings] = {
    "rls": [{}, {"form": "square_root"}, {"forgetting_factor": 0.9, "forgetting": "directional"}, {"ridge": 0}],
    "kalman": [{}, {"form": "square_root"}, {"observation_noise": 0.0}, {"transition": 0.9}],
    "orfit": [{"memory": 3, "summary": summary} for summary in ("ipca", "largest", "latest", "random")],
    "apa": [{"projection_order": order} for order in (1, 4, 6)],
    **dict.fromkeys(("oja", "krasulina", "sanger", "implicit_krasulina", "incremental_pca"), SUBSPACES),
}
METHODS = [*SETTINGS, "class_rls", "greedy", "icl", "lms", "nlms", "ogd", "ridge", "sgd", "softmax"]


@pytest.fixture(autouse=True)
def ends_a_call_that_hangs() -> Iterator[None]:
    yield
    faulthandler.cancel_dump_traceback_later()


def extreme(shape: tuple[int, int], dtype: str, rng: np.random.Generator) -> Any:
    """Rows, of which up to three are replaced."""
    largest = float(np.finfo(dtype).max)
    X = rng.standard_normal(shape)
    for i in rng.integers(shape[0], size=rng.integers(4)):
        match rng.integers(5):
            case 0:
                X[i] = largest
            case 1:
                X[i, rng.integers(shape[1])] = rng.choice([-1, 0.5, 1]) * largest
            case 2:
                X[i] = rng.standard_normal(shape[1]) * (largest ** rng.uniform() / 8)
            case 3:
                X[i] = X[rng.integers(shape[0])]
            case _:
                X[i] *= float(np.finfo(dtype).tiny)
    return np.clip(X, -largest, largest).astype(dtype)


def learn(learner: Any, dtype: str, rng: np.random.Generator) -> None:
    """Learn a few rows, or refuse them."""
    X = extreme((int(rng.integers(1, 9)), 4), dtype, rng)
    y = extreme((len(X), 1), dtype, rng)[:, 0]
    labels, supervised = learner.method.traits.labels, learner.method.traits.supervised
    arguments = (X, (y > 0).astype(int) if labels else y) if supervised else (X,)
    verb = "step" if rng.random() < 0.3 and hasattr(learner, "step") else "partial_fit"
    with suppress(ob.DivergedError, ValueError, TypeError):  # TypeError: the method has no rule for a block
        getattr(learner, verb)(*arguments)


def check_finite(learner: Any) -> None:
    """All numbers of the state must be finite, except weights that are solved for, which may overflow."""
    for name, a in learner.state().data_vars.items():
        solved = learner.method.state.solution and name == learner.method.state.weights
        assert solved or a.dtype.kind != "f" or np.isfinite(a.values).all(), name


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::orfit_bench.AccuracyWarning")
@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("method", METHODS)
def test_extreme_rows_are_learned_or_refused(method: str, backend: str) -> None:
    rng = np.random.default_rng(0)
    for settings, dtype, _ in product(SETTINGS.get(method, [{}]), ("float64", "float32"), range(TRIALS)):
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        one, other = (ob.create(method, backend=backend, dtype=dtype, **settings) for _ in range(2))
        for learner in (one, other):
            for _ in range(3):
                learn(learner, dtype, rng)
                if learner.live_state is not None:
                    check_finite(learner)
        with suppress(ValueError):  # nothing was learned, or the sum overflows
            one.merge(other)
        if one.live_state is not None:
            check_finite(one)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize(("dtype", "size"), [("float32", 1e18), ("float64", 1e153)])
def test_an_innovation_variance_that_overflows_is_refused(dtype, size, backend, same_state):
    learner = ob.create("kalman", backend=backend, dtype=dtype, observation_noise=size**2, initial_covariance=100.0)
    before = learner.partial_fit(np.zeros((1, 2)), [0.0]).copy()
    with pytest.raises(ob.DivergedError):
        learner.partial_fit(9 * size * np.eye(2), [1.0, 1.0])
    same_state(learner, before)


def repeat(act, *rows):
    """Learn the rows four times."""
    for _ in range(4):
        act(*rows)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize(("dtype", "step"), [("float32", 1e34), ("float64", 1e304)])
@pytest.mark.parametrize("ridge", [0.1, 1e5])
def test_weights_of_softmax_stay_finite(dtype, step, ridge, backend):
    X, labels = [[1.0, 1.0], [2.0, 1.0], [1.0, 3.0]], [0, 1, 0]
    for call in ("partial_fit", "step"):
        learner = ob.create("softmax", backend=backend, dtype=dtype, step_size=step, ridge=ridge)
        with pytest.raises(ob.DivergedError):
            repeat(getattr(learner, call), X, labels)
        assert np.isfinite(learner.array("w")).all()


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("outputs", [(), (2,)])
@pytest.mark.parametrize(("dtype", "forgetting"), [("float32", 0.5), ("float64", 1.0)])
def test_predictions_of_ridge_in_a_chunk_have_their_own_digits(dtype, forgetting, outputs, backend):
    """Targets are huge compared with the predictions for small rows: weights are zero at first, and small later."""
    X, Y = 1e-3 * np.eye(3)[[0, 1, 0, 1, 0, 2]], np.full((6, *outputs), 1e8)
    chunks, single = (ob.create("ridge", backend=backend, dtype=dtype, forgetting_factor=forgetting) for _ in range(2))
    got = chunks.prequential(X, Y)
    want = np.concatenate([single.prequential(X[i : i + 1], Y[i : i + 1]) for i in range(6)])
    assert not got[[0, 1, 5]].any()
    np.testing.assert_allclose(got, want, rtol=20 * np.finfo(dtype).eps)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize(
    ("dtype", "ridge", "size", "target"), [("float32", 1e30, 1e10, 1e37), ("float64", 1e200, 1e80, 1e300)]
)
def test_a_moment_that_overflows_under_a_large_prior_is_refused(dtype, ridge, size, target, backend):
    """The squares of the rows are only rounding compared with the prior, so that the information does not show them."""
    learner = ob.create("ridge", backend=backend, dtype=dtype, ridge=ridge)
    with pytest.raises(ob.DivergedError):
        learner.partial_fit(size * np.ones((30, 2)), np.full(30, target))
    assert learner.n_samples_seen_ == 0


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize(("method", "setting"), [("apa", "projection_order"), ("orfit", "memory")])
def test_limits_of_more_than_64_bits_are_no_limits(method, setting, backend):
    X = np.random.default_rng(0).standard_normal((12, 3))
    found = []
    for most in (2**40, 2**70):
        learner = ob.create(method, backend=backend, **{setting: most}).partial_fit(X[:6], X[:6].sum(axis=1))
        found.append(learner.learn_one(X[6], 1.0).partial_fit(X[7:], X[7:, 0]).predict(X))
    assert np.array_equal(*found)
