"""Names of columns: those of the first rows stay known, and later tables are put in their order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, NoReturn

MOST_NAMES = 5
"""Names that a message lists."""


class NamedValues(NamedTuple):
    """Values in the order of the columns, and the names of these; none where they have none."""

    values: Any
    names: tuple[str, ...] = ()


def checked_names(names: list[Any], argument: str) -> tuple[str, ...]:
    """These names; none if none is a string. TypeError if only some are, ValueError if one is there twice."""
    texts = [name for name in names if isinstance(name, str)]
    if texts and len(texts) < len(names):
        other = next(name for name in names if not isinstance(name, str))
        raise TypeError(
            f"{argument}: got names of columns that are partly strings ({texts[0]!r}) and partly not ({other!r}, "
            f"{type(other).__name__}): want strings for all of them, or for none"
        )
    check_distinct(texts, argument)
    return tuple(str(name) for name in texts)


def check_distinct(names: list[Any], argument: str) -> None:
    """ValueError where two columns have the same name."""
    if len(set(names)) < len(names):
        twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        raise ValueError(f"{argument}: got more than one column named {quoted(twice)}: rename or drop one")


def refuse_unnamed(known: tuple[str, ...], argument: str) -> NoReturn:
    """ValueError where a table has no names of columns, and the first one had some."""
    raise ValueError(
        f"{argument}: got columns without names, want {quoted(known)} as in the first call: "
        f"name the columns, or pass a plain array in this order"
    )


def order_of(names: tuple[str, ...], known: tuple[str, ...], argument: str) -> list[int]:
    """The place of each known name among the names. ValueError where names are missing or new."""
    if names == known:
        return list(range(len(known)))
    if not names:
        refuse_unnamed(known, argument)
    place = {name: i for i, name in enumerate(names)}
    lacking, new = [n for n in known if n not in place], sorted(set(names) - set(known), key=names.index)
    if lacking or new:
        parts = [f"{what} {quoted(found)}" for what, found in (("missing", lacking), ("unexpected", new)) if found]
        remedy = ": select the columns by feature_names_in_" if argument != "y" else ""
        raise ValueError(
            f"{argument}: got other columns than in the first call, {' and '.join(parts)}; "
            f"want {quoted(known)} in any order{remedy}"
        )
    return [place[name] for name in known]


def quoted(names: Iterable[Any]) -> str:
    """The first of these names, for a message."""
    names = list(names)
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(map(repr, names[:MOST_NAMES])) + more
