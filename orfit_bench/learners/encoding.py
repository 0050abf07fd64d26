"""Labels as columns of classes, which are in order of first appearance."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orfit_bench.learners import validation
from orfit_bench.state.state import Label

MANY = 500
"""With at least this many labels in an array, NumPy finds their classes faster than a dictionary."""
LONGEST = 64
"""Largest size of a label in bytes for which sorting labels is faster."""
KINDS: dict[str, type] = {"b": bool, "i": int, "U": str}
"""The kinds of NumPy dtypes whose labels NumPy compares as Python does."""


class Encoded(NamedTuple):
    """The column of each label (n,), all classes, and the row in which each new class appears first."""

    columns: NDArray[np.int64]
    classes: tuple[Label, ...]
    arrivals: tuple[int, ...]


def encode_labels(value: Any, of: str, rows: int, known: tuple[Label, ...]) -> Encoded:
    """Find the columns of labels (rows,); new classes come after those known.

    Raises TypeError or ValueError like `validation.labels`, which uses `of` as the name of the rows.
    """
    if type(value) is np.ndarray and value.shape == (rows,) and rows >= MANY:
        classes = _comparable(known, value.dtype)
        if classes is not None:
            return _encode_array(value, classes, known)
    labels = validation.labels(value, of, rows, type(known[0]) if known else None)
    first: dict[Label, int] = {}
    for row, label in enumerate(labels):
        first.setdefault(label, row)
    new = [label for label in first if label not in known]
    column = {label: i for i, label in enumerate((*known, *new))}
    columns = np.array([column[label] for label in labels], np.int64)
    return Encoded(columns, tuple(column), tuple(first[label] for label in new))


def array_of_labels(labels: list[Label]) -> NDArray[Any]:
    """An array of exactly these labels; of objects if NumPy's integers are too short or its strings lose a NUL."""
    array = np.array(labels)
    same = array.dtype.kind in "biuU" and array.tolist() == labels
    return array if same or not labels else np.array(labels, object)


def _comparable(known: tuple[Label, ...], dtype: np.dtype[Any]) -> NDArray[Any] | None:
    """The known classes as an array that compares with labels of this dtype as Python does; None if there is none."""
    kind = KINDS.get(dtype.kind)
    if kind is None or dtype.itemsize > LONGEST or any(type(label) is not kind for label in known):
        return None
    try:
        found = np.array(known, dtype if not known or kind is not str else None)
    except OverflowError:  # of an integer
        return None
    return found if found.tolist() == list(known) else None  # NumPy drops NULs at the end of a string


def _encode_array(labels: NDArray[Any], classes: NDArray[Any], known: tuple[Label, ...]) -> Encoded:
    columns, is_new = np.zeros(len(labels), np.int64), np.ones(len(labels), bool)
    if known:
        order = np.argsort(classes)
        columns = order[np.minimum(np.searchsorted(classes[order], labels), len(known) - 1)]
        is_new = classes[columns] != labels
    if not is_new.any():
        return Encoded(columns, known, ())
    found, first, place = np.unique(labels[is_new], return_index=True, return_inverse=True)
    by_row = np.argsort(first)
    rank = np.empty(len(found), np.int64)
    rank[by_row] = np.arange(len(found))
    columns[is_new] = len(known) + rank[place]
    arrivals = np.flatnonzero(is_new)[first[by_row]]
    return Encoded(columns, (*known, *found[by_row].tolist()), tuple(arrivals.tolist()))
