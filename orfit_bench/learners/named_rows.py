"""Rows whose columns may have names, read for a learner that may know names already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from orfit_bench.errors import warn
from orfit_bench.learners import validation
from orfit_bench.state.state import LearnerState
from orfit_bench.tables.columns import read_columns, refuse_named_rows
from orfit_bench.tables.integers import DOUBLE
from orfit_bench.tables.names import NamedValues, quoted
from orfit_bench.tables.single_rows import is_row_with_names, read_row

if TYPE_CHECKING:
    from orfit_bench.learners.rule import Rule


class NamedState(Protocol):
    """The state of a learner or of a fleet, or a pipeline, which knows the columns of earlier rows."""

    feature_names: tuple[str, ...]
    has_warned_of_names: bool

    @property
    def n_features(self) -> int | None:
        """Number of columns, once a chunk was seen."""

    @property
    def has_rows(self) -> bool:
        """Whether a row was learned; in a fleet, by any member."""


def read_features(
    state: NamedState | None, X: object, argument: str, dtype: np.dtype[Any] = DOUBLE
) -> tuple[Any, tuple[str, ...]]:
    """The values of X in the order of the first table, and the names known so far, these rows included.

    ValueError for an integer of a table that `dtype` does not hold. Warns, once for each learner, if the first rows had
    names and these have none, or the reverse.
    """
    known = state.feature_names if state else ()
    if type(X) is np.ndarray and not known:
        return X, known
    if not isinstance(X, NamedValues):
        refuse_named_rows(X, argument)
        X = read_columns(X, argument, known, width=unnamed_width(state), dtype=dtype)
    values, names = X
    if state is None or not state.has_rows:
        return values, known or names
    if bool(names) != bool(known) and not state.has_warned_of_names:
        state.has_warned_of_names = True
        has, had = ("no names of columns", "had") if known else ("names of columns", "had none")
        order = f": they are taken in the order {quoted(known)}" if known else ", so their order cannot be checked"
        warn(f"{argument} has {has}, but the first rows {had}{order}", UserWarning)
    return values, known


def unnamed_width(state: NamedState | None) -> int | None:
    """The number of columns of earlier rows; None if there were none."""
    return state.n_features if state and state.has_rows else None


def read_one_row(state: LearnerState | None, x: object, rule: Rule) -> NamedValues:
    """A row x (d,), which may be a mapping, as rows (1, d), not yet validated."""
    values, names = read_row(x, state.feature_names if state else (), unnamed_width(state), dtype=rule.dtype)
    return NamedValues(validation.one_row(values, rule.namespace), names)


def read_one_target(state: LearnerState | None, y: object, rule: Rule) -> NamedValues:
    """The target of a row, a number or (c,), which may be a mapping, as targets (1,) or (1, c), not yet validated."""
    sizes = state.sizes if state and state.has_rows else None
    known = sizes and (() if sizes.y_is_1d else (sizes.n_outputs,))
    if isinstance(y, float) or (not is_row_with_names(y) and not hasattr(type(y), "iloc")):
        return NamedValues(validation.one_target(y, rule.namespace, known))
    values, names = read_row(y, state.target_names if state else (), sizes and sizes.n_outputs, "y", rule.dtype)
    return NamedValues(validation.one_target(values, rule.namespace, known), names)
