"""Named inputs that are given with the rows of a filter, in the order of the parameters and of the targets."""

from __future__ import annotations

from typing import Any

from orfit_bench.learners.filtering.dynamics import GivenWithRows
from orfit_bench.learners.filtering.rule import FilterRule
from orfit_bench.state.state import Sizes
from orfit_bench.tables.columns import read_columns
from orfit_bench.tables.names import checked_names, labels_of, quoted
from orfit_bench.tables.single_rows import is_row_with_names, read_row

Names = tuple[str, ...]
REMEDY = "pass {name}.to_numpy(), in the order of the {of}"


def read_inputs(
    rule: FilterRule, sizes: Sizes, features: Names, targets: Names, given: GivenWithRows, block: bool
) -> GivenWithRows:
    """The inputs given with the rows, with tables as arrays.

    Parameters
    ----------
    features, targets : tuple of str
        The names of the columns of X and y, if they are known. On the linear model, parameters are features.
    given : GivenWithRows
        The inputs as the user passed them.
    block : bool
        Whether the inputs are for one step, instead of one entry for each row.

    Raises
    ------
    ValueError
        If columns have other names, or names whose order cannot be checked.
    """
    if given.is_empty:
        return given
    noise, control = given.observation_noise, given.control
    parameters, p = (features, sizes.n_features) if rule.is_linear else ((), None)
    observed, of = ((), "rows of a step") if block else (targets, "targets")
    return GivenWithRows(
        _read_matrix(given.transition, "transition", parameters, block),
        _read_matrix(given.process_noise, "process_noise", parameters, block),
        None if noise is None else _read(noise, "observation_noise", observed, sizes.n_outputs, of),
        None if control is None else _read(control, "control", parameters, p, "parameters", block),
    )


def _read(value: Any, name: str, known: Names, width: int | None, of: str, row: bool = False) -> Any:
    """A table, or with `row` a row with names, in the order of the known names; other values are unchanged."""
    if row and is_row_with_names(value):
        found = read_row(value, known, width, name)
    else:
        found = read_columns(value, name, known, width=width)
    if found.names and not known:
        raise ValueError(
            f"{name}: got the names {quoted(found.names)}, but the {of} have none, so their order cannot be checked: "
            f"{REMEDY.format(name=name, of=of)}"
        )
    return found.values


def _read_matrix(value: Any, name: str, known: Names, block: bool) -> Any:
    """A column of numbers, or a matrix (p, p) or diagonal whose names must be in the order of the parameters.

    Other values are unchanged. Numbers (n,) that come with rows are not a diagonal: their labels are those of the rows.
    """
    if value is None or callable(value):
        return value
    found = read_columns(value, name)
    if block and getattr(value, "ndim", 2) == 1:
        kind, labels = "diagonal whose entries", [labels_of(value)]
    else:
        index = getattr(value, "index", None) if hasattr(value, "columns") else None
        kind = "matrix whose rows or columns"
        labels = [found.names, () if index is None else checked_names(list(index), name)]
    if wrong := [names for names in labels if names and names != known]:
        wanted = f"want {quoted(known)} in this order" if known else "but the parameters have none"
        raise ValueError(
            f"{name}: got a {kind} are named {quoted(wrong[0])}, {wanted}: {REMEDY.format(name=name, of='parameters')}"
        )
    return found.values
