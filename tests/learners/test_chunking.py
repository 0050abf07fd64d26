"""Cutting a stream anywhere changes nothing: states, predictions, schedules and draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.cases import EVERY, SEQUENCE
from hypothesis import given
from hypothesis import strategies as st

import orfit_bench as ob

Same = Callable[[ob.Learner, ob.Learner], None]

POWER = {"power": {"eta0": 0.3, "power": 0.8}}
SLIDE = {"slide": {"B": 1.0, "G": 3.0}}

LEARNERS: list[tuple[str, dict[str, Any]]] = [
    *EVERY,
    ("lms", {"step_size": POWER}),
    ("nlms", {"step_size": SLIDE, "eps": 0.1}),
    ("apa", {"projection_order": 1}),
    ("apa", {"projection_order": None, "eps": 0.0}),
    ("icl", {"memory": 2}),
    ("ogd", {"step_size": POWER}),
    ("ogd", {"memory": 3}),
    ("orfit", {"memory": 2}),
    ("orfit", {"memory": 2, "summary": "largest"}),
    ("orfit", {"memory": 2, "summary": "latest"}),
    ("orfit", {"memory": 2, "summary": "random"}),
    ("orfit", {"batch_size": 3}),
    ("orfit", {"batch_size": 4, "memory": 3}),
    ("orfit", {"batch_size": 3, "memory": 2, "summary": "random"}),
    ("rls", {"forgetting_factor": 0.9}),
    ("rls", {"forgetting_factor": 0.0}),
    ("sgd", {"loss": "huber", "delta": 0.3, "step_size": POWER, "momentum": 0.5, "ridge": 0.1, "averaging": "uniform"}),
    ("sgd", {"loss": "absolute", "step_size": 0.1, "radius": 0.1, "averaging": "tail", "tail_start": 4}),
    ("sgd", {"loss": "quantile", "tau": 0.3, "step_size": SLIDE, "averaging": "weighted", "weights": SEQUENCE}),
    ("sgd", {"loss": "epsilon_insensitive", "momentum": SEQUENCE, "step_size": 0.1}),
    ("sgd", {"step_size": 0.1, "batch_size": 3, "momentum": SEQUENCE, "averaging": "weighted", "weights": POWER}),
    ("sgd", {"step_size": 0.1, "batch_size": 4, "ridge": 0.1, "averaging": "tail", "tail_start": 2, "radius": 0.2}),
]
"""Every method, every setting that a chunk might upset."""
MODELS = [(name, settings) for name, settings in LEARNERS if ob.methods()[name].kernel.models]


def names(case: Any) -> str:
    return " ".join([case[0], *(f"{k}={v}" for k, v in case[1].items())])


@st.composite
def streams(draw: st.DrawFn) -> tuple[Any, Any, list[Any], str]:
    """X, y, the slices of a cut into chunks (of length 0, 1, ...), a dtype."""
    n, d = draw(st.integers(0, 13)), draw(st.integers(1, 9))
    shape = draw(st.sampled_from([(n,), (n, 1), (n, 2)]))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    X, y = rng.standard_normal((n, d)), rng.standard_normal(shape)
    for i in draw(st.lists(st.integers(0, n - 1), max_size=3)) if n else ():
        X[i] = draw(st.sampled_from([0.0, X[0], 1e-3 * X[-1]]))  # rows of zeros, rows that depend on others
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=8)))
    pieces = [slice(lo, hi) for lo, hi in zip([0, *cuts], [*cuts, n], strict=True)]
    return X, y, pieces, draw(st.sampled_from(["float64", "float32"]))


def tolerance(told: Any, learner: ob.Learner, X: Any) -> float:
    """A row waiting for its batch, or asked for alone, is one term of another matrix product: its d terms of x'w may
    be added in another order, which moves the sum by at most d eps |x|'|w|.
    """
    if not told.size or learner.method.name == "greedy":
        return 0.0
    w = np.abs(learner.state()["w"].values).max(initial=1.0)
    return float(2 * X.shape[1] * np.finfo(told.dtype).eps * np.abs(X).sum(1).max() * max(w, np.abs(told).max()))


@pytest.mark.slow
@pytest.mark.parametrize("case", LEARNERS, ids=names)
@given(stream=streams())
def test_cuts_do_not_matter(case: tuple[str, dict[str, Any]], stream: Any, same_state: Same) -> None:
    """Bit for bit: NumPy's kernels learn batch by batch, so a cut changes no operation, nor the order of any."""
    method, settings = case
    X, y, pieces, dtype = stream
    whole, cut, told_not = (ob.create(method, dtype=dtype, **settings) for _ in range(3))
    told = whole.prequential(X, y)
    parts = [cut.prequential(X[piece], y[piece]) for piece in pieces]
    for piece in pieces:
        told_not.partial_fit(X[piece], y[piece])
    same_state(cut, whole)
    same_state(told_not, whole)
    assert whole.n_samples_seen_ == len(X)
    assert whole.pending == len(X) % settings.get("batch_size", 1)
    got = np.concatenate(parts)
    assert got.dtype == told.dtype
    if "batch_size" in settings:
        np.testing.assert_allclose(got, told, rtol=0, atol=tolerance(told, whole, X))
    else:
        np.testing.assert_array_equal(got, told)
    same_state(cut.flush(), whole.flush())
    assert whole.pending == 0


