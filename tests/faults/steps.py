"""Kernels with wrong steps, or with steps that depend on the chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
from helpers.methods import change

from faults.fault import fault, faulty_learn
from faults.reference_learner import (
    BATCHES,
    LINEAR_LMS,
    LMS,
    METHODS,
    OJA,
    KernelModule,
    block,
    one_by_one,
    plain,
    reference_kernel,
    reference_with,
)

# ------------------------------------------------------------------------------------------ the wrong numbers


def _swapped_at_thirteen(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    B = p.batch_size
    for i in range(0, len(X), B):
        t = p.t + i // B
        if t == 14:
            s.basis[:2] = s.basis[1::-1]
        if not reference_kernel("oja").learn(s, X[i : i + B], Y[i : i + B], p.at(i // B), None):
            return i
        if t == 13:
            s.basis[:2] = s.basis[1::-1]
    return len(X)


fault(
    "temporarily_wrong",
    "two weights are swapped after row 13 and swapped back before row 14",
    "agrees_with_reference",
    "backends_take_turns",
    method=OJA,
    kernel=reference_with("oja", learn=_swapped_at_thirteen),
    reference=reference_kernel("oja"),
)


def _first_component(s: Any, A: Any, Y: Any, p: Any) -> bool:
    c = s.basis[:, :1]
    with np.errstate(all="ignore"):
        c = c + p.step_size[0] / len(A) * (A.conj().T @ (A @ c))
        size = np.linalg.norm(c)
    if not np.isfinite(size):
        return False
    s.basis[...] = np.hstack([c / size, np.zeros_like(s.basis[:, 1:])])
    return True


def _without_second_component(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    B = p.batch_size
    steps = range(0, len(X), B)
    return next((i for i in steps if not _first_component(s, X[i : i + B], Y, p.at(i // B))), len(X))


fault(
    "second_component",
    "the second component is zero",
    "no_component_stays_zero",
    "rows_have_a_coordinate_for_each_component",
    method=OJA,
    kernel=KernelModule(learn=_without_second_component, step=_first_component),
)


def _wrong_beyond_400_features(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    learned = reference_kernel("oja").learn(s, X, Y, p, out)
    if X.shape[1] > 400 and p.t:
        s.basis[:1] *= -1
    return int(learned)


fault(
    "wrong_for_many_features",
    "the algorithm for more than 400 features is wrong",
    "agrees_with_reference_at_many_features",
    "features_may_be_permuted",
    method=OJA,
    kernel=reference_with("oja", learn=_wrong_beyond_400_features),
    reference=reference_kernel("oja"),
)

fault(
    "doubled_step",
    "every step is twice as large as declared",
    "a_long_call_with_many_outputs",
    "agrees_with_batch_solution",
    "first_step_equals_batch_solution",
    "law_closed_form",
    "thousands_of_rows",
    method=change(
        LINEAR_LMS, theory={"laws": tuple(law for law in METHODS["lms"].theory.laws if law.name == "closed_form")}
    ),
    kernel=reference_with(
        "lms", learn=lambda s, X, Y, p, out: reference_kernel("lms").learn(s, X, Y, _doubled(p), out)
    ),
)


def _doubled(p: Any) -> Any:
    return p._replace(step_size=2 * p.step_size)


fault(
    "single_gradient_is_learned_twice",
    "a block of one gradient is learned twice; larger blocks are correct",
    "linear_model_agrees_with_rows",
    "idle_outputs_change_nothing",
    method=LMS,
    kernel=reference_with(
        "lms", update=lambda s, J, E, p: reference_kernel("lms").update(s, J, (2 if len(J) == 1 else 1) * E, p)
    ),
    reference=reference_kernel("lms"),
)

fault(
    "two_gradients_are_learned_twice",
    "a block of two gradients is learned twice; other blocks are correct",
    "separate_gradients_agree_with_shared",
    "idle_outputs_change_nothing",
    method=LMS,
    kernel=reference_with(
        "lms", update=lambda s, J, E, p: reference_kernel("lms").update(s, J, (2 if len(J) == 2 else 1) * E, p)
    ),
)

# ------------------------------------------------------------------------------------------ chunks and steps


@faulty_learn("any_chunking", "predicts_before_each_step", "predictions_do_not_know_later_rows")
def a_block_of_twelve_is_read_backwards(s, X, Y, p, out):
    """Later chunks of twelve rows are learned in reverse order."""
    if len(X) == 12 and p.t > 1:
        return plain(s, X[::-1], Y[::-1], p, None if out is None else out[::-1])
    return plain(s, X, Y, p, out)


@faulty_learn("any_chunking", "a_long_call_with_many_outputs")
def calls_of_full_blocks_are_short(s, X, Y, p, out):
    """The first row of a call of 64 rows, or of a multiple of 64, is 1 % too short."""
    if len(X) and len(X) % 64 == 0:
        X = X.copy()
        X[0] *= X.dtype.type(0.99)
    return plain(s, X, Y, p, out)


def _skips_single_rows(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    return 1 if len(X) == 1 and p.t > 10 else int(reference_kernel("oja").learn(s, X, Y, p, out))


fault(
    "late_single_rows_are_skipped",
    "after the tenth step a chunk of one row is not learned",
    "row_by_row",
    "random_chunking",
    method=OJA,
    kernel=reference_with("oja", learn=_skips_single_rows),
)


def _nothing_asked(s: Any, X: Any, settings: Any) -> Any:
    if not len(X):
        s.w[...] = np.nextafter(s.w, 0)
    return X @ s.w


fault(
    "empty_prediction_changes_weights",
    "predicting no rows changes the weights by rounding",
    "empty_chunk_changes_nothing",
    "any_order_of_operations",
    "incomplete_batch_is_pending",
    "overflowing_step_is_refused",
    method=change(BATCHES, state={"predict": _nothing_asked}),
)


@faulty_learn("predicts_before_each_step", "predictions_do_not_know_later_rows")
def predicts_after_the_step(s, X, Y, p, out):
    """The a-priori prediction is computed after the step."""
    n = 0
    for i, _ in one_by_one(plain, s, X, Y, p, None):
        if out is not None:
            out[i] = X[i] @ s.w
        n += 1
    return n


fault(
    "step_moves_twice",
    "`step` moves the weights twice as far as `learn`",
    "batch_is_one_step",
    "step_is_a_batch_of_its_size",
    method=BATCHES,
    kernel=KernelModule(learn=plain, step=lambda s, A, Y, p: block(s, A, Y, p) and block(s, A, Y, p)),
)


# ------------------------------------------------------------------------------------------ smoothing

OF_SMOOTHING = tuple(law for law in METHODS["kalman"].theory.laws if "smoothing" in law.name)
KALMAN = change(METHODS["kalman"], theory={"laws": OF_SMOOTHING}, kernel={"models": False}, examples=())


def _off_before_the_last(F: Any, m_pred: Any, P_pred: Any, m: Any, *rest: Any) -> None:
    reference_kernel("kalman").rts_smooth(F, m_pred, P_pred, m, *rest)
    m[:-1] *= 1.001


def _off_at_the_last(F: Any, m_pred: Any, P_pred: Any, m: Any, *rest: Any) -> None:
    m[-1] *= 1.001
    reference_kernel("kalman").rts_smooth(F, m_pred, P_pred, m, *rest)


fault(
    "smoothed_means_are_wrong",
    "all smoothed means but the last are wrong",
    "missing_rows_at_the_end_change_no_smoothed_state",
    "smoothing_agrees_with_reference",
    "law_noise_free_smoothing",
    "law_smoothing_keeps_exact_directions",
    method=KALMAN,
    kernel=reference_with("kalman", rts_smooth=_off_before_the_last),
    reference=reference_kernel("kalman"),
)
fault(
    "last_smoothed_mean_is_wrong",
    "the last smoothed mean differs from that of the filter",
    "missing_rows_at_the_end_change_no_smoothed_state",
    "last_smoothed_state_is_filtered",
    "law_noise_free_smoothing",
    "law_smoothing_keeps_exact_directions",
    method=KALMAN,
    kernel=reference_with("kalman", rts_smooth=_off_at_the_last),
)


def _stops_after_a_thousand_steps(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    known = max(0, min(len(X), 1001 - p.t))
    learned = int(reference_kernel("rls").learn(s, X[:known], Y[:known], p, None if out is None else out[:known]))
    if learned < known:
        return learned
    if out is not None:
        out[known:] = X[known:] @ s.w
    return len(X)


fault(
    "stops_after_a_thousand_steps",
    "rows after the first thousand steps are counted, but not learned",
    "thousands_of_rows",
    "a_long_call_with_many_outputs",
    method=change(METHODS["rls"], theory={"laws": (), "inverse_gram": None}),
    kernel=reference_with("rls", learn=_stops_after_a_thousand_steps),
)
