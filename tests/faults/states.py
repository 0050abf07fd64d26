"""Kernels that modify or keep arrays of the caller, or store something outside the state."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from helpers.methods import change

from faults.fault import fault, faulty_learn
from faults.reference_learner import (
    DOUBLE,
    LAST,
    PLAIN,
    STEP,
    WITH_LAST,
    KernelModule,
    block,
    carries_the_double,
    one_by_one,
    plain,
    with_momentum,
)
from orfit_bench.spec import Field, Growth

# ------------------------------------------------------------------------------------------ what is to be left alone


@faulty_learn("inputs_are_not_written_to", "any_order_of_operations")
def rows_serve_as_scratch(s, X, Y, p, out):
    """Writable rows are overwritten after they were learned."""
    learned = plain(s, X, Y, p, out)
    if X.flags.writeable:
        X[...] = 0
    return learned


class ChecksTooLate:
    """The kernel declares that it checks rows, but learns the rows before one that is not finite."""

    CHECKS_ROWS = True
    step = staticmethod(block)

    @staticmethod
    def learn(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
        learned = plain(s, X, Y, p, out)
        return learned if np.isfinite(X).all() else -1


fault(
    "checks_too_late",
    ChecksTooLate.__doc__,
    "nonfinite_input_is_refused",
    "any_order_of_operations",
    "calls_give_the_same_errors",
    kernel=ChecksTooLate(),
)


class KeepsRows:
    """LMS that adds a part of the previous row to the direction, read from the array of the caller."""

    def __init__(self) -> None:
        self.kept: dict[int, Any] = {}

    def learn(self, s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
        whose, last = self.kept.get(id(s.w), (None, None))
        if whose is s.w:
            s.last[...] = last
        n = with_momentum(s, X, Y, p, out)
        self.kept[id(s.w)] = s.w, X[-1]
        return n


fault(
    "keeps_rows",
    KeepsRows.__doc__,
    "inputs_are_not_kept",
    "any_order_of_operations",
    method=WITH_LAST,
    kernel=KeepsRows(),
)


class SharesGains:
    """Gains are cached by the number of the step, for all learners together."""

    def __init__(self) -> None:
        self.gains: dict[int, Any] = {}

    def learn(self, s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
        if p.t == 1:
            self.gains.clear()
        for i in range(len(X)):
            f = X[i] @ s.w
            if out is not None:
                out[i] = f
            w = s.w + STEP * np.outer(self.gains.setdefault(p.t + i, np.array(X[i])), Y[i] - f)
            self.gains.pop(p.t + i - 4, None)
            if not np.isfinite(w).all():
                return i
            s.w[...] = w
        return len(X)


fault("shares_gains", SharesGains.__doc__, "learners_are_independent", "any_order_of_operations", kernel=SharesGains())


@faulty_learn("result_depends_only_on_seed", "process_is_left_as_it_was")
def uses_up_the_shared_generator(s, X, Y, p, out):
    """An unused number is drawn from NumPy's global generator."""
    np.random.random()  # noqa: NPY002
    return plain(s, X, Y, p, out)


class KeepsEverything:
    """All rows are kept in a list."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def learn(self, s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
        self.seen.extend(map(np.array, X))
        return plain(s, X, Y, p, out)


fault(
    "keeps_everything",
    KeepsEverything.__doc__,
    "no_memory_outside_state",
    "no_objects_are_left_behind",
    kernel=KeepsEverything(),
)

# ------------------------------------------------------------------------------------------ state


class Hidden:
    """The previous row is kept outside the state, by the address of the weights."""

    def __init__(self) -> None:
        self.last: dict[int, Any] = {}

    def learn(self, s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
        whose, last = self.last.get(id(s.w), (None, None))
        both = SimpleNamespace(w=s.w, last=last if whose is s.w else np.zeros(X.shape[1], X.dtype))
        n = with_momentum(both, X, Y, p, out)
        self.last[id(s.w)] = s.w, both.last
        return n


fault(
    "hidden",
    Hidden.__doc__,
    "a_learner_that_learns_refuses_other_threads",
    "learn_one_refuses_other_threads",
    "outputs_may_be_permuted",
    "copy_continues_identically",
    "pickle_continues_identically",
    "names_are_kept",
    "any_order_of_operations",
    "restored_state_continues_identically",
    "saved_state_continues_identically",
    "bytes_continue_identically",
    "predicting_changes_nothing",
    "interrupted_learn_one_ends_a_learner",
    kernel=Hidden(),
    message="a copy (whatever the kernel needs later must be a field of the state)",
)

fault(
    "different_sign_of_a_field",
    "a field has the opposite sign of that of the reference",
    "state_moves_between_backends",
    "backends_take_turns",
    method=change(PLAIN, state={"fields": (*PLAIN.state.fields, replace(LAST, compared="nothing"))}),
    kernel=KernelModule(learn=partial(with_momentum, sign=-1)),
    reference=KernelModule(learn=with_momentum),
)


@faulty_learn(
    "rows_are_counted",
    "any_number_of_steps_is_possible",
    "refused_step_is_named",
    "refused_rows_leave_no_trace",
    "predicts_before_each_step",
    "random_chunking",
    "any_type_of_numbers_in_one_row",
    "learn_one_equals_partial_fit",
)
def says_twice_the_rows(s, X, Y, p, out):
    """The returned number of learned rows is twice the correct one."""
    learned = plain(s, X, Y, p, out)
    return 2 * learned if learned == len(X) else learned


def _stores(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    n = 0
    for i, _ in one_by_one(plain, s, X, Y, p, out):
        if s.count[0] < len(s.kept):
            s.kept[s.count[0]] = X[i]
        s.count[0] += 1
        n += 1
    return n


fault(
    "counts_beyond_the_memory",
    "rows are counted although the memory is full",
    "saved_state_continues_identically",
    "restored_state_continues_identically",
    "pickle_continues_identically",
    "bytes_continue_identically",
    "state_size_is_bounded",
    "state_matches_declaration",
    method=change(
        PLAIN,
        state={
            "fields": (*PLAIN.state.fields, Field("kept", ("memory", "feature"), "rows")),
            "growth": Growth("memory", lambda settings, sizes: 10),
        },
    ),
    kernel=KernelModule(learn=_stores),
)


def _loses_the_double(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    n = carries_the_double(s, X, Y, p, out)
    s.double[...] *= 1.001 if p.t + n > 2000 else 1
    return n


fault(
    "derived_field_drifts",
    "a field that is derived from the weights is wrong after two thousand rows",
    "derived_fields_are_consistent",
    "derived_fields_are_right_at_any_step",
    method=change(DOUBLE, combine={"derive": lambda fields, settings: {"double": 2 * fields["w"]}}),
    kernel=KernelModule(learn=_loses_the_double),
)


def _counts_attempts(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    n = plain(s, X, Y, p, out)
    s.attempts[...] += n + (n < len(X))
    return n


fault(
    "refused_row_is_counted",
    "a field counts a row that is refused afterwards",
    "overflowing_step_is_refused",
    "any_order_of_operations",
    "refused_rows_leave_no_trace",
    method=change(PLAIN, state={"fields": (*PLAIN.state.fields, Field("attempts", (), "rows tried"))}),
    kernel=KernelModule(learn=_counts_attempts),
)