@pytest.mark.slow
@pytest.mark.parametrize("case", LEARNERS, ids=names)
@given(stream=streams())
def test_prequential_is_predict_then_learn(case: tuple[str, dict[str, Any]], stream: Any, same_state: Same) -> None:
    """Row by row what predict says before the row's step; with batches, before the batch's."""
    method, settings = case
    X, y, _, dtype = stream
    whole, alone = (ob.create(method, dtype=dtype, **settings).partial_fit(X[:0], y[:0]) for _ in range(2))
    told = whole.prequential(X, y)
    for i in range(len(X)):
        want = alone.predict(X[i : i + 1])
        alone.partial_fit(X[i : i + 1], y[i : i + 1])
        np.testing.assert_allclose(told[i : i + 1], want, rtol=0, atol=tolerance(told, whole, X))
    same_state(whole, alone)


@pytest.mark.slow
@pytest.mark.parametrize("case", MODELS, ids=names)
@given(stream=streams())
def test_cuts_do_not_matter_on_a_model(
    case: tuple[str, dict[str, Any]], stream: Any, cubic: ob.Model, same_state: Same
) -> None:
    """Bit for bit: a model's functions see one step at a time, however the rows come."""
    method, settings = case
    X, y, pieces, dtype = stream
    X, y = X[:6] / 4, y[:6] / 8
    whole, cut = (ob.create(method, dtype=dtype, model=cubic, **settings) for _ in range(2))
    ends: list[ob.DivergedError | None] = [None, None]
    for k, (learner, chunks) in enumerate([(whole, [slice(0, 6)]), (cut, pieces)]):
        try:
            for chunk in chunks:
                learner.partial_fit(X[chunk], y[chunk])
        except ob.DivergedError as error:  # a cubic may leap: then it does so at the same step
            ends[k] = error
    assert (ends[0] is None) == (ends[1] is None)
    assert ends[0] is None or ends[0].step == ends[1].step
    same_state(cut, whole)


def test_rows_that_wait(same_state: Same, rows: Any) -> None:
    X, y = rows(8)
    learner = ob.create("orfit", batch_size=3)
    waiting = []
    for i in range(8):
        learner.partial_fit(X[i : i + 1], y[i : i + 1])
        state = learner.state()
        assert state["pending_X"].shape == (learner.pending, 3)
        np.testing.assert_array_equal(state["pending_y"].values[:, 0], y[i + 1 - learner.pending : i + 1])
        waiting.append(learner.pending)
        assert learner.n_samples_seen_ == i + 1
    assert waiting == [1, 2, 0, 1, 2, 0, 1, 2]
    done = ob.create("orfit", batch_size=3).partial_fit(X[:6], y[:6])
    np.testing.assert_array_equal(learner.predict(X), done.predict(X))  # predict ignores rows that wait
    learner.flush()
    assert (learner.pending, learner.n_samples_seen_) == (0, 8)
    same_state(learner, done.step(X[6:], y[6:]))  # a flush is one shorter step
    same_state(learner.copy().flush(), learner)  # nothing waits: nothing happens


def test_a_step_is_a_batch_of_any_size(same_state: Same, rows: Any) -> None:
    X, y = rows(8)
    batches = ob.create("orfit", batch_size=4, memory=2).partial_fit(X, y)
    steps = ob.create("orfit", batch_size=4, memory=2).step(X[:4], y[:4]).step(X[4:], y[4:])
    same_state(steps, batches)
    assert batches.state().attrs["t"] == 2


