"""Classification: classes may appear in any row, and a call that fails leaves them as they were."""

import numpy as np
import pytest
from helpers.cases import offering
from helpers.labels import labelled_rows
from helpers.methods import change
from hypothesis import given
from hypothesis import strategies as st

import orfit_bench as ob
from orfit_bench.catalogue.streams.digits import raw
from orfit_bench.learners.rule import Rule
from orfit_bench.plugins.registry import registry


def one_hot(y, classes):
    return np.array([[float(label == c) for c in classes] for label in y]).reshape(len(y), len(classes))


def weights(learner):
    return learner.array("w")


def test_a_failed_call_adds_no_class(same_state):
    learner = ob.create("class_rls").partial_fit(*labelled_rows(["a", "b"]))
    before = learner.copy()
    for X in (np.full((1, 3), np.nan), np.eye(4)[:1], [["x", "y", "z"]]):
        with pytest.raises((TypeError, ValueError)):
            learner.partial_fit(X, ["new"])
    with pytest.raises(ValueError, match="A: got no rows"):
        learner.step(np.zeros((0, 3)), [])
    same_state(learner, before)


@given(st.integers(1, 40), st.integers(1, 6), st.integers(0, 999), st.sampled_from(["float64", "float32"]))
def test_late_classes_learn_as_if_known_from_the_start(d, classes, seed, dtype):
    """Results of single rows are bitwise equal: a row of zeros only shows that its class exists."""
    X, y = labelled_rows([f"class {i}" for i in range(classes)], n=3 * classes + 2, d=d, seed=seed)
    y[:3] = y[:1] * 3  # so that for some rows there is one class only
    names = list(dict.fromkeys(y))
    known = ob.create("class_rls", dtype=dtype).partial_fit(np.zeros((len(names), d)), names)
    late = ob.create("class_rls", dtype=dtype)
    for row in [slice(i, i + 1) for i in range(len(y) - 2)]:
        reported = known.prequential(X[row], y[row]), late.prequential(X[row], y[row])
        np.testing.assert_array_equal(reported[0][:, : reported[1].shape[1]], reported[1])
    for learner in (known, late):
        learner.step(X[-2:], y[-2:])
    assert known.classes_.tolist() == late.classes_.tolist() == names
    np.testing.assert_array_equal(weights(known), weights(late))
    np.testing.assert_array_equal(known.array("P"), late.array("P"))


def test_predictions_without_classes_with_one_class_and_with_ties():
    learner = ob.create("class_rls")
    with pytest.raises(ValueError, match="has seen no chunk yet"):
        learner.predict(np.eye(2))
    assert learner.partial_fit(np.zeros((0, 2)), np.zeros(0)).decision_function(np.eye(2)).shape == (2, 0)
    assert learner.classes_.shape == (0,)
    with pytest.raises(ValueError, match="has seen no class yet"):
        learner.predict(np.eye(2))
    assert learner.prequential(np.zeros((0, 2)), []).shape == (0, 0)
    assert learner.partial_fit(np.eye(2), ["b", "b"]).predict(-np.eye(2)).tolist() == ["b", "b"]
    tied = ob.create("class_rls").partial_fit(np.zeros((2, 2)), ["b", "a"])
    assert tied.predict(np.eye(2)).tolist() == ["b", "b"]  # all scores are 0: the class seen first


