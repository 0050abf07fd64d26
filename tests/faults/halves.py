"""Steps of rows of several scales, of which only a part is learned."""

from __future__ import annotations

from typing import Any

from faults.fault import fault
from faults.reference_learner import BATCHES, KernelModule, block, plain


def _learn_half(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    learned, B = plain(s, X, Y, p, out), p.batch_size
    if learned < len(X):
        half = slice(learned + B // 2, learned + B)
        block(s, X[half], Y[half], p)
    return learned


def _step_half(s: Any, A: Any, Y: Any, p: Any) -> bool:
    return block(s, A, Y, p) or (block(s, A[len(A) // 2 :], Y[len(A) // 2 :], p) and False)


fault(
    "half_of_a_large_step_is_learned",
    "of a step that would overflow, the second half is learned",
    "overflowing_step_is_refused",
    "steps_with_extreme_rows",
    "refused_rows_leave_no_trace",
    method=BATCHES,
    kernel=KernelModule(learn=_learn_half, step=_step_half),
)
