"""Names of columns: the names of the first rows are kept, and columns of later tables are put in their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

MOST_NAMES = 5
"""Number of names that a message lists."""


class NamedValues(NamedTuple):
    """Values in the order of the columns, and the names of the columns; empty if they have none."""

    values: Any
    names: tuple[str, ...] = ()


def arrange(
    labels: list[Any], known: tuple[str, ...], width: int | None, argument: str
) -> tuple[list[int], tuple[str, ...]]:
    """The order in which to take columns with these labels, and their names; empty if they are numbered 0, 1, ....

    Parameters
    ----------
    labels : list
        The labels of the columns of a table: strings, or other values such as numbers or tuples, whose names are their
        string forms.
    known : tuple of str
        The names of the columns of earlier rows, in order. Raises ValueError if names are missing or new.
    width : int or None
        The number of columns of earlier rows without names; labels 0, 1, ... in another order are then sorted.
    argument : str
        For messages.
    """
    names = checked_names(labels, argument)
    if known:
        if not names and set(texts := tuple(map(label_text, labels))) == set(known):
            names = texts
        return order_of(names, known, argument), known
    if len(labels) == width and is_permutation(labels):
        return sorted(range(width), key=labels.__getitem__), ()
    return list(range(len(labels))), names


def checked_names(labels: list[Any], argument: str) -> tuple[str, ...]:
    """The names of columns with these labels; empty if they are numbered 0, 1, ... in order.

    Raises TypeError if only some labels are strings, ValueError if a label occurs twice.
    """
    texts = [label for label in labels if isinstance(label, str)]
    if texts and len(texts) < len(labels):
        other = next(label for label in labels if not isinstance(label, str))
        raise TypeError(
            f"{argument}: got names of columns that are partly strings ({texts[0]!r}) and partly not ({other!r}, "
            f"{type(other).__name__}): want strings for all of them, or for none"
        )
    if not texts and is_permutation(labels) and labels == sorted(labels):
        return ()
    names = tuple(map(label_text, labels))
    check_distinct(list(names), argument)
    return names


def labels_of(value: Any) -> tuple[str, ...]:
    """The labels of the rows or columns of a table or array of xarray; empty if they are numbered 0, 1, ...."""
    if hasattr(type(value), "iloc"):  # a table or column of pandas
        found = [value.index, *([value.columns] if hasattr(value, "columns") else [])]
    elif hasattr(type(value), "coords") and hasattr(type(value), "dims"):
        found = [value.coords[dim].to_numpy() for dim in value.dims if dim in value.coords]
    else:
        found = [getattr(value, name) for name in ("column_names", "columns") if hasattr(type(value), name)][:1]
    for labels in found:
        texts = [label_text(label) for label in labels]
        if texts != [str(i) for i in range(len(texts))]:
            return tuple(texts)
    return ()


def label_text(label: Any) -> str:
    """The name of a column with this label: a string itself; for numbers and tuples, their Python form."""
    if type(label) is str:
        return label
    if isinstance(label, tuple):
        return repr(tuple(_plain(part) for part in label))
    return str(_plain(label))


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def is_permutation(labels: list[Any]) -> bool:
    """Whether the labels are the numbers 0, 1, ... of columns, in any order."""
    numbers = [n for n in labels if isinstance(n, (int, np.integer)) and not isinstance(n, bool)]
    return len(numbers) == len(labels) and sorted(numbers) == list(range(len(labels)))


def check_distinct(names: list[Any], argument: str) -> None:
    """Raise ValueError if two columns have the same name."""
    if len(set(names)) < len(names):
        twice = [name for name, count in Counter(names).items() if count > 1]
        raise ValueError(f"{argument}: got more than one column named {quoted(twice)}: rename or drop one")


def with_text_names(table: Any, argument: str) -> Any:
    """A table whose columns have distinct strings as names; column names of pandas need not be strings."""
    is_pandas = hasattr(type(table), "iloc") and hasattr(type(table), "columns")
    labels = table.columns.tolist() if is_pandas else list(getattr(table, "column_names", []))
    names = list(map(label_text, labels))
    check_distinct(names, argument)
    return table.set_axis(names, axis=1) if is_pandas and labels != names else table


def refuse_unnamed(known: tuple[str, ...], argument: str) -> NoReturn:
    """Raise ValueError for a table without column names if the first one had names."""
    raise ValueError(
        f"{argument}: got columns without names, want {quoted(known)} as in the first call: "
        f"name the columns, or pass a plain array in this order"
    )


def order_of(names: tuple[str, ...], known: tuple[str, ...], argument: str) -> list[int]:
    """The position of each known name among the names. Raises ValueError if names are missing or new."""
    if names == known:
        return list(range(len(known)))
    if not names:
        refuse_unnamed(known, argument)
    place = {name: i for i, name in enumerate(names)}
    known_names = set(known)
    lacking, new = [n for n in known if n not in place], [n for n in place if n not in known_names]
    if lacking or new:
        parts = [f"{what} {quoted(found)}" for what, found in (("missing", lacking), ("unexpected", new)) if found]
        remedy = ": select the columns by feature_names_in_" if argument != "y" else ""
        if argument == "control":
            remedy = ": name them as those of X, or pass control.to_numpy()"
        raise ValueError(
            f"{argument}: got other columns than in the first call, {' and '.join(parts)}; "
            f"want {quoted(known)} in any order{remedy}"
        )
    return [place[name] for name in known]


def first_of(numbers: Sequence[int]) -> str:
    """The first of these numbers, for a message."""
    return ", ".join(map(str, numbers[:MOST_NAMES])) + (", ..." if len(numbers) > MOST_NAMES else "")


def quoted(names: Iterable[Any]) -> str:
    """The first of these names, for a message."""
    names = list(names)
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(map(repr, names[:MOST_NAMES])) + more
