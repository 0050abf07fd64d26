"""Kernels that fail for special rows: zeros, equal rows, large numbers, many or few rows or features."""

from __future__ import annotations

from typing import Any

import numpy as np
from helpers.methods import change

from faults.fault import fault, faulty_learn
from faults.reference_learner import (
    PLAIN,
    PLAIN_KERNEL,
    STEP,
    KernelModule,
    one_by_one,
    plain,
)
from orfit_bench.spec import Field

# ------------------------------------------------------------------------------------------ numbers of all kinds


@faulty_learn("float32_is_close_to_float64", "single_steps_in_float32_are_rounded_only", dtype="float32")
def a_constant_of_three_digits(s, X, Y, p, out):
    """In float32 a constant has three digits."""
    return plain(s, X, Y * Y.dtype.type(1.001 if s.w.dtype == np.float32 else 1), p, out)


@faulty_learn(
    "full_precision_is_used",
    "features_may_be_permuted",
    "predictions_scale_with_targets",
)
def single_precision_in_double(s, X, Y, p, out):
    """Steps are computed in float32 for every dtype, each output in the same way: BLAS may sum them in other orders."""
    for i in range(len(X)):
        x, y, w = X[i, :, None].astype(np.float32), Y[i].astype(np.float32), s.w.astype(np.float32)
        if out is not None:
            out[i] = X[i] @ s.w
        w = w + np.float32(STEP) * x * (y - (x * w).sum(axis=0))
        if not np.isfinite(w).all():
            return i
        s.w[...] = w
    return len(X)


@faulty_learn("learns_an_easy_stream", "the_same_row_is_approached")
def learns_the_opposite_of_each_target(s, X, Y, p, out):
    """The targets are learned with the opposite sign; the method has no law that would notice."""
    return plain(s, X, -Y, p, out)


@faulty_learn("calls_end_at_boundaries", "rows_of_zeros", "rows_of_any_scale_count", "scale_of_rows_does_not_matter")
def divides_by_the_row(s, X, Y, p, out):
    """Normalized LMS that divides by x'x, also for a row of zeros."""
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        f = x @ s.w
        if out is not None:
            out[i] = f
        w = s.w + STEP * np.outer(x, y - f) / (x @ x)
        if not np.isfinite(w).all():
            return i
        s.w[...] = w
    return len(X)


@faulty_learn("repeated_rows", "the_same_row_is_approached")
def equal_rows_are_learned_once(s, X, Y, p, out):
    """Only the first of several equal rows of a chunk is learned."""
    first = set(np.unique(X, axis=0, return_index=True)[1])
    for i in range(len(X)):
        at = slice(i, i + 1)
        if i in first:
            if not plain(s, X[at], Y[at], p, None if out is None else out[at]):
                return i
        elif out is not None:
            out[i] = X[i] @ s.w
    return len(X)


@faulty_learn("constant_columns", "predictions_do_not_know_later_rows", "the_same_row_is_approached")
def constant_columns_are_left_out(s, X, Y, p, out):
    """Columns that are constant in a chunk of more than three rows count as zeros."""
    return plain(s, X * (np.ptp(X, axis=0) > 0), Y, p, out) if len(X) > 3 else plain(s, X, Y, p, out)


@faulty_learn("huge_and_tiny_scales", "rows_of_any_scale_count", reference=PLAIN_KERNEL)
def tiny_rows_are_refused(s, X, Y, p, out):
    """A row whose square underflows is refused."""
    tiny = X.any(axis=1) & ((X * X).sum(axis=1) < np.finfo(X.dtype).tiny)
    n = int(tiny.argmax()) if tiny.any() else len(X)
    return plain(s, X[:n], Y[:n], p, out)


@faulty_learn("no_step_is_skipped_silently", "rows_of_any_scale_count")
def a_row_too_large_is_skipped(s, X, Y, p, out):
    """A row whose step would not be finite is skipped and counted as learned."""
    n = 0
    while n < len(X):
        n += plain(s, X[n:], Y[n:], p, None if out is None else out[n:]) + 1
    return len(X)


