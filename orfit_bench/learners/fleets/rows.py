"""Rows for the members of a fleet, checked and sorted by member."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orfit_bench.learners import validation
from orfit_bench.learners.computed_once import ComputedOnce
from orfit_bench.learners.conversion import convert
from orfit_bench.learners.named_rows import NamedState, read_features
from orfit_bench.learners.rule import Rule
from orfit_bench.learners.sparse import is_sparse
from orfit_bench.spec.arrays import take, to_host
from orfit_bench.spec.backend import Array
from orfit_bench.tables.columns import read_columns
from orfit_bench.tables.data_arrays import is_data_array
from orfit_bench.tables.names import NamedValues
from orfit_bench.tables.plain_values import refuse_masked
from orfit_bench.tables.row_labels import check_rows_agree

HostArray = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class FleetRows:
    """Rows X (n, d), sorted by member; those of a member keep the order of the call."""

    X: Array
    shape: tuple[int, ...]
    """The shape of the rows in the call: (N, n), or (n,) with `which`."""
    given: tuple[HostArray, HostArray] | None = None
    """`members` and `starts`, if the call has `which`."""
    order: HostArray | None = None
    """The index in the call of each row (n,); None if the order is the same."""
    names: tuple[str, ...] = ()
    """The names of the columns of X, if they are known."""
    target_names: tuple[str, ...] = ()
    """The names of the columns of y, if they are known."""

    @property
    def rows_each(self) -> int | None:
        """The number of rows of every member in X (N, n, d); None with `which`."""
        return None if self.given else self.shape[1]

    @ComputedOnce
    def members(self) -> HostArray:
        """The members that get rows (m,), in ascending order."""
        return self.given[0] if self.given else np.arange(self.shape[0])

    @ComputedOnce
    def starts(self) -> HostArray:
        """Row offsets (m + 1,): members[j] has the rows from starts[j] to before starts[j + 1]."""
        return self.given[1] if self.given else np.arange(self.shape[0] + 1) * self.shape[1]

    @ComputedOnce
    def counts(self) -> HostArray:
        """The number of rows of each of these members (m,)."""
        return np.diff(self.given[1]) if self.given else same_for_all(self.shape[1], self.shape[0])

    @property
    def places(self) -> slice | HostArray:
        """The index of these members in arrays of all members; for X (N, n, d) it is a slice, which copies nothing."""
        return self.given[0] if self.given else slice(None)

    def sort(self, a: Array) -> Array:
        """Sort values of rows (n, ...) from the order of the call to the order of X."""
        return a if self.order is None else take(a, self.order)

    def as_called(self, a: Array) -> Array:
        """Sort values of rows back to the order and shape of the call: (N, n, ...) or (n, ...)."""
        if self.order is not None:
            back = np.empty_like(a)
            back[self.order] = a
            a = back
        return a.reshape(*self.shape, *a.shape[1:])

    def row_in_call(self, j: int, k: int) -> int:
        """The row of the call, or in X[member], that is row k of members[j]."""
        if not self.given:
            return k
        i = int(self.starts[j]) + k
        return (i if self.order is None else int(self.order[i])) % self.shape[-1]  # of (N, n), the row of its member


def same_for_all(value: Any, count: int) -> HostArray:
    """A read-only array (count,) that repeats one value; for numbers seven times as fast as `np.broadcast_to`."""
    one = np.asarray(value)
    if one.size != 1 or one.dtype.hasobject:
        return np.broadcast_to(one, count)
    view = np.ndarray((count,), one.dtype, one, strides=(0,))
    view.flags.writeable = False
    return view


def read_rows(X: object, which: object, size: int, state: NamedState | None, rule: Rule, learns: bool) -> FleetRows:
    """X (N, n, d), or X (n, d) with the member of each row; TypeError or ValueError as for one learner.

    Many rows to learn are placed on a device, which checks them faster.
    """
    refuse_list_of_tables(X, "X")
    values, names = read_features(state, X, "X", rule.dtype)
    if is_sparse(values):
        raise TypeError("X: got sparse rows, which fleets do not accept: pass X.toarray(), or use single learners")
    rows = as_numbers(values, "X", rule, names=names, there=learns)
    if which is None:
        if rows.ndim != 3 or len(rows) != size:
            raise ValueError(f"X: got shape {rows.shape}, want ({size}, n, d), or (n, d) with which=")
        n, width = rows.shape[1:]
        found = FleetRows(rows.reshape(size * n, width), (size, n), names=names)
    else:
        check_rows_agree(X, which, "which")
        if rows.ndim != 2:
            raise ValueError(f"X: got shape {rows.shape}, want (rows, features) with which=")
        of = read_which(which, len(rows), size)
        order = np.argsort(of, kind="stable") if (of[1:] < of[:-1]).any() else None
        members, counts = np.unique(of, return_counts=True)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64, copy=False)
        rows = rows if order is None else take(rows, order)
        found = FleetRows(rows, (len(rows),), (members, starts), order, names)
    if state and found.X.shape[1] != state.n_features:
        raise ValueError(f"X: got {found.X.shape[1]} features, want {state.n_features} as in the first call")
    if not found.X.shape[1]:
        raise ValueError("X: got rows without features, want at least one")
    return found


def refuse_list_of_tables(value: object, name: str) -> None:
    """Raise TypeError for a table for each member, since their columns may come in different orders."""
    if isinstance(value, (list, tuple)) and any(hasattr(part, "columns") or is_data_array(part) for part in value):
        raise TypeError(
            f"{name}: got a {type(value).__name__} of tables, whose columns may come in different orders: pass one "
            f"table of all rows, pd.concat({name}) for example, with which=, the member of each row"
        )


def read_which(which: object, rows: int, size: int) -> HostArray:
    """The member of each row (n,)."""
    refuse_masked(which, "which")
    of = to_host(which)
    if of.dtype.kind not in "iu" and of.size:
        raise TypeError(f"which: got dtype {of.dtype}, want integers, the member of each row")
    if of.shape != (rows,):
        raise ValueError(f"which: got shape {of.shape}, want ({rows},), one member for each row of X")
    if of.size and not (of.min() >= 0 and of.max() < size):
        wrong = int(np.flatnonzero((of < 0) | (of >= size))[0])
        raise ValueError(f"which[{wrong}] is {of[wrong]}, want a member from 0 to {size - 1}")
    return of.astype(np.int64)


def read_target_columns(
    X: object, y: Any, which: object, known: tuple[str, ...], rule: Rule, width: int | None
) -> NamedValues:
    """The numbers of y, with the names of its outputs; y (N, n) has none, and labels of rows do not count."""
    check_rows_agree(X, y, "y", 1 if which is not None else 2)
    refuse_list_of_tables(y, "y")
    if which is not None or getattr(y, "ndim", 2) > 2:
        return read_columns(y, "y", known, rule.allows_gaps, width, rule.dtype)
    read = y.to_numpy() if is_data_array(y) else read_columns(y, "y", (), rule.allows_gaps, None, rule.dtype).values
    return NamedValues(read)


def read_targets(y: object, rows: FleetRows, rule: Rule, outputs: int | None, vector: bool) -> tuple[Array, bool]:
    """Y (n, c) sorted as the rows, and whether a target is a single number."""
    gaps, k = rule.allows_gaps, len(rows.shape)
    given = as_numbers(y, "y", rule, gaps, there=not gaps)
    if given.shape[:k] != rows.shape or given.ndim > k + 1:
        several = ", ".join([*map(str, rows.shape), "outputs"])
        raise ValueError(f"y: got shape {given.shape}, want {rows.shape} or ({several})")
    known = rows.shape if vector else (*rows.shape, outputs)
    if outputs is not None and given.shape != known:
        raise ValueError(f"y: got shape {given.shape}, want {known} as in the first call")
    given = given.reshape(len(rows.X), *given.shape[k:])
    Y, is_vector = validation.target_columns(given, "X", len(rows.X), outputs, vector)
    return rows.sort(Y), is_vector


def as_numbers(
    value: object, name: str, rule: Rule, gaps: bool = False, names: Sequence[str] = (), there: bool = False
) -> Array:
    """A C-order array with finite numbers; with `gaps` NaN is allowed. Errors name the column.

    An array on the rule's device stays there; with `there`, a large array is copied there before it is checked.
    """
    found = convert(value, name, rule.dtype, rule.namespace)
    found = rule.place_many(found) if there else found
    if validation.is_surely_finite(found):
        return found
    array = to_host(found)
    bad = np.isinf(array) if gaps else ~np.isfinite(array)
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        column = f"column {names[place[-1]]!r}; " if names else ""
        raise validation.not_finite(name, place, array[place], f"{column}{int(bad.sum())} such in all")
    return found
