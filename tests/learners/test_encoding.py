"""The columns of labels are the same by NumPy, used for many labels, and by a dictionary, used for few."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import orfit_bench as ob
from orfit_bench.learners import encoding, label_predictions
from orfit_bench.learners.encoding import encode_labels

KINDS = {
    "integers": st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3),
    "texts": st.text(max_size=3) | st.sampled_from(["a", "b", "a\0"]),
    "booleans": st.booleans(),
}


def by_dictionary(labels, known):
    first = {}
    for row, label in enumerate(labels):
        first.setdefault(label, row)
    new = [label for label in first if label not in known]
    classes = (*known, *new)
    return [classes.index(label) for label in labels], classes, tuple(first[label] for label in new)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_many_labels_are_encoded_as_few(kind, data):
    known = tuple(data.draw(st.lists(KINDS[kind], unique=True, max_size=4), label="known"))
    labels = data.draw(
        st.lists(KINDS[kind] | st.sampled_from(known or (data.draw(KINDS[kind]),)), min_size=1), label="y"
    )
    array = np.array(labels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "MANY", 1)
        columns, classes, arrivals = encode_labels(array, "X", len(array), known)
    want, all_classes, first = by_dictionary(array.tolist(), known)
    assert (columns.tolist(), classes, arrivals) == (want, all_classes, first)
    assert {type(label) for label in classes} == {type(labels[0])}


@pytest.mark.parametrize(
    ("y", "known"),
    [
        (np.ones(600), ()),
        (np.arange(600), ("a",)),
        (np.array(["a"] * 600), (1,)),
        (np.array([True] * 600), (1,)),
        (np.array(["2020-01-01"] * 600, "datetime64[D]"), ()),
    ],
)
def test_labels_of_another_kind_are_refused(y, known):
    with pytest.raises(TypeError, match="y: got labels of type"):
        encode_labels(y, "X", len(y), known)


def test_integers_that_a_small_dtype_cannot_hold_are_other_classes():
    found = encode_labels(np.arange(600).astype(np.int8), "X", 600, (300, -1))
    assert found.classes[:3] == (300, -1, 0)
    assert len(found.classes) == 257


def test_a_long_chunk_teaches_what_short_ones_do():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((1500, 3)), rng.integers(0, 40, 1500)
    long, short = (ob.create("class_rls", backend="numpy") for _ in range(2))
    long.partial_fit(X, y)
    for begin in range(0, 1500, 100):
        short.partial_fit(X[begin : begin + 100], y[begin : begin + 100])
    assert long.classes_.tolist() == short.classes_.tolist()
    np.testing.assert_allclose(long.predict_proba(X), short.predict_proba(X), atol=1e-12)


def test_probabilities_have_the_dtype_of_the_learner():
    learner = ob.create("class_rls", dtype="float32").partial_fit(np.eye(2), ["a", "b"])
    assert learner.predict_proba(np.eye(2)).dtype == np.float32


@pytest.mark.parametrize("size", [1, 7, 10**6])
def test_labels_of_many_rows_are_predicted_in_blocks(size, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((100, 3)), rng.integers(0, 5, 100)
    learner = ob.create("class_rls", backend="numpy").partial_fit(X, y)
    want = learner.classes_[learner.decision_function(X).argmax(axis=1)]
    monkeypatch.setattr(label_predictions, "SCORES", size)
    np.testing.assert_array_equal(learner.predict(X), want)
    assert learner.predict(X[:0]).dtype == want.dtype
    assert learner.predict(X[:0]).shape == (0,)
