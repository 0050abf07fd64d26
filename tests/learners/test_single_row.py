"""Learning one row per call gives bit for bit the state of the same row in a chunk, and refuses the same input."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from helpers.cases import SEQUENCE
from hypothesis import given, settings
from hypothesis import strategies as st

import orfit_bench as ob

Same = Callable[[ob.Learner, ob.Learner], None]
Case = tuple[str, dict[str, Any]]

SETTINGS: list[Case] = [
    ("lms", {"step_size": SEQUENCE}),
    ("orfit", {"memory": 2, "summary": "random"}),
    ("orfit", {"batch_size": 3}),
    ("sgd", {"loss": "hinge"}),
    ("sgd", {"batch_size": 2}),
    ("rls", {"forgetting_factor": 0.0}),
    ("rls", {"ridge": 0.0}),
    ("kalman", {"transition": 0.9, "process_noise": 0.1}),
    ("kalman", {"transition": 0.9 * np.eye(3)}),
    ("kalman", {"transition": (np.sin, lambda w: np.diag(np.cos(w)))}),
    ("kalman", {"observation_noise": 0.0}),
]
CASES = [(name, {}) for name in ob.methods()] + SETTINGS
D = 3


def short_name(value: Any) -> str | None:
    """A name for a parameter of a test that is a case; None, for the name that pytest gives, if it is another value."""
    return " ".join([value[0], *value[1]]) if isinstance(value, tuple) else None


def has_one_output(case: Case) -> bool:
    """Whether the method refuses several outputs: a filter with a nonlinear transition."""
    return isinstance(case[1].get("transition"), tuple)


def create(case: Case, backend: str = "numpy", dtype: str = "float64", **more: Any) -> Any:
    name, chosen = case
    declared = ob.methods()[name]
    given: dict[str, Any] = {"n_components": 2} if declared.kind == "subspace" else {}
    given |= {"model": ob.MLP((2,))} if declared.state.layered else {}
    return ob.create(name, backend=backend, dtype=dtype, **(given | chosen | more))


def targets(case: Case, values: Any) -> Any:
    """Targets that the method accepts."""
    if ob.methods()[case[0]].kind == "classification":
        return np.where(values > 0, "up", "down") if values.ndim == 1 else np.where(values[:, 0] > 0, "up", "down")
    return np.sign(values) if case[1].get("loss") == "hinge" else values


def outcome(act: Callable[[], Any]) -> tuple[type[BaseException], str] | None:
    """The error that a call raises, or None."""
    try:
        act()
    except Exception as error:
        return type(error), str(error)
    return None


def learn_one(learner: Any, x: Any, y: Any) -> None:
    learner.learn_one(*((x,) if learner.method.kind == "subspace" else (x, y)))


def general(learner: Any, X: Any, y: Any) -> None:
    """Lists never take the path of single rows."""
    learner.partial_fit([list(row) for row in X], [list(e) if np.ndim(e) else e for e in y])


@st.composite
def streams(draw: st.DrawFn) -> tuple[Any, Any, str]:
    n, rng = draw(st.integers(1, 4)), np.random.default_rng(draw(st.integers(0, 99)))
    shape = draw(st.sampled_from([(n,), (n, 1), (n, 2)]))
    X, y = rng.standard_normal((n, D)), rng.standard_normal(shape)
    for i in draw(st.lists(st.integers(0, n - 1), max_size=2)):
        X[i] = draw(st.sampled_from([0.0, 1e200, X[0]]))  # zeros, overflow, repeated rows
    return X, y, draw(st.sampled_from(["float64", "float32"]))


FAST = [("numba", case) for case in CASES if case[0] in ("lms", "rls", "orfit", "kalman", "class_rls", "oja", "sgd")]


@pytest.mark.parametrize(("backend", "case"), [*(("numpy", case) for case in CASES), *FAST], ids=short_name)
@settings(max_examples=6)
@given(stream=streams())
def test_one_row_is_a_chunk_of_one(backend: str, case: Case, stream: Any, same_state: Same) -> None:
    """The path of single rows, with arrays and with lists, against the general path."""
    X, y, dtype = stream
    X, y = np.clip(X, None, 1e30).astype(dtype), y.astype(dtype)
    if has_one_output(case) and y.ndim > 1:
        y = y[:, 0]
    y = targets(case, y)
    one, some, lists, chunk = learners = [create(case, backend, dtype) for _ in range(4)]
    for i in range(len(X)):
        here = slice(i, i + 1)
        calls = [
            partial(learn_one, one, X[i], y[i]),
            partial(some.partial_fit, X[here], y[here]),
            partial(learn_one, lists, list(X[i]), y[i]),
            partial(general, chunk, X[here], y[here]),
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ob.AccuracyWarning)
            assert len({outcome(call) for call in calls}) == 1
    if chunk.n_samples_seen_:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ob.AccuracyWarning)  # ridge solves for the weights of its state
            for learner in learners[:3]:
                same_state(learner, chunk)


BAD_ROWS: dict[str, Any] = {
    "nan": np.array([1.0, np.nan, 2.0]),
    "infinite": np.array([1.0, np.inf, 2.0]),
    "short": np.ones(D - 1),
    "empty": np.ones(0),
    "complex": np.ones(D, complex),
    "object": np.array([1.0, None, 2.0]),
    "text": np.array(["1", "2", "3"]),
    "huge": np.array([1, 2, 10**400], object),
    "masked": np.ma.masked_array(np.ones(D), [False, True, False]),
    "dates": np.zeros(D, "datetime64[D]"),
}
BAD_NUMBERS: dict[str, Any] = {
    "nan": np.nan,
    "infinite": -np.inf,
    "complex": 1j,
    "none": None,
    "text": "1",
    "vector": np.ones(2),
    "object": np.array(None),
    "huge": 10**400,
}
BAD_LABELS: dict[str, Any] = {
    "float": 1.5,
    "none": None,
    "number": 1,
    "bytes": b"up",
    "vector": np.array(["up", "down"]),
}


@pytest.mark.parametrize("begun", [True, False], ids=["begun", "new"])
@pytest.mark.parametrize("name", list(ob.methods()))
def test_bad_input_is_refused_as_in_a_chunk(name: str, begun: bool, same_state: Same) -> None:
    """The error and its message are the same, and the learner is unchanged."""
    case: Case = (name, {})
    kind = ob.methods()[name].kind
    good = "up" if kind == "classification" else 0.5
    learner, other = (create(case) for _ in range(2))
    if begun:
        for each in (learner, other):
            each.partial_fit(np.eye(D), np.array([good] * D))
    before = learner.copy()
    for what, x in BAD_ROWS.items():
        if not begun and what == "short":
            continue
        expected = outcome(lambda x=x: other.partial_fit(x[None], [good]))
        found = outcome(lambda x=x: learn_one(learner, x, good))
        assert expected is not None, what
        assert found == (expected[0], expected[1].replace("X: got a masked", "x: got a masked")), what
    bad = BAD_LABELS if kind == "classification" else {} if kind == "subspace" else BAD_NUMBERS
    for what, y in bad.items():
        if (kind == "filter" and what == "nan") or (not begun and what in ("vector", "number")):
            continue
        expected = outcome(lambda y=y: other.partial_fit(np.ones((1, D)), [y]))
        found = outcome(lambda y=y: learn_one(learner, np.ones(D), y))
        assert expected is not None, what
        assert found is not None, what
        assert found[0] is expected[0], (what, found, expected)
    same_state(learner, before)


@pytest.mark.parametrize("x", [np.ones((1, D)), 1.0, np.ones((2, D, 2))], ids=["matrix", "number", "three dimensions"])
@pytest.mark.parametrize("act", ["learn_one", "predict_one"])
def test_x_must_be_one_row(act: str, x: Any) -> None:
    learner = ob.create("rls").partial_fit(np.eye(D), np.ones(D))
    with pytest.raises(ValueError, match=r"x: got shape .*, want \(d,\)"):
        getattr(learner, act)(*((x, 1.0) if act == "learn_one" else (x,)))
    with pytest.raises(ValueError, match=r"y: got shape \(1, 1\), want a number or \(c,\)"):
        learner.learn_one(np.ones(D), [[1.0]])


def test_targets_keep_their_shape() -> None:
    numbers, vectors = ob.create("rls").learn_one(np.ones(D), 1.0), ob.create("rls").learn_one(np.ones(D), [1.0, 2.0])
    for y in ([1.0], [1.0, 2.0]):
        with pytest.raises(ValueError, match=rf"y: got shape \({len(y)},\), want a number as in the first call"):
            numbers.learn_one(np.ones(D), y)
    for y, shape in ((1.0, r"\(\)"), ([1.0], r"\(1,\)")):
        with pytest.raises(ValueError, match=rf"y: got shape {shape}, want \(2,\) as in the first call"):
            vectors.learn_one(np.ones(D), y)


PREDICTED = [
    (case, outputs)
    for case in CASES
    for outputs in (None, 1, 2)
    if ob.methods()[case[0]].kind != "subspace" and not (outputs == 2 and has_one_output(case))
]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("case", "outputs"), PREDICTED, ids=short_name)
def test_predict_one_is_predict(case: Case, outputs: int | None, dtype: str, rows: Any) -> None:
    X, y = rows(7, D, outputs)
    learner = create(case, dtype=dtype)
    if case[1].get("ridge") == 0:
        learner.step(X, y)
    else:
        learner.partial_fit(X, targets(case, y))
    for x in X:
        for row in (x, x.astype(dtype), list(x)):
            got, want = learner.predict_one(row), learner.predict(np.asarray(row)[None])[0]
            assert np.shape(got) == np.shape(want)
            np.testing.assert_array_equal(got, want)
    with pytest.raises(ValueError, match="nan"):
        learner.predict_one(np.array([0.0, np.nan, 1.0], dtype))


def test_nothing_is_predicted_before_a_row() -> None:
    with pytest.raises(ValueError, match="has seen no chunk yet"):
        ob.create("rls").predict_one(np.ones(D))


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_a_step_that_diverges_is_not_applied(backend: str, same_state: Same) -> None:
    learner = ob.create("lms", backend=backend, step_size=1.0).partial_fit(np.ones((1, D)), [1.0])
    before = learner.copy()
    with pytest.raises(ob.DivergedError) as caught:
        learner.learn_one(np.full(D, 1e150), 1e300)
    assert (caught.value.step, caught.value.row) == (2, 0)
    same_state(learner, before)


def test_a_kernel_that_is_interrupted_closes_the_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: Any) -> int:
        raise KeyboardInterrupt

    learner = ob.create("lms").partial_fit(np.eye(D), np.ones(D))
    monkeypatch.setattr(learner.rule.kernel, "learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learner.learn_one(np.ones(D), 1.0)
    monkeypatch.undo()
    with pytest.raises(RuntimeError, match="KeyboardInterrupt interrupted its kernel"):
        learner.learn_one(np.ones(D), 1.0)


@pytest.mark.parametrize("act", ["learn_one", "partial_fit", "lists"])
def test_lost_precision_is_reported_once_where_the_learner_is_called(act: str) -> None:
    learner = ob.create("rls").partial_fit(np.eye(D), np.ones(D))
    state = learner.live_state
    assert state
    state.arrays.precision_lost[...] = 1
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(3):
            x = np.ones(D)
            if act == "learn_one":
                learner.learn_one(x, 1.0)
            elif act == "lists":
                learner.learn_one(list(x), 1.0)
            else:
                learner.partial_fit(x[None], np.ones(1))
    assert [w.category for w in found] == [ob.AccuracyWarning]
    assert found[0].filename == __file__


def test_labels_of_another_type_are_no_known_class() -> None:
    learner = ob.create("class_rls").partial_fit(np.eye(D), [0, 1, 0])
    for label in (True, "1", 1.0):
        with pytest.raises(TypeError, match="labels of type"):
            learner.learn_one(np.ones(D), label)
    learner.learn_one(np.ones(D), np.int32(1)).learn_one(np.ones(D), 2)
    assert learner.classes_.tolist() == [0, 1, 2]
    assert type(learner.predict_one(np.ones(D))) is int


@pytest.mark.parametrize("method", ["lms", "rls", "orfit", "sgd", "ridge", "kalman", "apa"])
def test_the_prediction_of_one_row_is_that_of_all_rows(method):
    settings = {"kalman": {"transition": 0.9}, "sgd": {"averaging": "uniform"}}.get(method, {})
    learner = ob.create(method, backend="numpy", **settings)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((9, 4))
    learner.partial_fit(X, X @ [1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose([learner.predict_one(x) for x in X], learner.predict(X), rtol=1e-12)
    with pytest.raises(ValueError, match="is nan"):
        learner.predict_one(np.array([1.0, np.nan, 0.0, 0.0]))
