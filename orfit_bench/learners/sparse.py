"""Sparse rows, learned in the columns that are not zero.

If a method changes nothing where a row is zero, a few rows are learned in the columns in which one of them is not zero,
and the other columns stay unchanged. Kernels are not involved: they get dense rows and the part of the state that
belongs to these columns.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple, TypeGuard

import numpy as np

from orfit_bench.learners.conversion import kinds_for, refuse_rounded
from orfit_bench.learners.function_results import rows_learned
from orfit_bench.learners.rule import Rule, marked_if_interrupted
from orfit_bench.learners.sparse_format import SparseRows, check_format
from orfit_bench.learners.validation import not_finite
from orfit_bench.spec.backend import Array
from orfit_bench.spec.state import Field
from orfit_bench.state.layout import StateLayout
from orfit_bench.state.state import LearnerState

CALL = 10_000
"""Number of additions that cost about as much as one call of a kernel."""
MOST_ROWS = 64
"""Largest number of rows that are learned together."""
FEW_COLUMNS = 1400
"""With fewer columns, a field (column, column) is updated as a whole."""
MANY_ENTRIES = 13
"""The same with fewer columns than this number times the entries of a row."""


def is_sparse(value: object) -> TypeGuard[SparseRows]:
    """Whether this is an array or matrix of scipy.sparse, which is not imported for it."""
    return type(value).__module__.startswith("scipy.sparse") and hasattr(value, "tocsr")


def check_compressed(value: SparseRows, name: str) -> None:
    """Raise TypeError unless the rows are compressed, the only form that has rows one after the other."""
    if value.format != "csr":
        raise TypeError(f"{name}: got a sparse array in the format {value.format}, want csr: pass {name}.tocsr()")


def validate(value: SparseRows, name: str, rule: Rule, columns: int | None) -> SparseRows:
    """The rows in compressed form and the rule's dtype; TypeError or ValueError if they cannot be learned."""
    if reason := refusal(rule):
        method = rule.method.name
        raise TypeError(f"{name}: got sparse rows, which {method} does not take: {reason}; pass {name}.toarray()")
    check_compressed(value, name)
    if value.ndim != 2 or not value.shape[1]:
        raise ValueError(f"{name}: got shape {value.shape}, want (rows, columns)")
    if columns is not None and value.shape[1] != columns:
        raise ValueError(f"{name}: got {value.shape[1]} columns, want {columns} as in the first call")
    if value.dtype.kind not in kinds_for(rule.dtype):
        raise TypeError(f"{name}: got a sparse array of dtype {value.dtype}, want real numbers")
    check_format(value, name)
    if value.dtype.kind in "iu" and value.dtype.itemsize >= np.finfo(rule.dtype).dtype.itemsize:
        refuse_rounded(value.data, f"{name}.data", rule.dtype)
    with np.errstate(over="ignore"):
        rows = value.astype(rule.dtype, copy=False)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    is_finite = np.isfinite(rows.data[: rows.nnz])
    if not is_finite.all():
        k = int(is_finite.argmin())
        row, column = int(np.searchsorted(rows.indptr, k, "right")) - 1, int(rows.indices[k])
        entry = f"{rows.data[k]} in {rule.dtype}"
        raise not_finite(name, (row, column), entry, f"row {row}, column {column}")
    return rows


def refusal(rule: Rule) -> str:
    """Why sparse rows would save nothing, or cannot be learned; empty if they can."""
    if not rule.is_linear:
        return "they are for the linear model only"
    if rule.method.kernel.needs_dense_rows is None:
        return "a row changes its state in all columns"
    if not rule.on_host:
        return f"they are learned in host memory, not on {rule.backend.name}"
    return rule.method.kernel.needs_dense_rows(rule.settings)


