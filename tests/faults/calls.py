"""Kernels that are wrong only in some calls: long ones without predictions, large steps, steps of three outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from helpers.methods import change

from faults.fault import fault
from faults.reference_learner import (
    BATCHES,
    LINEAR_LMS,
    PLAIN,
    KernelModule,
    block,
    plain,
    reference_kernel,
    reference_with,
)

MANY = 24
"""Number of rows of most streams of the checks."""


def _half(s: Any, learn: Callable[[], Any], columns: slice = slice(None)) -> Any:
    """Learn, and take back half of the change of these columns of the weights."""
    before = s.w.copy()
    result = learn()
    s.w[:, columns] = ((s.w + before) / 2)[:, columns]
    return result


def _long_silent_calls(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    if out is None and len(X) > MANY and Y.shape[1] > 1:
        return int(_half(s, lambda: plain(s, X, Y, p, out)))
    return plain(s, X, Y, p, out)


fault(
    "long_silent_calls",
    "of calls of many rows with several outputs and without predictions, half is learned",
    "any_chunking",
    "a_long_call_with_many_outputs",
    method=change(PLAIN, kernel={"blocks": True}),
    kernel=KernelModule(learn=_long_silent_calls, step=block),
)


def _large_steps(s: Any, A: Any, Y: Any, p: Any) -> bool:
    return bool(_half(s, lambda: block(s, A, Y, p))) if len(A) > 8 else block(s, A, Y, p)


fault(
    "large_steps",
    "of steps of more than eight rows, half is learned",
    "rows_of_a_step_may_be_permuted",
    "step_is_a_batch_of_its_size",
    method=BATCHES,
    kernel=KernelModule(learn=plain, step=_large_steps),
    reference=KernelModule(learn=plain, step=block),
)


def _third_output_of_steps(s: Any, A: Any, Y: Any, p: Any) -> bool:
    return bool(_half(s, lambda: block(s, A, Y, p), slice(2, 3))) if len(A) > 1 else block(s, A, Y, p)


fault(
    "third_output_of_steps",
    "of steps of several rows, half is learned for the third output",
    "equal_outputs_are_learned_equally",
    "outputs_may_be_permuted",
    method=change(PLAIN, kernel={"blocks": True}),
    kernel=KernelModule(learn=plain, step=_third_output_of_steps),
)


def _steps_of_first_rows(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    steps = np.array(p.step_size)
    steps[4:] = steps[:5][-1]
    return int(reference_kernel("lms").learn(s, X, Y, p._replace(step_size=steps), out))


fault(
    "later_steps_of_a_call",
    "from the fifth row of a call on, the step size stays the same",
    "agrees_with_batch_solution",
    "any_chunking",
    "constant_columns",
    "features_may_be_permuted",
    "more_features_than_rows",
    "more_rows_than_features",
    "one_feature",
    "predicts_before_each_step",
    "repeated_rows",
    "row_by_row",
    "rows_of_zeros",
    "sparse_rows_are_learned_like_dense_rows",
    "sparse_rows_in_several_calls",
    method=LINEAR_LMS,
    kernel=reference_with("lms", learn=_steps_of_first_rows),
)
