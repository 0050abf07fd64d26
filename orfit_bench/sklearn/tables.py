"""Rows for estimators: the checks of scikit-learn, and checks of column labels that it ignores."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from orfit_bench.tables.columns import read_columns
from orfit_bench.tables.integers import LARGEST, refuse_rounded
from orfit_bench.tables.names import label_text, quoted
from orfit_bench.tables.pandas_index import index_columns

Array = Any


def validate_rows(estimator: Any, X: Any, *y: Any, reset: bool, **checks: Any) -> Any:
    """X, or X and y, as returned by scikit-learn's `validate_data`.

    Column labels that are not strings, which scikit-learn ignores, are compared with those of the first rows: raises
    ValueError if their order differs. A DataFrame index that Arrow stores as a column is left out.
    """
    X = _without_index(X)
    labels = _labels(X)
    known = None if reset else getattr(estimator, "column_labels_", None)
    if known and labels and labels != known and sorted(labels) == sorted(known):
        raise ValueError(
            f"X: got the columns {quoted(labels)}, want the order {quoted(known)} as in fit: select them in this order"
        )
    found = validate_data(estimator, X, *y, reset=reset, **checks)
    rows = found[0] if y else found
    if max(rows.max(initial=0), -rows.min(initial=0)) >= LARGEST:
        _refuse_rounded(X)
    if reset:
        estimator.column_labels_ = labels
    return found


def _refuse_rounded(X: Any) -> None:
    """Raise ValueError for an integer in a table or array of rows that a double would round."""
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        labels, columns = X.columns, [X.iloc[:, i].dropna().to_numpy() for i in range(X.shape[1])]
    else:
        array = with_integers(X, read_columns(X, "X", missing=True).values)
        labels, columns = range(array.shape[1]), list(array.T)
    for label, column in zip(labels, columns, strict=True):
        refuse_rounded(column, f"X: column {label_text(label)!r}")


def with_integers(given: Any, converted: Any) -> Array:
    """What was given, as an array of objects if it may hold integers that are floats in the converted array."""
    is_mixed = isinstance(given, (list, tuple)) or getattr(getattr(given, "dtype", None), "kind", "") == "O"
    return np.array(given, object) if is_mixed else np.asarray(converted)


def target_names(y: Any, known: tuple[str, ...] | None) -> tuple[str, ...]:
    """The names of the columns of a table of targets, if it has any; ValueError if known ones have another order."""
    columns = getattr(y, "column_names", getattr(y, "columns", ()))
    names = tuple(map(label_text, columns))
    if known and names != known and sorted(names) == sorted(known):
        raise ValueError(
            f"y: got the columns {quoted(names)}, want the order {quoted(known)} as in fit: select them in this order"
        )
    return names


def _labels(X: Any) -> tuple[str, ...] | None:
    """The labels of the columns of a pandas DataFrame; None if they are strings, or there are none."""
    if not (hasattr(X, "iloc") and hasattr(X, "columns")):
        return None
    labels = list(X.columns)
    return None if any(isinstance(label, str) for label in labels) else tuple(map(label_text, labels))


def _without_index(X: Any) -> Any:
    """An Arrow table without the columns that store the index of a DataFrame; other values unchanged."""
    metadata = getattr(getattr(X, "schema", None), "metadata", None)
    if type(X).__module__.partition(".")[0] != "pyarrow" or not hasattr(X, "column_names"):
        return X
    hidden = index_columns(X.column_names, metadata)
    return X.select([name for name in X.column_names if name not in hidden]) if hidden else X
