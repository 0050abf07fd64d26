"""Learners of labels: classes come at any row, and a call that fails leaves them as they were."""

import dataclasses
import json

import numpy as np
import pytest
from helpers.cases import offering
from hypothesis import given
from hypothesis import strategies as st

import orfit_bench as ob
from orfit_bench.catalogue.streams.digits import raw
from orfit_bench.learners.rule import Rule
from orfit_bench.plugins.registry import registry

KINDS = {
    "int": ([3, -1, 2**40], int),
    "large": ([2**100, -1, 2**63], int),
    "bool": ([True, False], bool),
    "str": (["no", "", "Jürgen 🦆"], str),
    "odd": (["a", "a\0", "\ud800", "\n\"'"], str),
}
"""Labels of every kind that a learner takes, and as what it answers."""


def labelled(labels, n=20, d=3, seed=0):
    """X (n, d) and labels (n,) drawn from these, read-only rows."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X.flags.writeable = False
    return X, [labels[i] for i in rng.integers(0, len(labels), n)]


def one_hot(y, classes):
    return np.array([[float(label == c) for c in classes] for label in y]).reshape(len(y), len(classes))


def weights(learner):
    return learner.state()["w"].values


# ---------------------------------------------------------------------- labels


@pytest.mark.parametrize("kind", KINDS)
def test_labels_of_every_kind_come_back(kind):
    labels, answer = KINDS[kind]
    X = np.eye(4)[: len(labels)]
    learner = ob.create("class_rls", ridge=1e-3).partial_fit(X, labels)
    assert learner.predict(X).tolist() == learner.classes_.tolist() == labels
    assert {type(label) for label in learner.predict(X).tolist()} == {answer}


@pytest.mark.parametrize(
    "given_as",
    [
        tuple,
        lambda y: np.array(y, object),
        lambda y: np.array(y, np.int8),
        lambda y: np.array(y, np.uint64),
        lambda y: np.array(y)[::-1][::-1],
        lambda y: [np.int16(v) for v in y],
        lambda y: pytest.importorskip("pandas").Series(y, index=range(7, 11)),
    ],
    ids=["tuple", "object", "int8", "uint64", "strided", "scalars", "series"],
)
def test_integers_of_every_kind_are_the_same_labels(given_as, same_state):
    X, y = labelled([5, 1], n=4)
    same_state(ob.create("class_rls").partial_fit(X, given_as(y)), ob.create("class_rls").partial_fit(X, y))


@pytest.mark.parametrize("given_as", [np.array, lambda y: np.array(y, object), lambda y: np.array(y, "T")])
def test_texts_of_every_kind_are_the_same_labels(given_as, same_state):
    X, y = labelled(["b", "abc"], n=4)
    same_state(ob.create("class_rls").partial_fit(X, given_as(y)), ob.create("class_rls").partial_fit(X, y))


def test_classes_stand_in_order_of_first_appearance():
    learner = ob.create("class_rls").partial_fit(np.eye(3), ["b", "c", "b"])
    assert learner.classes_.tolist() == ["b", "c"]
    learner.partial_fit(np.eye(3), ["c", "a", "b"])
    assert learner.classes_.tolist() == ["b", "c", "a"]
    assert learner.decision_function(np.eye(3)).shape == (3, 3)


REFUSED = {
    "floats": ([1.0, 2.0], TypeError, "labels of type float, want"),
    "nan": ([1, np.nan], TypeError, "labels of type float, int"),
    "an array of floats": (np.ones(2), TypeError, "labels of type float"),
    "none among them": (["a", None], TypeError, "labels of type NoneType, str"),
    "none": (None, TypeError, "got NoneType"),
    "mixed": ([1, "a"], TypeError, "labels of type int, str"),
    "booleans among integers": ([True, 1], TypeError, "labels of type bool, int"),
    "bytes": ([b"a", b"b"], TypeError, "labels of type bytes"),
    "complex": (np.ones(2, complex), TypeError, "labels of type complex"),
    "dates": (np.array(["2020", "2021"], "M8[ns]"), TypeError, "labels of type datetime64"),
    "masked": (np.ma.masked_equal([1, 2], 1), TypeError, "masked"),
    "a set": ({1, 2}, TypeError, "got set"),
    "a text": ("ab", ValueError, r"of shape \(\), want \(n,\)"),
    "one-hot": ([[1, 0], [0, 1]], ValueError, r"of shape \(2, 2\), want \(n,\)"),
    "ragged": ([[1], [1, 2]], ValueError, "unequal length"),
    "too few": ([1], ValueError, "got 1 rows, want 2, one for each row of"),
    "too many": ([1, 2, 3], ValueError, "got 3 rows, want 2"),
}


@pytest.mark.parametrize("call", ["partial_fit", "prequential", "step"])
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_label_is_refused(case, call, same_state):
    y, error, message = REFUSED[case]
    fresh, known = ob.create("class_rls"), ob.create("class_rls").partial_fit(*labelled([7, 8]))
    before = known.copy()
    for learner, X in ((fresh, np.eye(2)), (known, np.eye(3)[:2])):
        with pytest.raises(error, match=message):
            getattr(learner, call)(X, y)
    same_state(known, before)
    same_state(fresh, ob.create("class_rls"))


def test_a_learner_keeps_to_one_kind_of_labels(same_state):
    learner = ob.create("class_rls").partial_fit(*labelled([0, 1]))
    before = learner.copy()
    for other in ("a", True):
        with pytest.raises(TypeError, match="want int as in the first call"):
            learner.partial_fit(np.eye(3), [other] * 3)
    same_state(learner.partial_fit(np.zeros((0, 3)), []), before)


def test_a_failed_call_knows_no_new_class(same_state):
    learner = ob.create("class_rls").partial_fit(*labelled(["a", "b"]))
    before = learner.copy()
    for X in (np.full((1, 3), np.nan), np.eye(4)[:1], [["x", "y", "z"]]):
        with pytest.raises((TypeError, ValueError)):
            learner.partial_fit(X, ["new"])
    with pytest.raises(ValueError, match="A: got no rows"):
        learner.step(np.zeros((0, 3)), [])
    same_state(learner, before)


# ---------------------------------------------------------------------- when classes come


@given(st.integers(1, 40), st.integers(1, 6), st.integers(0, 999), st.sampled_from(["float64", "float32"]))
def test_late_classes_are_as_if_known_from_the_start(d, classes, seed, dtype):
    """Bit for bit, rows coming one by one: a row of zeros teaches nothing but that its class exists."""
    X, y = labelled([f"class {i}" for i in range(classes)], n=3 * classes + 2, d=d, seed=seed)
    y[:3] = y[:1] * 3  # so that for some rows there is one class only
    names = list(dict.fromkeys(y))
    known = ob.create("class_rls", dtype=dtype).partial_fit(np.zeros((len(names), d)), names)
    late = ob.create("class_rls", dtype=dtype)
    for row in [slice(i, i + 1) for i in range(len(y) - 2)]:
        told = known.prequential(X[row], y[row]), late.prequential(X[row], y[row])
        np.testing.assert_array_equal(told[0][:, : told[1].shape[1]], told[1])
    for learner in (known, late):
        learner.step(X[-2:], y[-2:])
    assert known.classes_.tolist() == late.classes_.tolist() == names
    np.testing.assert_array_equal(weights(known), weights(late))
    np.testing.assert_array_equal(known.state()["P"].values, late.state()["P"].values)


@given(st.data())
def test_cuts_do_not_matter(same_state, data):
    n, d = data.draw(st.integers(0, 15)), data.draw(st.integers(1, 20))
    dtype = data.draw(st.sampled_from(["float64", "float32"]))
    settings = {"forgetting_factor": data.draw(st.sampled_from([0.9, 1.0, 1.1]))}
    X, y = labelled([4, 1, 0, 9], n=n, d=d, seed=data.draw(st.integers(0, 99)))
    cuts = sorted(data.draw(st.lists(st.integers(0, n), max_size=6)))
    whole, cut, told_not = (ob.create("class_rls", dtype=dtype, **settings) for _ in range(3))
    told = whole.prequential(X, y)
    for lo, hi in zip([0, *cuts], [*cuts, n], strict=True):
        got = cut.prequential(X[lo:hi], y[lo:hi])
        told_not.partial_fit(X[lo:hi], y[lo:hi])
        k = got.shape[1]
        np.testing.assert_array_equal(got, told[lo:hi, :k])
        assert not told[lo:hi, k:].any()  # zero before the class was seen
    same_state(cut, whole)
    same_state(told_not, whole)


def test_scores_are_those_before_the_row_and_zero_before_the_class():
    X, y = labelled("abc", n=12)
    learner, alone = ob.create("class_rls"), ob.create("class_rls").partial_fit(X[:0], [])
    told = learner.prequential(X, y)
    assert told.shape == (12, 3)
    for i in range(12):
        want = alone.decision_function(X[i : i + 1])
        np.testing.assert_allclose(told[i, : want.shape[1]], want[0], rtol=1e-12, atol=1e-15)
        assert not told[i, want.shape[1] :].any()
        alone.partial_fit(X[i : i + 1], y[i : i + 1])


def test_nothing_seen_one_class_and_ties():
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
def test_it_is_rls_on_one_hot_targets(n_d, dtype):
    """The kernels are lines of their own; P does not depend on labels at all."""
    X, y = labelled([1, 2, 3], *n_d)
    learner = ob.create("class_rls", forgetting_factor=0.9, dtype=dtype).partial_fit(X, y)
    rls = ob.create("rls", forgetting_factor=0.9, dtype=dtype).partial_fit(X, one_hot(y, learner.classes_))
    np.testing.assert_array_equal(learner.state()["P"].values, rls.state()["P"].values)
    np.testing.assert_allclose(weights(learner), weights(rls), rtol=0, atol=50 * np.finfo(dtype).eps)
    assert learner.decision_function(X).dtype == dtype


@pytest.mark.parametrize("ff", [0.8, 1.0])
def test_a_block_is_one_step(ff):
    """The weighted batch problem, where forgetting acts once a step; a block may bring classes."""
    X, y = labelled("abcd", n=12)
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


# ---------------------------------------------------------------------- what goes wrong half-way


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


def test_a_first_row_that_diverges_leaves_no_class():
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


def test_what_fails_before_the_kernel_brings_no_class(same_state, monkeypatch):
    learner = ob.create("class_rls").partial_fit(*labelled("ab"))
    before = learner.copy()

    def full(*_):
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(Rule, "step_parameters", full)
        with pytest.raises(MemoryError):
            learner.partial_fit(np.eye(3), ["c", "a", "d"])
    same_state(learner, before)


@pytest.mark.filterwarnings("error::orfit_bench.AccuracyWarning")
def test_a_warning_made_an_error_comes_after_the_rows(same_state):
    X, y = np.ones((2, 2)) * 1e6, ["a", "b"]
    learner = ob.create("class_rls")
    with pytest.raises(ob.AccuracyWarning, match="half of the digits") as info:
        learner.partial_fit(X, y)
    assert info.traceback[0].path.samefile(__file__)
    assert learner.classes_.tolist() == ["a", "b"]
    assert learner.n_samples_seen_ == 2


def test_a_warning_points_at_its_user():
    with pytest.warns(ob.AccuracyWarning) as caught:
        ob.create("class_rls").partial_fit(np.ones((2, 2)) * 1e6, ["a", "b"])
    assert [w.filename for w in caught] == [__file__]


# ---------------------------------------------------------------------- rows that wait


@pytest.fixture(scope="module")
def batched():
    """A classifier that learns in batches: ORFit on one-hot targets, brought as a plugin would."""
    orfit, kernel = ob.methods()["orfit"], registry().kernel("numpy", "orfit")

    class Plugin:
        SPEC_VERSION = (1, 0)

        @ob.hookimpl
        def methods(self):
            return [dataclasses.replace(orfit, name="class_orfit", kind="classification", laws=(), models=False)]

        @ob.hookimpl
        def kernels(self):
            return {("numpy", "class_orfit"): kernel}

    ob.register(Plugin(), "batched")
    yield "class_orfit"
    ob.unregister("batched")


@given(cuts=st.lists(st.integers(0, 11), max_size=5).map(sorted), memory=st.sampled_from([None, 3]))
def test_rows_that_wait_get_the_columns_of_later_classes(batched, cuts, memory):
    X, y = labelled("abcd", n=11, d=6)
    whole, cut = (ob.create(batched, batch_size=4, memory=memory) for _ in range(2))
    whole.partial_fit(X, y)
    for lo, hi in zip([0, *cuts], [*cuts, 11], strict=True):
        cut.partial_fit(X[lo:hi], y[lo:hi])
    assert cut.pending == 3
    np.testing.assert_array_equal(cut.state()["pending_y"].values, one_hot(y[8:], whole.classes_))
    for learner in (whole, cut):
        learner.flush()
    np.testing.assert_allclose(weights(cut), weights(whole), rtol=0, atol=1e-13)


# ---------------------------------------------------------------------- kept


@pytest.mark.parametrize("way", ["copy", "restore", "load", "netcdf"])
@pytest.mark.parametrize("kind", [*KINDS, "none yet", "fresh"])
def test_classes_are_kept(kind, way, same_state, tmp_path):
    labels, _ = KINDS.get(kind, ([1, 2], int))
    X, y = labelled(labels)
    learner = ob.create("class_rls", forgetting_factor=0.95)
    if kind != "fresh":
        n = 0 if kind == "none yet" else 9
        learner.partial_fit(X[:n], y[:n])
    if way == "load":
        learner.save(tmp_path / "it.npz")
    if way == "netcdf":
        learner.state().to_netcdf(tmp_path / "it.nc", engine="h5netcdf")
    ways = {
        "copy": learner.copy,
        "restore": lambda: ob.restore(learner.state()),
        "load": lambda: ob.load(tmp_path / "it.npz"),
        "netcdf": lambda: ob.restore(pytest.importorskip("xarray").load_dataset(tmp_path / "it.nc", engine="h5netcdf")),
    }
    other = ways[way]()
    assert [*map(repr, other.classes_.tolist())] == [*map(repr, learner.classes_.tolist())]
    before = learner.copy()
    same_state(other.partial_fit(X, y), learner.copy().partial_fit(X, y))
    same_state(learner, before)


DAMAGED = {
    "gone": (..., "lacks 'classes'"),
    "no list": ("ab", "classes are 'ab'"),
    "none": (None, "classes are None"),
    "twice": (["a", "a"], "different labels of one kind"),
    "mixed": (["a", 1], "different labels of one kind"),
    "true and one": ([True, 1], "different labels of one kind"),
    "numbers": ([1.0, 2.0], "different labels of one kind"),
    "lists": ([["a"], ["b"]], "different labels of one kind"),
    "too few": (["a"], "1 classes for 2 outputs"),
    "too many": (["a", "b", "c"], "3 classes for 2 outputs"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_classes_are_refused(case, tmp_path):
    classes, message = DAMAGED[case]
    path = tmp_path / "state.npz"
    ob.create("class_rls").partial_fit(np.eye(2), ["a", "b"]).save(path)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    head = json.loads(arrays.pop("header").tobytes()) | {"classes": classes}
    head = {key: value for key, value in head.items() if value is not ...}
    np.savez(path, header=np.frombuffer(json.dumps(head).encode(), np.uint8), **arrays)
    with pytest.raises(ValueError, match=message) as info:
        ob.load(path)
    assert str(path) in str(info.value)


def test_a_fresh_state_with_classes_is_refused():
    state = ob.create("class_rls").state()
    state.attrs["orfit_bench"] = json.dumps(json.loads(state.attrs["orfit_bench"]) | {"classes": ["a"]})
    with pytest.raises(ValueError, match="1 classes for None outputs"):
        ob.restore(state)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"initial_weights": [1.0, 2.0]}, "gives every new class zero weights"),
        ({"ridge": 0.0}, "ridge=0.0: want a number in"),
        ({"forgetting_factor": 0.0}, "forgetting_factor=0.0: want a number in"),
        ({"model": ob.Model("m", lambda w, X: X, lambda w, x: x, 1)}, "fits no other model than the linear one"),
    ],
)
def test_what_a_classifier_does_not_take(arguments, message):
    with pytest.raises(ValueError, match=message):
        ob.create("class_rls", **arguments)
