"""Faults with several outputs, and with the rows of a step: their order, and missing ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from helpers.methods import change

from faults.fault import fault
from faults.fleets import WARNS, marks
from faults.reference_learner import (
    BATCHES,
    LINEAR_LMS,
    METHODS,
    PLAIN,
    PLAIN_KERNEL,
    KernelModule,
    block,
    plain,
    reference_kernel,
    reference_with,
)
from orfit_bench.catalogue.laws.moving_states import blocks_of_a_moving_state
from orfit_bench.catalogue.laws.smoothing import smoothed_random_walk
from orfit_bench.spec import WeightCovariance
from orfit_bench_numpy import _rts_smoother as smoother

# ---------------------------------------------------------------------- outputs


def _with_shorter_steps(first: int, share: float) -> KernelModule:
    """A kernel whose outputs, starting with the given one, move by only a share of each step."""

    def learn(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
        for i in range(len(X)):
            row = slice(i, i + 1)
            f = X[row] @ s.w
            if out is not None:
                out[row] = f
            E = Y[row] - f
            E[:, first:] *= share
            if not block(s, X[row], f + E, p):
                return i
        return len(X)

    return KernelModule(learn=learn)


fault(
    "third_output",
    "the third output learns by half of each step",
    "outputs_may_be_permuted",
    "equal_outputs_are_learned_equally",
    kernel=_with_shorter_steps(2, 0.5),
)


fault(
    "fourth_output",
    "outputs from the fourth on learn by steps that are 1 % too short",
    "outputs_may_be_permuted",
    "equal_outputs_are_learned_equally",
    kernel=_with_shorter_steps(3, 0.99),
)


def _short_for_three_to_five(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    return (_with_shorter_steps(2, 0.99).learn if 3 <= Y.shape[1] <= 5 else plain)(s, X, Y, p, out)


fault(
    "three_to_five_outputs",
    "with three to five outputs, those from the third on learn by steps that are 1 % too short",
    "outputs_may_be_permuted",
    "equal_outputs_are_learned_equally",
    kernel=KernelModule(learn=_short_for_three_to_five),
)


CLASSES = change(METHODS["softmax"], theory={"laws": ()})


def _short_steps_of_late_classes(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    for i in range(0, len(X), p.batch_size):
        step, before = slice(i, i + p.batch_size), s.w[:, 3:].copy()
        if not reference_kernel("softmax").learn(s, X[step], Y[step], p.at(i), None if out is None else out[step]):
            return i
        s.w[:, 3:] = before + 0.99 * (s.w[:, 3:] - before)
    return len(X)


fault(
    "fourth_class",
    "classes from the fourth on learn by steps that are 1 % too short",
    "outputs_may_be_permuted",
    "a_long_call_with_many_outputs",
    method=CLASSES,
    kernel=reference_with("softmax", learn=_short_steps_of_late_classes),
)


def _long_call(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    n = plain(s, X[:1000], Y[:1000], p, None if out is None else out[:1000])
    if n == len(X) or n < 1000:
        return n
    rest = plain(s, 0.99 * X[1000:], Y[1000:], p.at(1000), None if out is None else out[1000:])
    return n + rest


fault(
    "long_call",
    "rows after the thousandth of a call are 1 % too short",
    "any_chunking",
    "a_long_call_with_many_outputs",
    "thousands_of_rows",
    kernel=KernelModule(learn=_long_call),
    reference=PLAIN_KERNEL,
)


def _skips_zeros(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    for i in range(len(X)):
        row = slice(i, i + 1)
        if Y[row].any():
            if not plain(s, X[row], Y[row], p, None if out is None else out[row]):
                return i
        elif out is not None:
            out[row] = X[row] @ s.w
    return len(X)


fault(
    "zeros_skipped",
    "rows with targets of zero change nothing",
    "targets_of_zero_are_learned",
    "target_of_zero_is_approached",
    kernel=KernelModule(learn=_skips_zeros),
)


def _mixes_outputs(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    for i in range(len(X)):
        row = slice(i, i + 1)
        f = X[row] @ s.w
        if out is not None:
            out[row] = f
        E = (Y[row] - f) / 2
        if not reference_kernel("lms").learn(s, X[row], f + E + E.mean(axis=1, keepdims=True), p.at(i), None):
            return i
    return len(X)


fault(
    "errors_of_outputs_are_mixed",
    "half of the error of an output is the mean of the errors of all outputs",
    "a_long_call_with_many_outputs",
    "output_of_zeros_changes_nothing",
    "agrees_with_batch_solution",
    "first_step_equals_batch_solution",
    method=change(LINEAR_LMS, kernel={"blocks": False}),
    kernel=KernelModule(learn=_mixes_outputs),
)


def _marks_several(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    learned = marks(s, X, Y, p, out)
    if Y.shape[1] > 1 and abs(s.w).max(initial=0) > 1:
        s.lost[...] = 1
    return learned


fault(
    "several_outputs_are_marked_too_early",
    "with several outputs, the mark of large weights is made for those of a thousandth of the size",
    "a_long_call_with_many_outputs",
    "outputs_do_not_change_what_is_marked",
    "agrees_with_reference_at_many_features",
    "more_rows_than_features",
    method=WARNS,
    kernel=KernelModule(learn=_marks_several, step=block),
    reference=KernelModule(learn=marks, step=block),
)

# ---------------------------------------------------------------------- steps of several rows


def _last_row_counts_twice(s: Any, A: Any, Y: Any, p: Any) -> bool:
    twice = [*range(len(A)), len(A) - 1] if len(A) > 2 else [*range(len(A))]
    return block(s, A[twice], Y[twice], p)


fault(
    "last_row_of_a_step_counts_twice",
    "the last row of a step of three rows or more counts twice",
    "rows_of_a_step_may_be_permuted",
    "step_is_a_batch_of_its_size",
    "batch_is_one_step",
    method=BATCHES,
    kernel=KernelModule(learn=plain, step=_last_row_counts_twice),
)


def _takes_missing_for_predicted(s: Any, A: Any, Y: Any, p: Any) -> bool:
    if len(A) > 1:
        Y = np.where(np.isnan(Y), A @ s.mean, Y)
    return bool(reference_kernel("kalman").step(s, A, Y, p))


fault(
    "missing_rows_of_a_step_count",
    "in a step of several rows, what is missing is taken for what was predicted",
    "missing_rows_of_a_step_are_left_out",
    "law_blocks_of_a_moving_state",
    method=change(
        METHODS["kalman"],
        theory={"laws": tuple(law for law in METHODS["kalman"].theory.laws if law.check is blocks_of_a_moving_state)},
    ),
    kernel=reference_with("kalman", step=_takes_missing_for_predicted),
)


def _rests_too_often(F: Any, m_pred: Any, P_pred: Any, m: Any, P: Any, Q: Any, scale: Any) -> None:
    for j in range(len(F) - 1, 0, -1):
        if np.array_equal(P_pred[j], P[j]) and np.array_equal(F[j], np.eye(len(F[j]))):
            P[j - 1], m[j - 1] = P[j], m[j] - (m_pred[j] - m[j - 1])
        else:
            smoother.rts_smooth(*(a[j - 1 : j + 1] for a in (F, m_pred, P_pred, m, P, Q)))


fault(
    "unseen_states_are_taken_for_unmoved",
    "the smoother takes a state of which nothing was seen for one to which nothing was added",
    "missing_rows_at_the_end_change_no_smoothed_state",
    "law_smoothed_random_walk",
    method=change(
        METHODS["kalman"],
        theory={"laws": tuple(law for law in METHODS["kalman"].theory.laws if law.check is smoothed_random_walk)},
    ),
    kernel=reference_with("kalman", rts_smooth=_rests_too_often),
)


# ---------------------------------------------------------------------- predictions


def _forty_rows(s: Any, X: Any, settings: Any) -> Any:
    found = X @ s.w
    found[40:] = 0
    return found


fault(
    "forty_rows_are_predicted",
    "predict returns zeros after the fortieth row of a call",
    "rows_are_predicted_one_by_one",
    "a_long_call_with_many_outputs",
    method=change(PLAIN, state={"predict": _forty_rows}),
)
fault(
    "variances_of_another_scale",
    "the declared covariance of the weights is four times too large",
    "standard_deviations_match_the_next_step",
    "covariances_match_the_next_step",
    method=change(
        METHODS["ridge"],
        state={"covariance": WeightCovariance(lambda settings, steps: 4.0, right_side="moment")},
        theory={"laws": ()},
    ),
    kernel=reference_kernel("ridge"),
)