@faulty_learn(
    "overflowing_step_is_refused",
    "no_step_is_skipped_silently",
    "huge_and_tiny_scales",
    message="w holds the largest number of its dtype, cut off from infinity; refuse such a step",
)
def weights_are_cut_off(s, X, Y, p, out):
    """Weights that would not be finite become the largest number, or zero; no row is refused."""
    for i in range(len(X)):
        f = X[i] @ s.w
        if out is not None:
            out[i] = f
        s.w[...] = np.nan_to_num(s.w + STEP * np.outer(X[i], Y[i] - f))
    return len(X)


@faulty_learn("overflowing_step_is_refused", "no_step_is_skipped_silently", "refused_step_is_named")
def one_row_too_few_is_reported(s, X, Y, p, out):
    """When a row is refused, the returned number of learned rows is too small by one."""
    learned = plain(s, X, Y, p, out)
    return max(0, learned - 1) if learned < len(X) else learned


@faulty_learn("any_chunking", "thousands_of_rows", "any_number_of_steps_is_possible", "a_long_call_with_many_outputs")
def a_table_of_a_thousand_steps(s, X, Y, p, out):
    """The step sizes come from a table of a thousand entries."""
    steps = np.full(1000, STEP)
    return plain(s, X, Y, p, out) if steps[p.t - 1] else 0


@faulty_learn("hundred_thousand_rows", "any_number_of_steps_is_possible", slow=True)
def steps_are_counted_in_sixteen_bits(s, X, Y, p, out):
    """The number of the step is an int16."""
    return plain(s, X, Y, p, out) if np.int16(p.t) else 0


# ------------------------------------------------------------------------------------------ shapes


def _corrected(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    n = 0
    for _, t in one_by_one(plain, s, X, Y, p, out):
        s.correction[...] = np.divide(t, t - 1)
        n += 1
    return n


fault(
    "infinite_correction_of_one_row",
    "the state contains n / (n - 1), which is infinite after one row",
    "one_row",
    "learn_one_equals_partial_fit",
    "pickle_continues_identically",
    "calls_end_at_boundaries",
    "huge_and_tiny_scales",
    "no_step_is_skipped_silently",
    "restored_state_continues_identically",
    "saved_state_continues_identically",
    "bytes_continue_identically",
    "refused_rows_leave_no_trace",
    "growing_sums_stay_finite",
    method=change(PLAIN, state={"fields": (*PLAIN.state.fields, Field("correction", (), "n / (n - 1)"))}),
    kernel=KernelModule(learn=_corrected),
)


@faulty_learn(
    "one_feature",
    "features_of_zeros_change_nothing",
    "copy_continues_identically",
    "restored_state_continues_identically",
    "saved_state_continues_identically",
    "bytes_continue_identically",
    "pickle_continues_identically",
)
def squeezes(s, X, Y, p, out):
    """Dimensions of length one are dropped, also that of the features."""
    return plain(s, np.atleast_2d(X.squeeze()), Y, p, out)


@faulty_learn(
    "more_features_than_rows",
    "agrees_with_reference_at_many_features",
    "features_may_be_permuted",
    "features_of_zeros_change_nothing",
    reference=PLAIN_KERNEL,
)
def features_in_fives(s, X, Y, p, out):
    """Features are processed five at a time; the remainder of more than ten is omitted."""
    rest = X.shape[1] % 5 if X.shape[1] > 10 else 0
    return plain(s, np.hstack([X[:, : X.shape[1] - rest], 0 * X[:, X.shape[1] - rest :]]), Y, p, out)


@faulty_learn(
    "more_rows_than_features", "features_may_be_permuted", "features_of_zeros_change_nothing", reference=PLAIN_KERNEL
)
def four_features_at_once(s, X, Y, p, out):
    """The special case of four features uses three."""
    return plain(s, X * [1, 1, 1, 0] if X.shape[1] == 4 else X, Y, p, out)


@faulty_learn(
    "steps_from_large_states_stay_finite", "single_rows_from_large_states_stay_finite", "predictions_scale_with_targets"
)
def trusts_bounded_steps(s, X, Y, p, out):
    """Steps are bounded, but nobody checks that the weights stay finite, which they do unless they are huge."""
    bound = np.finfo(s.w.dtype).max * 2.0**-20
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        f = x @ s.w
        if out is not None:
            out[i] = f
        step = np.clip(STEP * np.outer(x, y - f), -bound, bound)
        if np.isnan(step).any() or not np.isfinite(f).all():
            return i
        s.w[...] += step
    return len(X)
