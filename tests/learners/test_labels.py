"""Labels: every kind that is accepted or refused, their order, and how they are saved."""

import json

import numpy as np
import pytest
from helpers.labels import labelled_rows

import orfit_bench as ob
from orfit_bench.state import files

KINDS = {
    "int": ([3, -1, 2**40], int),
    "large": ([2**100, -1, 2**63], int),
    "bool": ([True, False], bool),
    "str": (["no", "", "Jürgen 🦆"], str),
    "odd": (["a", "a\0", "\ud800", "\n\"'"], str),
}
"""Labels of every kind that a learner accepts, and the type of the labels that it returns."""


@pytest.mark.parametrize("kind", KINDS)
def test_labels_of_every_type_are_predicted(kind):
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
    X, y = labelled_rows([5, 1], n=4)
    same_state(ob.create("class_rls").partial_fit(X, given_as(y)), ob.create("class_rls").partial_fit(X, y))


@pytest.mark.parametrize("given_as", [np.array, lambda y: np.array(y, object), lambda y: np.array(y, "T")])
def test_texts_of_every_kind_are_the_same_labels(given_as, same_state):
    X, y = labelled_rows(["b", "abc"], n=4)
    same_state(ob.create("class_rls").partial_fit(X, given_as(y)), ob.create("class_rls").partial_fit(X, y))


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_single_rows_after_a_merge_that_brings_a_class(backend):
    a = ob.create("class_rls", backend=backend).partial_fit([[1.0, 0.0]], ["a"])
    b = ob.create("class_rls", backend=backend).partial_fit([[0.0, 1.0]], ["b"])
    a.merge(b).learn_one(np.array([0.0, 1.0]), "b")
    assert a.classes_.tolist() == ["a", "b"]
    assert a.n_samples_seen_ == 3
    assert a.predict_one([0.0, 1.0]) == "b"


def test_single_rows_after_a_refused_call_that_brings_a_class():
    learner = ob.create("class_rls", backend="numpy").partial_fit([[1.0, 0.0]], ["a"])
    with pytest.raises(ob.DivergedError):
        learner.partial_fit([[0.0, 1.0], [1e200, 1e200]], ["b", "a"])
    learner.learn_one(np.array([0.0, 1.0]), "b")
    assert learner.classes_.tolist() == ["a", "b"]
    assert learner.n_samples_seen_ == 3


def test_classes_are_in_order_of_first_appearance():
    learner = ob.create("class_rls").partial_fit(np.eye(3), ["b", "c", "b"])
    assert learner.classes_.tolist() == ["b", "c"]
    learner.partial_fit(np.eye(3), ["c", "a", "b"])
    assert learner.classes_.tolist() == ["b", "c", "a"]
    assert learner.decision_function(np.eye(3)).shape == (3, 3)


REFUSED = {
    "floats": ([1.0, 2.0], TypeError, "labels of type float, want"),
    "nan": ([1, np.nan], TypeError, "labels of type float, int, .*: drop the rows without a label, 1 here, .*row 1"),
    "an array of floats": (np.ones(2), TypeError, "labels of type float"),
    "none among them": (["a", None], TypeError, "labels of type NoneType, str, .*: drop the rows without a label"),
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
def test_invalid_labels_are_refused(case, call, same_state):
    y, error, message = REFUSED[case]
    fresh, known = ob.create("class_rls"), ob.create("class_rls").partial_fit(*labelled_rows([7, 8]))
    before = known.copy()
    for learner, X in ((fresh, np.eye(2)), (known, np.eye(3)[:2])):
        with pytest.raises(error, match=message):
            getattr(learner, call)(X, y)
    same_state(known, before)
    same_state(fresh, ob.create("class_rls"))


def test_labels_of_another_kind_are_refused_later(same_state):
    learner = ob.create("class_rls").partial_fit(*labelled_rows([0, 1]))
    before = learner.copy()
    for other in ("a", True):
        with pytest.raises(TypeError, match="want int as in the first call"):
            learner.partial_fit(np.eye(3), [other] * 3)
    same_state(learner.partial_fit(np.zeros((0, 3)), []), before)


@pytest.mark.parametrize("way", ["copy", "restore", "load", "netcdf"])
@pytest.mark.parametrize("kind", [*KINDS, "none yet", "fresh"])
def test_classes_are_saved(kind, way, same_state, tmp_path):
    labels, _ = KINDS.get(kind, ([1, 2], int))
    X, y = labelled_rows(labels)
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
    del arrays["checksum"]
    files.write(head, arrays, path)
    with pytest.raises(ValueError, match=message) as info:
        ob.load(path)
    assert str(path) in str(info.value)


def test_a_fresh_state_with_classes_is_refused():
    state = ob.create("class_rls").state()
    state.attrs["orfit_bench"] = json.dumps(json.loads(state.attrs["orfit_bench"]) | {"classes": ["a"]})
    with pytest.raises(ValueError, match="1 classes for None outputs"):
        ob.restore(state)
