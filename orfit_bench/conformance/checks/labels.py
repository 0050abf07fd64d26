"""Labels: of any kind, in arrays and in lists, in long calls and in short ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.conformance.check import Deviation, check, ensure, skip_if_time_varying, worst
from orfit_bench.conformance.checks.decisions import needs_labels
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.rows import Array, Chunk
from orfit_bench.learners.restoring import from_bytes

LONG = 600
"""Rows of a call whose labels are found by sorting, not one by one."""
FIRST = 10
"""Rows before it."""
KINDS: dict[str, tuple[list[Any], list[Any]]] = {
    "texts": (["m", "k"], ["a", "z", "l", "zebra"]),
    "integers": ([3, 10], [-5, 7, 2**40]),
    "truth values": ([True], [False]),
}
"""Labels that are known before a long call, and those that it brings: before, between and after the others."""
UNUSUAL: tuple[list[Any], ...] = (["a\0", "a", "\0"], [2**70, -1, 2**70 + 1], ["", " ", "é"], [False, True])
"""Labels of which NumPy's arrays keep only a part, or which are equal as other types."""


def _labelled(context: CheckContext, kind: str) -> Chunk:
    """Rows of which the first have the known labels, and the others new ones, too, that come one after another."""
    known, new = KINDS[kind]
    chunk, labels = context.rows(n=FIRST + LONG), [*known, *new]
    y = [known[i % len(known)] for i in range(FIRST)]
    y += [labels[i % (2 + i * len(labels) // LONG) % len(labels)] for i in range(LONG)]
    return chunk._replace(y=np.array(y))


@check(needs_labels, all_variants=False)
def long_calls_find_the_same_labels(context: CheckContext) -> Deviation:
    """A call of 600 rows that brings new labels gives the classes and the state of calls of 30 rows."""
    found = []
    for kind in KINDS:
        chunk = _labelled(context, kind)
        long, short = context.train(chunk.cut(0, FIRST)), context.create()
        context.learn_silently(long, chunk.cut(FIRST, FIRST + LONG))
        for i in range(0, FIRST + LONG, FIRST):
            context.learn_silently(short, chunk.cut(i, i + FIRST))
        got, want = long.classes_.tolist(), short.classes_.tolist()
        ensure(got == want, f"labels that are {kind} give the classes {got} in a long call, {want} in short ones")
        found.append(context.compare(chunk, (long, short), of=f"labels that are {kind}:", exact=context.is_exact))
    return worst(found)


@check(needs_labels, all_variants=False)
def labels_in_lists_equal_arrays(context: CheckContext) -> None:
    """Labels in a list of Python's values give the classes and the state of those in an array, bit by bit."""
    for kind in KINDS:
        chunk = _labelled(context, kind)
        array, listed = context.create(), context.create()
        for lo, hi in ((0, FIRST), (FIRST, FIRST + LONG)):
            rows, labels = chunk.cut(lo, hi), np.asarray(chunk.y)[lo:hi]
            array.partial_fit(rows.X, labels)
            listed.partial_fit(rows.X, labels.tolist())
        context.ensure_identical(array, listed, f"labels that are {kind}, in an array and not in a list")
        known, new = KINDS[kind]
        got = set(array.classes_.tolist())
        ensure(got == {*known, *new}, f"of the labels {[*known, *new]} the classes {sorted(got)} are known")


@check(needs_labels, all_variants=False)
def labels_are_kept_as_they_are(context: CheckContext) -> None:
    """Labels with characters or digits that NumPy drops are classes, are predicted, and are in bytes and copies."""
    skip_if_time_varying(context)
    X: Array = context.rows(n=3).X
    for labels in UNUSUAL:
        learner = context.create().partial_fit(X[: len(labels)], labels)
        others = {"": learner, " of a copy": learner.copy(), " from bytes": from_bytes(learner.to_bytes())}
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