def test_predictions_in_a_batch_are_made_before_it(rows: Any) -> None:
    X, y = rows(6)
    learner = ob.create("orfit", batch_size=3)
    told = learner.prequential(X[:4], y[:4])
    np.testing.assert_array_equal(told[:3], np.zeros(3))
    np.testing.assert_allclose(told[3:], learner.predict(X[3:4]), rtol=1e-14)
    late = learner.prequential(X[4:], y[4:])  # completes the batch of row 3
    done = ob.create("orfit", batch_size=3).partial_fit(X[:3], y[:3])
    np.testing.assert_allclose(late, done.predict(X[4:]), rtol=1e-13)


@pytest.mark.parametrize(("schedule", "want"), [(POWER, 0.3 / 4**0.8), (SEQUENCE, 0.3), (SLIDE, 1 / 6)])
def test_a_schedule_counts_steps_and_not_calls(schedule: Any, want: float, rows: Any) -> None:
    X, y = rows(9)
    for before in ((3,), (1, 2), (0, 1, 1, 0, 1)):
        learner, lo = ob.create("lms", step_size=schedule), 0
        for n in before:
            learner.partial_fit(X[lo : lo + n], y[lo : lo + n])
            lo += n
        w = learner.state()["w"].values[:, 0]
        e = y[3] - X[3] @ w
        now = learner.partial_fit(X[3:4], y[3:4]).state()["w"].values[:, 0]
        np.testing.assert_allclose(now, w + want * e * X[3], rtol=1e-13)


def test_a_step_counts_once_whatever_its_rows(rows: Any) -> None:
    X, y = rows(7)
    learner = ob.create("orfit", batch_size=3).partial_fit(X, y).flush()
    assert learner.state().attrs["t"] == 3
    zeros = ob.create("orfit").partial_fit(np.zeros((4, 3)), y[:4])
    assert zeros.state().attrs["t"] == 4  # rows that changed nothing count


@pytest.mark.parametrize("settings", [{}, {"batch_size": 3}], ids=str)
def test_draws_come_from_random_state_alone(settings: Any, same_state: Same, rows: Any) -> None:
    X, y = rows(30, d=8)
    chosen = {"memory": 3, "summary": "random", **settings}
    want = ob.create("orfit", random_state=7, **chosen).partial_fit(X, y)
    np.random.seed(1)  # noqa: NPY002  # the generator that everybody shares
    held = np.random.get_state()  # noqa: NPY002
    got, other = (ob.create("orfit", random_state=seed, **chosen) for seed in (7, 8))
    for lo in range(0, 30, 4):
        got.partial_fit(X[lo : lo + 4], y[lo : lo + 4])
        other.partial_fit(X[lo : lo + 4], y[lo : lo + 4])
        np.random.random()  # noqa: NPY002
    same_state(got, want)
    assert not np.array_equal(other.state()["basis"], want.state()["basis"])
    np.random.set_state(held)  # noqa: NPY002
    first = np.random.random()  # noqa: NPY002
    np.random.set_state(held)  # noqa: NPY002
    ob.create("orfit", **chosen).partial_fit(X, y)
    assert np.random.random() == first  # noqa: NPY002  # nor does a learner use it up


@pytest.mark.parametrize("case", LEARNERS, ids=names)
def test_learners_side_by_side_do_not_touch_each_other(case: Any, same_state: Same, rows: Any) -> None:
    method, settings = case
    streams = [rows(10, seed=seed) for seed in (1, 2)]
    alone = [ob.create(method, **settings).partial_fit(X, y) for X, y in streams]
    beside = [ob.create(method, **settings) for _ in streams]
    for i in range(0, 10, 2):
        for learner, (X, y) in zip(beside, streams, strict=True):
            learner.partial_fit(X[i : i + 2], y[i : i + 2])
    for learner, want in zip(beside, alone, strict=True):
        same_state(learner, want)


def test_a_long_stream_fed_row_by_row(same_state: Same, rows: Any) -> None:
    """The room of a growing memory doubles on the way; what it holds does not depend on that."""
    X, y = rows(70, d=90)
    for method, settings in (("icl", {}), ("orfit", {}), ("apa", {"projection_order": None})):
        whole, cut = ob.create(method, **settings), ob.create(method, **settings)
        whole.partial_fit(X, y)
        for i in range(70):
            cut.partial_fit(X[i : i + 1], y[i : i + 1])
        same_state(cut, whole)
        assert cut.state_bytes == whole.state_bytes
