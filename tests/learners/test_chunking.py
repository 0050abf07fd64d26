"""How a stream is divided into calls changes neither states nor predictions, schedules or random draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.cases import EVERY, SEQUENCE, case_name
from hypothesis import given, settings
from hypothesis import strategies as st

import orfit_bench as ob

Same = Callable[[ob.Learner, ob.Learner], None]

POWER = {"power": {"eta0": 0.3, "power": 0.8}}
SLIDE = {"slide": {"B": 1.0, "G": 3.0}}

LEARNERS: list[tuple[str, dict[str, Any]]] = [
    *(case for case in EVERY if not ob.methods()[case[0]].state.solution),  # ridge sums a chunk by one product
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
"""Every method, with every setting whose result might depend on chunks."""
MODELS = [case for case in LEARNERS if ob.methods()[case[0]].kernel.models]


@st.composite
def streams(draw: st.DrawFn) -> tuple[Any, Any, list[Any], str]:
    """X, y, the slices of a division into chunks (of length 0, 1, ...), a dtype."""
    n, d = draw(st.integers(0, 13)), draw(st.integers(1, 9))
    shape = draw(st.sampled_from([(n,), (n, 1), (n, 2)]))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    X, y = rng.standard_normal((n, d)), rng.standard_normal(shape)
    for i in draw(st.lists(st.integers(0, n - 1), max_size=3)) if n else ():
        X[i] = draw(st.sampled_from([0.0, X[0], 1e-3 * X[-1]]))  # rows of zeros, rows that depend on others
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=8)))
    pieces = [slice(lo, hi) for lo, hi in zip([0, *cuts], [*cuts, n], strict=True)]
    return X, y, pieces, draw(st.sampled_from(["float64", "float32"]))


def rounding_of_predictions(predictions: Any, learner: ob.Learner, X: Any) -> float:
    """A bound for predictions of rows that were pending: the d terms of x'w may be added in another order, which
    changes the sum by at most d eps |x|'|w|.
    """
    if not predictions.size or learner.method.name == "greedy":
        return 0.0
    w = max(np.abs(learner.array("w")).max(initial=1.0), np.abs(predictions).max())
    return float(2 * X.shape[1] * np.finfo(predictions.dtype).eps * np.abs(X).sum(1).max() * w)


@pytest.mark.filterwarnings("ignore:.*half of the digits:orfit_bench.AccuracyWarning")  # the same in every division
@pytest.mark.parametrize("case", LEARNERS, ids=case_name)
@given(stream=streams())
@settings(max_examples=10)
def test_any_division_into_calls_gives_the_same_result(
    case: tuple[str, dict[str, Any]], stream: Any, same_state: Same
) -> None:
    """Results are bitwise equal: NumPy's kernels learn batch by batch, so chunks do not change any operation."""
    method, chosen = case
    X, y, pieces, dtype = stream
    single, several, silent = (ob.create(method, dtype=dtype, **chosen) for _ in range(3))
    expected = single.prequential(X, y)
    predictions = np.concatenate([several.prequential(X[piece], y[piece]) for piece in pieces])
    for piece in pieces:
        silent.partial_fit(X[piece], y[piece])
    same_state(several, single)
    same_state(silent, single)
    assert (single.n_samples_seen_, single.pending) == (len(X), len(X) % chosen.get("batch_size", 1))
    assert predictions.dtype == expected.dtype
    atol = rounding_of_predictions(expected, single, X) if "batch_size" in chosen else 0.0
    np.testing.assert_allclose(predictions, expected, rtol=0, atol=atol)
    same_state(several.flush(), single.flush())
    assert single.pending == 0


@pytest.mark.parametrize("case", MODELS, ids=case_name)
@given(stream=streams())
@settings(max_examples=5)
def test_divergence_of_a_model_does_not_depend_on_the_chunks(
    case: tuple[str, dict[str, Any]], stream: Any, cubic: ob.Model, same_state: Same
) -> None:
    """Results are bitwise equal: the functions of a model are called for one step at a time."""
    method, chosen = case
    X, y, pieces, dtype = stream
    X, y = X[:6] / 4, y[:6] / 8
    learners = [ob.create(method, dtype=dtype, model=cubic, **chosen) for _ in range(2)]
    steps = []
    for learner, chunks in zip(learners, ([slice(0, 6)], pieces), strict=True):
        try:
            for chunk in chunks:
                learner.partial_fit(X[chunk], y[chunk])
            steps.append(None)
        except ob.DivergedError as error:
            steps.append(error.step)
    assert steps[0] == steps[1]
    same_state(*learners)


def test_pending_rows_are_in_the_state(same_state: Same, rows: Any) -> None:
    X, y = rows(8)
    learner = ob.create("orfit", batch_size=3)
    for i in range(8):
        learner.partial_fit(X[i : i + 1], y[i : i + 1])
        state = learner.state()
        assert learner.pending == (i + 1) % 3
        np.testing.assert_array_equal(state["pending_X"].values, X[i + 1 - learner.pending : i + 1])
        np.testing.assert_array_equal(state["pending_y"].values[:, 0], y[i + 1 - learner.pending : i + 1])
    learner.flush()
    same_state(learner.copy().flush(), learner)  # nothing is pending: nothing happens


@pytest.mark.parametrize(("schedule", "want"), [(POWER, 0.3 / 4**0.8), (SEQUENCE, 0.3), (SLIDE, 1 / 6)])
def test_a_schedule_counts_steps_and_not_calls(schedule: Any, want: float, rows: Any) -> None:
    X, y = rows(9)
    for before in ((3,), (1, 2), (0, 1, 1, 0, 1)):
        learner, lo = ob.create("lms", step_size=schedule), 0
        for n in before:
            learner.partial_fit(X[lo : lo + n], y[lo : lo + n])
            lo += n
        w = learner.array("w")[:, 0]
        e = y[3] - X[3] @ w
        now = learner.partial_fit(X[3:4], y[3:4]).array("w")[:, 0]
        np.testing.assert_allclose(now, w + want * e * X[3], rtol=1e-13)


def test_every_step_is_counted_once(rows: Any) -> None:
    X, y = rows(7)
    learner = ob.create("orfit", batch_size=3).partial_fit(X, y).flush()
    assert learner.state().attrs["t"] == 3
    zeros = ob.create("orfit").partial_fit(np.zeros((4, 3)), y[:4])
    assert zeros.state().attrs["t"] == 4  # rows that changed nothing count


@pytest.mark.parametrize("more", [{}, {"batch_size": 3}], ids=str)
def test_draws_depend_only_on_random_state(more: Any, same_state: Same, rows: Any) -> None:
    X, y = rows(30, d=8)
    chosen = {"memory": 3, "summary": "random", **more}
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


def test_a_long_stream_fed_row_by_row(same_state: Same, rows: Any) -> None:
    """The size of a growing memory doubles on the way, which does not change its contents."""
    X, y = rows(70, d=90)
    for method, more in (("icl", {}), ("orfit", {}), ("apa", {"projection_order": None})):
        complete, cut = ob.create(method, **more), ob.create(method, **more)
        complete.partial_fit(X, y)
        for i in range(70):
            cut.partial_fit(X[i : i + 1], y[i : i + 1])
        same_state(cut, complete)
        assert cut.state_bytes == complete.state_bytes
