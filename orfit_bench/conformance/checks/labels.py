"""Labels of any kind, in arrays and lists, in long and short calls."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from orfit_bench.conformance.check import Deviation, check, ensure, ensure_raises, skip_if_time_varying, worst
from orfit_bench.conformance.checks.decisions import needs_labels
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.rows import Array
from orfit_bench.learners.restoring import from_bytes

LONG = 600
"""Number of rows of a call whose labels are found by sorting instead of one by one."""
FIRST = 10
"""Number of rows before this call."""
KINDS: dict[str, tuple[list[Any], list[Any]]] = {
    "texts": (["m", "k"], ["k", "m", "a", "z", "l", "zebra"]),
    "integers": ([3, 10], [10, 3, -5, 7, 2**40]),
    "truth values": ([True], [True, False]),
    "texts of which NumPy drops the end": (["a\0", "b"], ["b", "a", "c"]),
}
"""The labels of the first rows, and those of a long call: new labels sort before, between and after the others."""
UNUSUAL: tuple[list[Any], ...] = (["a\0", "a", "\0"], [2**70, -1, 2**70 + 1], ["", " ", "é"], [False, True])
"""Labels that NumPy arrays truncate, or that are equal as values of another type."""


def _labels(kind: str) -> tuple[list[Any], list[Any]]:
    """The labels of the first rows, and those of a long call, in which new labels appear one after another."""
    first, labels = KINDS[kind]
    n = len(labels)
    return [first[i % len(first)] for i in range(FIRST)], [labels[i % min(2 + i * n // LONG, n)] for i in range(LONG)]


@check(needs_labels, all_variants=False)
def long_calls_find_the_same_labels(context: CheckContext) -> Deviation:
    """A call of 600 rows with new labels gives the classes and the state of calls of ten rows."""
    found, chunk = [], context.rows(n=FIRST + LONG)
    for kind in KINDS:
        first, labels = _labels(kind)
        long, short = (context.create().partial_fit(chunk.X[:FIRST], first) for _ in range(2))
        long.partial_fit(chunk.X[FIRST:], np.array(labels))
        for i in range(0, LONG, FIRST):
            short.partial_fit(chunk.X[FIRST + i : 2 * FIRST + i], np.array(labels[i : i + FIRST]))
        got, want = long.classes_.tolist(), short.classes_.tolist()
        ensure(got == want, f"{kind} give the classes {got} in a long call, {want} in short ones")
        found.append(context.compare(chunk, (long, short), of=f"labels that are {kind}:"))
        _ensure_wrong_labels_refused(long, chunk.X, np.array([*labels, *labels[:FIRST]]))
    return worst(found)


@check(needs_labels, all_variants=False)
def labels_in_lists_equal_arrays(context: CheckContext) -> None:
    """Labels in a list of Python values give the same classes and state as labels in an array, bit by bit."""
    X: Array = context.rows(n=FIRST + LONG).X
    for kind in KINDS:
        first, labels = _labels(kind)
        array, listed = (context.create().partial_fit(X[:FIRST], first) for _ in range(2))
        array.partial_fit(X[FIRST:], np.array(labels))
        listed.partial_fit(X[FIRST:], labels)
        context.ensure_identical(array, listed, f"labels that are {kind}, in an array and not in a list")
        array, listed = (context.create().partial_fit(X[FIRST:], y) for y in (np.array(labels), labels))
        context.ensure_identical(
            array, listed, f"labels that are {kind}, in an array and not in a list, from the start"
        )
        array.partial_fit(X[:FIRST], first)
        got, want = array.classes_.tolist(), list(dict.fromkeys([*labels, *first]))
        ensure(got == want, f"the classes of the labels {want} are {got}")
        _ensure_wrong_labels_refused(array, X[FIRST:], np.array(labels))


def _ensure_wrong_labels_refused(learner: Any, X: Array, labels: Array) -> None:
    """Too many or too few labels, and objects other than lists and arrays, must be refused and change nothing."""
    before = learner.to_bytes()
    wrong: tuple[Any, ...] = (None, {*labels[:2].tolist()}, iter(labels))
    for y in wrong:
        ensure_raises(partial(learner.partial_fit, X, y), TypeError, f"{type(y).__name__} as labels", "y")
    for given in (labels[:-1], np.append(labels, labels[:1])):
        act = partial(learner.partial_fit, X, given)
        ensure_raises(
            act, ValueError, f"{len(given)} labels for {len(X)} rows", f"y: got {len(given)} rows, want {len(X)}"
        )
        ensure(
            learner.to_bytes() == before, f"{len(given)} labels for {len(X)} rows were refused and changed the learner"
        )


@check(needs_labels, all_variants=False)
def labels_are_kept_as_they_are(context: CheckContext) -> None:
    """Labels with characters or digits that NumPy drops are kept in classes, predictions, bytes and copies."""
    skip_if_time_varying(context)
    X: Array = context.rows(n=3).X
    for labels in UNUSUAL:
        learner = context.create().partial_fit(X[: len(labels)], labels)
        others = {
            "": learner,
            " of a copy": learner.copy(),
            " from bytes": from_bytes(learner.to_bytes(), **context.model),
        }
        for where, other in others.items():
            got = other.classes_.tolist()
            same = got == labels and [type(a) for a in got] == [type(a) for a in labels]
            ensure(same, f"the classes{where} of the labels {labels} are {got}")
            predicted = [*other.predict(X).tolist(), *(other.predict_one(x) for x in X)]
            strange = [a for a in predicted if a not in labels or type(a) is not type(labels[0])]
            ensure(not strange, f"after the labels {labels}, the label predicted{where} is {strange and strange[0]!r}")
        for place, label in enumerate(labels):
            before = learner.copy()
            learner.learn_one(X[place], label)
            before.partial_fit(X[place : place + 1], [label])
            context.ensure_identical(learner, before, f"learn_one of the label {label!r}")