def learn(rule: Rule, state: LearnerState, X: SparseRows, Y: Array, predict: bool = False) -> Array | None:
    """Learn rows in compressed form as `Rule.learn` learns dense ones, equal to it up to rounding."""
    if rule.method.kernel.validate_rows and len(Y):
        no_rows = np.empty((0, X.shape[1]), rule.dtype)  # only targets are validated
        rule.method.kernel.validate_rows(rule.settings, state.n_steps, no_rows, Y, False, True)
    out = np.empty(Y.shape, rule.dtype) if predict else None
    blocks = _choose_blocks(rule, rule.layout(state.sizes), X, predict)
    with marked_if_interrupted(state):  # the blocks before the error are learned, but not counted
        for start in range(0, len(Y), blocks.rows):
            block = slice(start, min(start + blocks.rows, len(Y)))
            part = None if out is None else out[block]
            learned = _learn_block(rule, state, X, Y[block], block, part, blocks.all_columns)
            if learned < len(Y[block]):
                raise rule.discard_refused_step(state, start + learned)
        state.n_samples += len(Y)
    return out


class Blocks(NamedTuple):
    """How sparse rows are learned."""

    rows: int
    """Number of rows that are learned together."""
    all_columns: bool
    """Whether they are learned in all columns, instead of those in which one of them is not zero."""


def _choose_blocks(rule: Rule, layout: StateLayout, X: SparseRows, predict: bool) -> Blocks:
    """The cheapest blocks.

    If there is a field (column, column), all columns are learned if they are few, if rows have many entries, or if
    predictions solve for the weights.
    """
    entries, d = max(1, -(-X.nnz // max(1, X.shape[0]))), X.shape[1]  # entries of a row
    if max(map(_axes_of_columns, layout.fields)) < 2:
        return Blocks(min(MOST_ROWS, max(1, math.isqrt(CALL // entries))), all_columns=False)
    if d < FEW_COLUMNS or MANY_ENTRIES * entries > d or (predict and rule.method.state.solution):
        return Blocks(MOST_ROWS, all_columns=True)
    return Blocks(min(MOST_ROWS, max(1, math.isqrt(CALL) // entries)), all_columns=False)


def _axes_of_columns(field: Field) -> int:
    """The number of leading axes of a field that have an entry for each column of the rows."""
    return len(list(itertools.takewhile(("parameter", "feature").__contains__, field.dims)))


def _learn_block(
    rule: Rule, state: LearnerState, X: SparseRows, Y: Array, block: slice, out: Array | None, all_columns: bool
) -> int:
    """Learn a few rows in the columns where they are not zero, or in all; returns how many were learned."""
    layout = rule.layout(state.sizes)
    part, places = state.arrays, {}
    if all_columns:
        dense = X[block].toarray()
    else:
        dense, columns = _columns_in_use(X, block)
        places = {f.name: np.ix_(*[columns] * _axes_of_columns(f)) for f in layout.fields if _axes_of_columns(f)}
        part = part._replace(**{name: rule.backend.asarray(getattr(part, name)[at]) for name, at in places.items()})
    with np.errstate(all="ignore"):  # kernels return fewer rows instead
        p = rule.step_parameters(state, len(Y), 1, layout.sizes["gradients"], None)
        learned = rows_learned(rule.kernel.learn(part, dense, Y, p, out), rule.kernel.learn)
    for name, at in places.items():
        getattr(state.arrays, name)[at] = getattr(part, name)
    state.n_steps += learned
    return learned


def _columns_in_use(X: SparseRows, block: slice) -> tuple[Array, Array]:
    """Rows in the columns where one of them is not zero, and these columns, ascending."""
    used = slice(X.indptr[block.start], X.indptr[block.stop])
    columns, place = np.unique(X.indices[used], return_inverse=True)
    if not len(columns):
        columns = np.zeros(1, X.indices.dtype)  # rows of zeros have a column too
    rows = np.repeat(np.arange(block.stop - block.start), np.diff(X.indptr[block.start : block.stop + 1]))
    dense = np.zeros((block.stop - block.start, len(columns)), X.data.dtype)
    dense[rows, place] = X.data[used]
    return dense, columns
