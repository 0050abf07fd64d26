"""Faults in refusals and warnings, in the code that is common to all learners."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from helpers.methods import change

from faults.fault import fault
from faults.reference_learner import (
    LINEAR_LMS,
    METHODS,
    KernelModule,
    block,
    plain,
    reference_kernel,
    reference_with,
)
from orfit_bench.learners import configuration
from orfit_bench.learners.attributes import Attributes
from orfit_bench.learners.rule import Rule
from orfit_bench.learners.single_row import SingleRow

RLS = change(METHODS["rls"], theory={"laws": ()})


def _step_without_look(self: Any, state: Any, A: Any, Y: Any, inputs: Any = None) -> None:
    self.advance(state, A, Y, A.shape[0], None, inputs, block=True)
    state.n_samples += A.shape[0]


fault(
    "steps_take_any_targets",
    "the targets of a step are not looked at",
    "invalid_shapes_are_refused",
    "invalid_targets_are_refused",
    "any_order_of_operations",
    method=change(METHODS["sgd"], theory={"laws": ()}),
    kernel=reference_kernel("sgd"),
    host=(Rule, "step", _step_without_look),
)


fault(
    "interrupted_learners_go_on",
    "a learner goes on after its kernel was interrupted",
    "interrupted_learners_refuse_calls",
    "interrupted_learn_one_ends_a_learner",
    method=LINEAR_LMS,
    kernel=reference_with("lms"),
    host=(Attributes, "_usable", lambda self: self._state),
)


def _real_part(self: Any, state: Any, x: Any) -> Any:
    if isinstance(x, np.ndarray) and x.dtype.kind == "c" and self.sizes.n_outputs == 1:
        return (x.real @ state.arrays.w)[0]
    return None


fault(
    "complex_row_is_predicted",
    "of a single row of complex numbers, the real part is predicted",
    "single_rows_are_refused_like_rows",
    "learn_one_equals_partial_fit",
    "questions_give_the_same_errors",
    method=LINEAR_LMS,
    kernel=reference_with("lms"),
    host=(SingleRow, "predict_number", _real_part),
)


def _warns_always(self: Any, state: Any) -> None:
    state.has_warned = False
    warn_of_lost_precision(self, state)


warn_of_lost_precision = Rule.warn_of_lost_precision
fault(
    "lost_precision_is_warned_of_again",
    "the warning that digits are lost is given after every row",
    "lost_precision_is_warned_of_once",
    "copies_do_not_warn_again",
    method=RLS,
    kernel=reference_kernel("rls"),
    host=(Rule, "warn_of_lost_precision", _warns_always),
)

learn_number = SingleRow.learn_number


def _learns_silently(self: Any, *arguments: Any) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return learn_number(self, *arguments)


fault(
    "learn_one_never_warns",
    "a row that is learned alone gives no warning that digits are lost",
    "lost_precision_is_warned_of_once",
    "learn_one_warns_as_partial_fit",
    method=RLS,
    kernel=reference_kernel("rls"),
    host=(SingleRow, "learn_number", _learns_silently),
)
fault(
    "unlearned_rows_are_forgotten",
    "what unlearned rows have taken from a sum of squares does not count as lost digits",
    "unlearned_digits_are_warned_of",
    "merges_remember_what_was_unlearned",
    method=change(METHODS["ridge"], theory={"laws": ()}),
    kernel=reference_kernel("ridge"),
    host=(configuration, "share_left", lambda rule, state: 1.0),
)


def _remembers(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    learned = plain(s, X, Y, p, out)
    if 4 <= learned < len(X):
        s.w[...] *= 1 + 1e-6
    return learned


fault(
    "refused_row_leaves_a_trace",
    "a row that is refused changes the weights, if it is not among the first of its call",
    "refused_rows_leave_no_trace",
    "overflowing_step_is_refused",
    kernel=KernelModule(learn=_remembers, step=block),
)
