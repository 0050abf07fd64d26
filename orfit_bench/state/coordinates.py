"""Changes of the coordinates of rows: a linear model with an intercept predicts the same before and after.

Rows are [x, 1], their last column that of the intercept. Shapes: X (n, p) rows, w (p, r), P (p, p), M (p, p).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.spec import Field
from orfit_bench.spec.merge import Side
from orfit_bench.state.merging import Fields, in_dtype, placed, start_of, wide, with_derived
from orfit_bench.state.state import LearnerState, StateRule

Array = np.ndarray[Any, Any]


class Change(NamedTuple):
    """Rows [x, 1] become [x, 1] M = [scale * x + shift, 1]; each product costs p operations a row."""

    scale: Array
    shift: Array

    def times(self, A: Array) -> Array:
        """A M for A (k, p)."""
        return np.hstack([A[:, :-1] * self.scale + A[:, -1:] * self.shift, A[:, -1:]])

    def solve(self, A: Array) -> Array:
        """M^-1 A for A (p, k)."""
        top = A[:-1] / self.scale[:, None]
        return np.vstack([top, A[-1:] - self.shift @ top])

    def adjoint_times(self, A: Array) -> Array:
        """M^H A for A (p, k)."""
        return self.times(A.conj().T).conj().T


def _basis(change: Change, U: Array) -> Array:
    """The basis of the same rows, which are combinations of the conjugates of the rows of U."""
    return np.linalg.qr(change.times(U.conj()).conj().T)[0].T


def _covariance(change: Change, P: Array) -> Array:
    new = change.solve(change.solve(P).conj().T)
    return (new + new.conj().T) / 2


def _information(change: Change, lower: Array) -> Array:
    L = np.tril(lower) + np.tril(lower, -1).conj().T
    return np.tril(change.adjoint_times(change.times(L)))


def _covariance_root(change: Change, S: Array) -> Array:
    return _triangular(change.solve(S).conj().T).conj().T


def _triangular(A: Array) -> Array:
    """The upper triangular R with R'R = A'A and a diagonal that is not negative."""
    R: Any = np.linalg.qr(A, mode="r")
    size = np.abs(diagonal := np.diagonal(R))
    return np.triu(R * np.divide(size, diagonal, out=np.ones_like(diagonal), where=size > 0)[:, None])


RULES: dict[str, Callable[[Change, Array], Array]] = {
    "rows": lambda change, A: change.times(A),
    "basis": _basis,
    "weights": lambda change, w: change.solve(w),
    "moment": lambda change, m: change.adjoint_times(m),
    "covariance": _covariance,
    "covariance_root": _covariance_root,
    "variances": lambda change, v: np.diagonal(_covariance(change, np.diag(v))).copy(),
    "information": _information,
    "information_root": lambda change, R: _triangular(change.times(R)),
}
"""The changes of fields, by the roles that they declare."""


def refusal(rule: StateRule) -> str:
    """Why states of a rule cannot be expressed in other coordinates; empty if they can."""
    method = rule.method
    if not rule.is_linear:
        return "on a nonlinear model, no change of the weights balances a change of the rows"
    unknown = [f.name for f in method.state.fields_under(rule.settings) if _depends(f) and not f.role]
    if unknown:
        return (
            f"the field {unknown[0]!r} of {method.name} has no role, by which it would follow the coordinates of rows"
        )
    how = method.combine.merge
    if how and how.kind == "exact" and (reason := how.refuses(rule.settings, rule.is_linear)):
        return reason
    return ""


def _depends(f: Field) -> bool:
    return bool({"parameter", "feature"} & set(f.dims))


def fields_in(rule: StateRule, fields: Fields, change: Change) -> Fields:
    """The fields of a state, in host memory, for rows in other coordinates."""
    roles = {f.name: f.role for f in rule.method.state.fields if _depends(f)}
    return {name: RULES[roles[name]](change, a) if name in roles else a for name, a in fields.items()}


def expressed(rule: StateRule, state: LearnerState, change: Change) -> LearnerState:
    """A new state that predicts for rows in other coordinates what this one does for the rows before the change."""
    fields = wide(rule.layout(state.sizes).arrays(state.arrays))
    with np.errstate(all="ignore"):  # infinite numbers are refused by `placed`
        new = placed(rule, state, in_dtype(rule, fields_in(rule, fields, change)))
    return replace(new, pending=_pending(rule, state, change), has_warned=state.has_warned)


def _pending(rule: StateRule, state: LearnerState, change: Change) -> Any:
    waiting = rule.no_rows(state.sizes)
    if not state.pending.count:
        return waiting
    X, Y = state.pending.concatenate()
    rows = change.times(np.asarray(rule.backend.asnumpy(X), np.result_type(rule.dtype, float)))
    return waiting.with_rows(rule.backend.asarray(rows.astype(rule.dtype)), Y)


def with_new_prior(rule: StateRule, state: LearnerState, change: Change, to: Change | None = None) -> LearnerState:
    """The state that the same rows would have given with the prior in the coordinates after `change`, not before.

    `to` converts the coordinates of the new prior to those after `change`; by default they are the same. This is the
    merge of a learner without rows and of this one, whose prior is in the coordinates before `change`. ValueError if
    too few digits are left.
    """
    how = rule.method.combine.merge
    if how is None or how.kind != "exact" or not state.n_steps:
        return state
    start, eps = wide(start_of(rule, state.sizes)), float(np.finfo(rule.dtype).eps)
    fields, how_many = wide(rule.layout(state.sizes).arrays(state.arrays)), (state.n_steps, state.n_samples, eps)
    with np.errstate(all="ignore"):  # infinite numbers are refused by `placed`
        old, new = fields_in(rule, start, change), start if to is None else fields_in(rule, start, to)
        merged = how.rule(Side(new, old, 0, 0, eps), Side(fields, old, *how_many), rule.settings)
        found = placed(rule, state, in_dtype(rule, with_derived(rule, {**new, **merged})))
    return replace(found, has_warned=state.has_warned)