@pytest.mark.parametrize("n_d", [(9, 4), (4, 9), (1, 1)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_class_rls_is_rls_on_one_hot_targets(n_d, dtype):
    """The kernels have separate code; P does not depend on labels at all."""
    X, y = labelled_rows([1, 2, 3], *n_d)
    learner = ob.create("class_rls", forgetting_factor=0.9, dtype=dtype).partial_fit(X, y)
    rls = ob.create("rls", forgetting_factor=0.9, dtype=dtype).partial_fit(X, one_hot(y, learner.classes_))
    np.testing.assert_array_equal(learner.array("P"), rls.array("P"))
    np.testing.assert_allclose(weights(learner), weights(rls), rtol=0, atol=50 * np.finfo(dtype).eps)
    assert learner.decision_function(X).dtype == dtype


@pytest.mark.parametrize("ff", [0.8, 1.0])
def test_a_block_is_one_step(ff):
    """The weighted batch problem, in which forgetting acts once per step; a block can have new classes."""
    X, y = labelled_rows("abcd", n=12)
    learner = ob.create("class_rls", forgetting_factor=ff, ridge=0.5)
    parts = [slice(0, 1), slice(1, 7), slice(7, 12)]
    for part in parts:
        learner.step(X[part], y[part])
    age = np.repeat([2, 1, 0], [1, 6, 5])
    half = np.sqrt(np.append(ff**age, np.full(3, ff**3 * 0.5)))[:, None]
    A = half * np.vstack([X, np.eye(3)])
    B = half * np.vstack([one_hot(y, learner.classes_), np.zeros((3, len(learner.classes_)))])
    np.testing.assert_allclose(weights(learner), np.linalg.lstsq(A, B, rcond=None)[0], rtol=0, atol=1e-14)
    assert learner.state().attrs["t"] == 3


def test_real_digits_one_class_after_another():
    images, labels = raw()
    X = np.column_stack([images.reshape(len(images), -1) / 16, np.ones(len(images))])
    order = np.argsort(labels[:1400], kind="stable")
    learner = ob.create("class_rls").partial_fit(X[order], labels[order])
    assert learner.classes_.tolist() == list(range(10))
    assert (learner.predict(X[1400:]) == labels[1400:]).mean() > 0.85  # guessing: 0.1


@pytest.mark.parametrize("known", [[], ["a"], ["c", "b"]])
def test_after_divergence_the_classes_are_those_of_the_rows_learned(known, same_state):
    X, y = np.eye(5)[:, :3] + 0.1, ["a", "b", "a", "d", "e"]
    X[3] = 1e200  # x'P x overflows
    learners = [ob.create("class_rls").partial_fit(np.ones((len(known), 3)), known) for _ in range(2)]
    with pytest.raises(ob.DivergedError) as info:
        learners[0].partial_fit(X, y)
    assert info.value.row == 3
    same_state(learners[0], learners[1].partial_fit(X[:3], y[:3]))
    with pytest.raises(ob.DivergedError):
        learners[0].step(X[3:], ["e", "f"])
    same_state(learners[0], learners[1])
    same_state(learners[0].partial_fit(X[4:], y[4:]), learners[1].partial_fit(X[4:], y[4:]))


def test_a_first_row_that_diverges_adds_no_class():
    learner = ob.create("class_rls")
    with pytest.raises(ob.DivergedError):
        learner.prequential([[1e200, 1.0]], ["a"])
    assert learner.classes_.tolist() == []
    assert learner.partial_fit(np.eye(2), [1, 0]).classes_.tolist() == [1, 0]


def test_a_kernel_that_fails_leaves_a_fresh_learner_fresh(same_state):
    class Broken:
        @staticmethod
        def learn(s, X, Y, p, out):
            raise MemoryError

        step = learn

    ob.register(offering("broken", {"class_rls": Broken}), "broken")
    try:
        learner = ob.create("class_rls", backend="broken")
        for _ in range(2):
            with pytest.raises(MemoryError):
                learner.partial_fit(np.eye(2), ["a", "b"])
            same_state(learner, ob.create("class_rls", backend="broken"))
        learner.partial_fit(np.zeros((0, 2)), [])
        with pytest.raises(MemoryError):  # in a state that was widened for new classes: the one before it is intact
            learner.partial_fit(np.eye(2), ["a", "b"])
        same_state(learner, ob.create("class_rls", backend="broken").partial_fit(np.zeros((0, 2)), []))
    finally:
        ob.unregister("broken")


def test_an_error_before_the_kernel_adds_no_class(same_state, monkeypatch):
    learner = ob.create("class_rls").partial_fit(*labelled_rows("ab"))
    before = learner.copy()

    def full(*_):
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(Rule, "step_parameters", full)
        with pytest.raises(MemoryError):
            learner.partial_fit(np.eye(3), ["c", "a", "d"])
    same_state(learner, before)


@pytest.mark.filterwarnings("error::orfit_bench.AccuracyWarning")
def test_a_warning_turned_into_an_error_is_raised_after_the_rows(same_state):
    X, y = np.ones((2, 2)) * 1e6, ["a", "b"]
    learner = ob.create("class_rls")
    with pytest.raises(ob.AccuracyWarning, match="half of the digits") as info:
        learner.partial_fit(X, y)
    assert info.traceback[0].path.samefile(__file__)
    assert learner.classes_.tolist() == ["a", "b"]
    assert learner.n_samples_seen_ == 2


def test_a_warning_points_to_the_line_of_the_caller():
    with pytest.warns(ob.AccuracyWarning) as caught:
        ob.create("class_rls").partial_fit(np.ones((2, 2)) * 1e6, ["a", "b"])
    assert [w.filename for w in caught] == [__file__]


@pytest.fixture(scope="module")
def batched():
    """A classifier that learns in batches: ORFit on one-hot targets, registered like a plugin."""
    orfit, kernel = ob.methods()["orfit"], registry().kernel("numpy", "orfit")
    classifier = change(orfit, name="class_orfit", kind="classification", theory={"laws": ()}, kernel={"models": False})

    class Plugin:
        SPEC_VERSION = (1, 0)

        @ob.hookimpl
        def methods(self):
            return [classifier]

        @ob.hookimpl
        def kernels(self):
            return {("numpy", "class_orfit"): kernel}

    ob.register(Plugin(), "batched")
    yield "class_orfit"
    ob.unregister("batched")


@given(cuts=st.lists(st.integers(0, 11), max_size=5).map(sorted), memory=st.sampled_from([None, 3]))
def test_pending_rows_get_columns_for_later_classes(batched, cuts, memory):
    X, y = labelled_rows("abcd", n=11, d=6)
    complete, cut = (ob.create(batched, batch_size=4, memory=memory) for _ in range(2))
    complete.partial_fit(X, y)
    for lo, hi in zip([0, *cuts], [*cuts, 11], strict=True):
        cut.partial_fit(X[lo:hi], y[lo:hi])
    assert cut.pending == 3
    np.testing.assert_array_equal(cut.array("pending_y"), one_hot(y[8:], complete.classes_))
    for learner in (complete, cut):
        learner.flush()
    np.testing.assert_allclose(weights(cut), weights(complete), rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"initial_weights": [1.0, 2.0]}, "gives every new class zero weights"),
        ({"ridge": 0.0}, "ridge=0.0: want a number in"),
        ({"forgetting_factor": 0.0}, "forgetting_factor=0.0: want a number in"),
        ({"model": ob.Model("m", lambda w, X: X, lambda w, x: x, 1)}, "fits no other model than the linear one"),
    ],
)
def test_invalid_arguments_of_a_classifier_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ob.create("class_rls", **arguments)
