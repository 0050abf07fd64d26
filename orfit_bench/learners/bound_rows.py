"""Learning by functions that a kernel has bound to the arrays of a state, with few checks per call.

A bound function accepts only NumPy rows and numbers of the learner's dtype. For other input, and for rows that the
kernel refuses, it returns False or None; the general path then converts the input or raises the error. The code of
`take` and `marked_if_interrupted` is repeated here, since a context manager takes a microsecond, twice the time of a
row with few features.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.spec.backend import Array
from orfit_bench.state.state import Bound, LearnerState
from orfit_bench.tables.integers import largest_safe

if TYPE_CHECKING:
    from orfit_bench.learners.parameters import SetStep
    from orfit_bench.learners.rule import Rule

FLOATS = (float, np.floating)
WITHIN_HOURS = 2**32
"""Number of single-row calls that takes more than an hour; longer sums are checked at the next chunk."""


def is_safe_integer(y: object, safe: int) -> bool:
    """Whether y is an integer within +-`safe`, which the dtype holds; the general path checks others."""
    is_integer = type(y) is int or (isinstance(y, np.integer) and not isinstance(y, np.timedelta64))
    return is_integer and bool(-safe <= y <= safe)  # type: ignore[operator]  # of an integer


def bind(rule: Rule, state: LearnerState, p: Any) -> bool:
    """Bind the functions that the kernel offers for rows without or with one target.

    p is None if it differs between rows by more than t. Returns whether the kernel offers a function for these
    settings.
    """
    if (known := state.bound_to_names) and known.arrays is state.arrays:
        state.bound = None if state.needs_names else known
        return True
    state.bound_to_names, set_step = None, None
    if p is None:
        changing = rule.changing_parameters(state.sizes)
        if changing is None:
            return False
        p, set_step = changing
    kernel = rule.kernel_for(state.sizes, None)
    make_sample, make_row, make_rows, make_label = (
        getattr(kernel, f"bind_{name}", None) for name in ("sample", "row", "rows", "label")
    )
    if make_sample and (learn_sample := make_sample(state.arrays, p)):
        state.bound_to_names = Bound(state.arrays, _bind_sample(rule, state, learn_sample, set_step), _learn_no_rows)
    if make_row and (learn_row := make_row(state.arrays, p)):
        record = _make_record(rule, state)
        one = _bind_row(rule, state, learn_row, record, set_step)
        learn_rows = make_rows(state.arrays, p) if make_rows and not set_step else None
        state.bound_to_names = Bound(state.arrays, one, _bind_rows(rule, state, one, learn_rows, record))
    if make_label and (learn_label := make_label(state.arrays, p)):
        one = _bind_label(rule, state, learn_label, set_step)
        state.bound_to_names = Bound(state.arrays, one, _learn_no_rows)
    state.bound = None if state.needs_names else state.bound_to_names
    return state.bound_to_names is not None


def _make_record(rule: Rule, state: LearnerState) -> Callable[[LearnerState], None] | None:
    """A function that records, after rows, that the state has moved or lost precision; None if neither can happen."""
    warning, arrays = rule.method.state.warning, state.arrays
    moved = arrays.moved if rule.is_dynamic(state.sizes) else None
    lost = getattr(arrays, warning.field, None) if warning else None
    if moved is None and lost is None:
        return None

    longest = rule.longest_sum
    is_near = longest < WITHIN_HOURS

    def record(state: LearnerState) -> None:
        nonlocal moved
        if (flag := moved) is not None:
            flag[...] = 1
            moved = None  # nothing in these arrays sets it back
        if lost is not None and not state.has_warned and (lost or (is_near and state.n_steps > longest)):
            rule.warn_of_lost_precision(state)

    return record


def _learn_no_rows(state: LearnerState, X: object, y: object, predict: bool) -> Array | None:
    """Leave all chunks to the general path."""
    return None


def _bind_sample(
    rule: Rule, state: LearnerState, learn: Callable[[Array, int], int], set_step: SetStep | None
) -> Callable[[LearnerState, object, object], bool]:
    """`Bound.learn_row` for rows without targets, from the function that `bind_sample` of the kernel returned."""
    one = _bind_row(rule, state, lambda x, t: learn(x, int(t)), None, set_step)  # the step in the place of a target
    return lambda state, x, _: one(state, x, state.n_steps + 1)


def _bind_label(
    rule: Rule, state: LearnerState, learn: Callable[[Array, int], int], set_step: SetStep | None
) -> Callable[[LearnerState, object, object], bool]:
    """`Bound.learn_row` for labels of known classes, from the function that `bind_label` of the kernel returned."""
    one = _bind_row(rule, state, lambda x, place: learn(x, int(place)), _make_record(rule, state), set_step)
    places, kind = {label: float(place) for place, label in enumerate(state.classes)}, type(state.classes[0])

    def learn_label(state: LearnerState, x: object, y: object) -> bool:
        label = y.item() if isinstance(y, np.generic) else y
        if type(label) is not kind or (place := places.get(label)) is None:
            return False
        return one(state, x, place)  # the place of the class in the place of a target

    return learn_label


def _bind_row(
    rule: Rule,
    state: LearnerState,
    learn: Callable[[Array, float], int],
    record: Callable[[LearnerState], None] | None,
    set_step: SetStep | None,
) -> Callable[[LearnerState, object, object], bool]:
    """`Bound.learn_row`, from the function that `bind_row` of the kernel returned."""
    arrays, dtype, d, strides, ndarray = (
        state.arrays,
        rule.dtype,
        state.sizes.n_features,
        (rule.dtype.itemsize,),
        np.ndarray,
    )
    permit, give_permit, safe = state.permit, state.permit.append, largest_safe(rule.dtype)

    def learn_row(state: LearnerState, x: object, y: object) -> bool:
        if type(y) is not float and not isinstance(y, FLOATS):
            if not is_safe_integer(y, safe):
                return False
            y = float(y)  # type: ignore[arg-type]  # of an integer
        if (
            type(x) is not ndarray
            or x.dtype is not dtype  # equal dtypes of NumPy are one object, as a rule
            or x.strides != strides  # of one dimension, and contiguous
            or len(x) != d
            or state.arrays is not arrays
            or state.interrupted
        ):
            return False
        try:
            del permit[0]
        except IndexError:  # another thread learns
            return False
        try:
            if state.permit is not permit:  # the learner has another state now
                return False
            if set_step:
                set_step(state.n_steps + 1)
            try:
                if learn(x, y) != 1:  # type: ignore[arg-type]  # NumPy's numbers are as good
                    return False
                state.n_steps += 1
                state.n_samples += 1
            except BaseException as error:
                state.interrupted = type(error).__name__
                raise
        finally:
            give_permit(None)
        if record:
            record(state)
        return True

    return learn_row


def _bind_rows(
    rule: Rule,
    state: LearnerState,
    one: Callable[[LearnerState, object, object], bool],
    learn: Callable[[Array, Array, Array], int] | None,
    record: Callable[[LearnerState], None] | None,
) -> Callable[[LearnerState, object, object, bool], Array | None]:
    """`Bound.learn_rows`: one row by `one`, several by `learn`, the function of `bind_rows`, if there is one."""
    arrays, dtype, d = state.arrays, rule.dtype, state.sizes.n_features
    permit, give_permit, nothing = state.permit, state.permit.append, np.empty(0, dtype)

    def learn_rows(state: LearnerState, X: object, y: object, predict: bool) -> Array | None:
        if type(X) is not np.ndarray or type(y) is not np.ndarray or y.ndim != 1:
            return None
        n = len(y)
        if n == 1 and not predict:
            return nothing if X.shape == (1, d) and one(state, X[0], y[0]) else None
        if (
            not learn
            or n < 2
            or X.dtype != dtype
            or y.dtype != dtype
            or X.shape != (n, d)
            or not (X.flags.c_contiguous and y.flags.c_contiguous)
            or state.arrays is not arrays
            or state.interrupted
        ):
            return None
        out = np.empty(n, dtype) if predict else nothing
        try:
            del permit[0]
        except IndexError:  # another thread learns
            return None
        try:
            if state.permit is not permit:  # the learner has another state now
                return None
            learned = learn(X, y, out)
            if learned < 0:
                return None
            state.n_steps += learned
            if learned == n:
                state.n_samples += n
        except BaseException as error:
            state.interrupted = type(error).__name__
            raise
        finally:
            give_permit(None)
        if learned < n:
            if record and learned:
                record(state)
            diverged = rule.discard_refused_step(state, learned)
            rule.warn_of_lost_precision(state)
            raise diverged
        if record:
            record(state)
        return out

    return learn_rows
