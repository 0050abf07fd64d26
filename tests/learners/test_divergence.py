"""Divergence: the state before the step is kept, and numbers of any scale are learned or refused."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from helpers.inputs import METHODS, X, each_call, y

import orfit_bench as ob

Same = Callable[[ob.Learner, ob.Learner], None]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e150, 1e200, 1e300])
def test_no_numpy_warning_at_any_scale(scale: float, method: str) -> None:
    learner = ob.create(method)
    for A, b in ((X, y), (X * scale, y), (X, y * scale), (X * scale, y * scale)):
        with suppress(ob.DivergedError):
            learner.partial_fit(A, b)
        learner.predict(A)
        assert all(np.isfinite(a.values).all() for a in learner.state().variables.values())


@pytest.mark.parametrize("outputs", [(), (2,)])
@pytest.mark.parametrize("method", ["apa", "nlms"])
def test_rows_of_zeros_are_learned_without_eps(method: str, outputs: tuple[int, ...]) -> None:
    b = np.ones((6, *outputs))
    learner = ob.create(method, eps=0.0).partial_fit(np.zeros((2, 3)), b[:2])
    assert learner.n_samples_seen_ == 2
    assert np.isfinite(learner.partial_fit(X, b).partial_fit(np.zeros((1, 3)), b[:1]).predict(X)).all()


DIVERGING: dict[str, dict[str, Any]] = {
    "apa": {},
    "icl": {},
    "lms": {"step_size": 1e10},
    "nlms": {},
    "ogd": {"step_size": 1e10},
    "one_step_sgd": {},
    "orfit": {},
    "rls": {"ridge": 1e-10},
    "sgd": {"step_size": 1e10},
}
E = np.vstack([np.eye(3)[:2], [[0.0, 0.0, 1e-5]], np.eye(3)])
B = np.array([1.0, 1.0, 1e308, 1.0, 1.0, 1.0])
"""The third row requires a weight near 1e313."""


@pytest.mark.parametrize("outputs", [False, True])
@pytest.mark.parametrize("start", [0, 1, 2])
@pytest.mark.parametrize("method", DIVERGING)
def test_divergence_keeps_the_last_good_state(method: str, start: int, outputs: bool, same_state: Same) -> None:
    b = np.column_stack([B, np.ones(6)]) if outputs else B
    for _, call in list(each_call(method))[:2]:
        learner = ob.create(method, **DIVERGING[method])
        learner.partial_fit(E[:start], b[:start])
        with pytest.raises(
            ob.DivergedError, match=f"{method} diverged at step 3, row {2 - start} of this call"
        ) as info:
            call(learner, E[start:], b[start:])
        assert (info.value.step, info.value.row) == (3, 2 - start)
        assert learner.n_samples_seen_ == 2
        good = ob.create(method, **DIVERGING[method]).partial_fit(E[:2], b[:2])
        same_state(learner, good)
        same_state(learner.partial_fit(E[3:4], b[3:4]), good.partial_fit(E[3:4], b[3:4]))
        assert np.isfinite(learner.predict(E)).all()


def test_a_huge_step_size_diverges_cleanly() -> None:
    learner = ob.create("lms", step_size=1e30)
    with pytest.raises(ob.DivergedError) as info:
        learner.partial_fit(np.tile(X, (100, 1)), np.tile(y, 100))
    assert 1 < info.value.step == info.value.row + 1 == learner.n_samples_seen_ + 1
    assert np.isfinite(learner.state()["w"]).all()


@pytest.mark.parametrize("cut", range(6))
def test_divergence_in_a_batch_drops_that_batch_only(cut: int, same_state: Same) -> None:
    """Batches are rows 0-1, 2-3, 4-5; the second one is bad. Its pending rows are dropped with it."""
    learner = ob.create("orfit", batch_size=2)
    with pytest.raises(ob.DivergedError) as info:
        learner.partial_fit(E[:cut], B[:cut]).partial_fit(E[cut:], B[cut:])
    begins = 2 if cut > 3 else max(0, 2 - cut)
    assert (info.value.step, info.value.row) == (2, begins)
    assert learner.pending == 0
    assert learner.n_samples_seen_ == 2
    good = ob.create("orfit", batch_size=2).partial_fit(E[:2], B[:2])
    same_state(learner, good)
    same_state(learner.partial_fit(E[3:], B[3:]), good.partial_fit(E[3:], B[3:]))


def test_divergence_in_flush_and_step(same_state: Same) -> None:
    learner = ob.create("orfit", batch_size=4).partial_fit(E[2:3], B[2:3])
    assert learner.n_samples_seen_ == 1
    with pytest.raises(ob.DivergedError) as info:
        learner.flush()
    assert (info.value.step, info.value.row, learner.pending, learner.n_samples_seen_) == (1, 0, 0, 0)
    start = ob.create("orfit", batch_size=4).partial_fit(E[:0], B[:0])
    same_state(learner, start)
    with pytest.raises(ob.DivergedError):
        learner.step(E[1:3], B[1:3])
    same_state(learner, start)
    same_state(learner.step(E[:2], B[:2]), start.step(E[:2], B[:2]))


@pytest.mark.parametrize("scale", [1e200, 1e150, 1e-150, 1e-200])
@pytest.mark.parametrize("method", ["nlms", "apa", "icl", "orfit", "one_step_sgd", "rls"])
def test_interpolating_rules_fit_the_row_at_any_scale(method, scale):
    """An overflow or underflow of x'x or of a norm must not skip a row silently."""
    settings = {"nlms": {"step_size": 1.0, "eps": 0.0}, "apa": {"step_size": 1.0, "eps": 0.0}}.get(method, {})
    settings |= {"forgetting_factor": 0.0} if method == "rls" else {}
    rng = np.random.default_rng(0)
    X, y = scale * rng.standard_normal((5, 8)), rng.standard_normal(5)
    learner = ob.create(method, **settings).partial_fit(X, y)
    assert learner.predict(X[-1:])[0] == pytest.approx(y[-1], rel=1e-12)


def test_rls_refuses_rows_whose_energy_overflows():
    X = np.full((1, 3), 1e200)
    with pytest.raises(ob.DivergedError):
        ob.create("rls").partial_fit(X, [1.0])


def test_a_diverged_error_crosses_to_another_process():
    import pickle  # what multiprocessing does with it

    error = pickle.loads(pickle.dumps(ob.DivergedError("far off", 7, 3)))
    assert (str(error), error.step, error.row) == ("far off", 7, 3)


def test_average_accepts_a_generator():
    learners = [ob.create("lms", step_size=0.5).partial_fit([[1.0]], [y]) for y in (1.0, 3.0)]
    ob.average(learner for learner in learners)
    assert [learner.predict([[1.0]])[0] for learner in learners] == [1.0, 1.0]


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_lms_takes_a_step_whose_gradient_overflows(backend: str) -> None:
    x, y = np.full((1, 2), 1e20), np.full((1, 3), 1e30)
    learner = ob.create("lms", backend=backend, dtype="float32", step_size=1e-30).partial_fit(x, y)
    np.testing.assert_allclose(learner.array("w"), np.full((2, 3), 1e20), rtol=1e-6)
