"""Faults of kernels that learn fleets."""

from __future__ import annotations

from typing import Any

import numpy as np
from helpers.methods import change

from faults.fault import fault
from faults.reference_learner import (
    METHODS,
    PLAIN,
    STEP,
    WEIGHTS,
    KernelModule,
    block,
    plain,
    reference_kernel,
    reference_with,
)
from orfit_bench.kernels.fleets import make_fleet_learn
from orfit_bench.spec import Field, PrecisionWarning, Setting
from orfit_bench.spec.types import Number

correct = make_fleet_learn(plain)
RIDGE = reference_kernel("ridge")
RATED = change(PLAIN, settings=(Setting("rate", Number(0, 1), 0.9, "what the size of a step is multiplied by"),))
LOST = Field("lost", (), "1 once the weights are large")
WARNS = change(PLAIN, state={"fields": (WEIGHTS, LOST), "warning": PrecisionWarning("lost", "the weights are large")})


def marks(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    """The correct kernel of WARNS."""
    learned = plain(s, X, Y, p, out)
    if abs(s.w).max(initial=0) > 1000:
        s.lost[...] = 1
    return learned


def _marks_no_member(s: Any, X: Any, Y: Any, p: Any, out: Any) -> Any:
    learned = make_fleet_learn(marks)(s, X, Y, p, out)
    s.lost[...] = 0
    return learned


def _mixes_members(s: Any, X: Any, Y: Any, p: Any, out: Any) -> Any:
    learned = correct(s, X, Y, p, out)
    s.w[...] = s.w[::-1].copy()
    return learned


def _short_for_late_members(s: Any, X: Any, Y: Any, p: Any, out: Any) -> Any:
    before = s.w.copy()
    learned = correct(s, X, Y, p, out)
    s.w[4:] = before[4:] + 0.99 * (s.w[4:] - before[4:])
    return learned


class _Shared:
    """The parameters of a fleet in which every member has those of the first member with rows."""

    def __init__(self, p: Any) -> None:
        self.members, self.starts, self._p = p.members, p.starts, p

    def of(self, j: int) -> Any:
        """The parameters of the rows of members[j]."""
        return _With(self._p.of(j), rate=self._p.of(0).rate)


class _With:
    """Parameters with another value of a setting."""

    def __init__(self, p: Any, **values: Any) -> None:
        self._p = p
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._p, name)


def _rated_step(s: Any, A: Any, Y: Any, p: Any) -> bool:
    """The step of RATED."""
    w = s.w + s.w.dtype.type(STEP * p.rate) * A.T @ (Y - A @ s.w)
    if np.isfinite(w).all():
        s.w[...] = w
    return bool(np.isfinite(w).all())


def _rated(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    """The correct kernel of RATED."""
    for i in range(len(X)):
        row = slice(i, i + 1)
        if out is not None:
            out[row] = X[row] @ s.w
        if not _rated_step(s, X[row], Y[row], p):
            return i
    return len(X)


def _shares_settings(s: Any, X: Any, Y: Any, p: Any, out: Any) -> Any:
    return make_fleet_learn(_rated)(s, X, Y, _Shared(p), out)


def _stops_all_members(s: Any, X: Any, Y: Any, p: Any, out: Any) -> Any:
    before = s.w.copy()
    learned = correct(s, X, Y, p, out)
    if (learned < p.starts[1:] - p.starts[:-1]).any():
        s.w[...] = before
        learned[:] = 0
    return learned


fault(
    "members_are_mixed_up",
    "the first and the last member of a fleet change places",
    "fleet_members_join_one_by_one",
    "fleet_equals_learners",
    "fleet_members_diverge_alone",
    "fleet_members_leave_and_return",
    "fleet_learns_a_row_each",
    "fleet_predicts_before_each_step",
    kernel=KernelModule(learn=plain, step=block, fleet_learn=_mixes_members),
)
fault(
    "late_members",
    "members from the fifth on learn by steps that are 1 % too short",
    "fleet_equals_learners",
    "fleet_learns_a_row_each",
    kernel=KernelModule(learn=plain, step=block, fleet_learn=_short_for_late_members),
)
fault(
    "members_share_settings",
    "every member of a fleet has the settings of the first",
    "fleet_members_follow_their_own_settings",
    "fleet_members_leave_and_return",
    "fleet_learns_a_row_each",
    method=RATED,
    kernel=KernelModule(learn=_rated, step=_rated_step, fleet_learn=_shares_settings),
)
fault(
    "one_member_stops_the_fleet",
    "where one member diverges, no other learns",
    "fleet_members_meet_extreme_rows_alone",
    "fleet_members_diverge_alone",
    "fleet_members_leave_and_return",
    "fleet_refuses_a_row_each",
    "fleet_learns_a_row_each",
    kernel=KernelModule(learn=plain, step=block, fleet_learn=_stops_all_members),
)
fault(
    "members_are_not_marked",
    "a member of a fleet whose weights are large is not marked, as a learner that is alone is",
    "fleet_members_lose_precision_alone",
    "fleet_members_lose_digits_alone",
    "fleet_members_leave_and_return",
    method=WARNS,
    kernel=KernelModule(learn=marks, step=block, fleet_learn=_marks_no_member),
)


# ---------------------------------------------------------------------- members that differ

COUNTED = change(PLAIN, state={"fields": (WEIGHTS, Field("used", (), "rows learned"))})


def _counts(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    """The correct kernel of COUNTED."""
    learned = plain(s, X, Y, p, out)
    s.used[...] += learned
    return learned


def _steps_again(s: Any, X: Any, Y: Any, p: Any, out: Any) -> Any:
    learned = make_fleet_learn(_counts)(s, X, Y, p, None if out is None else out)
    for j, i in enumerate(p.members.tolist()):
        before = s.used[i] - learned[j]
        if learned[j] and ((s.used[p.members] - learned) == before + 1).any():
            one = type(s)(*(a[i, ...] for a in s))
            block(one, X[p.starts[j] : p.starts[j] + 1], Y[p.starts[j] : p.starts[j] + 1], p)
    return learned


fault(
    "members_with_fewer_rows_step_again",
    "a member learns its row again if another one has learned one row more than it",
    "fleet_members_join_one_by_one",
    "fleet_equals_learners",
    method=COUNTED,
    kernel=KernelModule(learn=_counts, step=block, fleet_learn=_steps_again),
)


def _accepts_anything(s: Any, X: Any, Y: Any, p: Any, out: Any) -> Any:
    before = s.w.copy()
    learned = correct(s, X, Y, p, out)
    for j, i in enumerate(p.members.tolist()):
        if learned[j] < p.starts[j + 1] - p.starts[j]:
            s.w[i] = before[i]
            learned[j] = p.starts[j + 1] - p.starts[j]
    return learned


fault(
    "members_skip_what_overflows",
    "a member whose step would overflow leaves out the rows of the call, and says nothing",
    "fleet_members_meet_extreme_rows_alone",
    "fleet_members_diverge_alone",
    "fleet_members_leave_and_return",
    "fleet_refuses_a_row_each",
    "fleet_learns_a_row_each",
    kernel=KernelModule(learn=plain, step=block, fleet_learn=_accepts_anything),
)


def _refuses_large(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    """The correct kernel of PLAIN, except that it refuses rows if weights are near the largest number."""
    return 0 if abs(s.w).max(initial=0) > np.finfo(s.w.dtype).max / 8 else plain(s, X, Y, p, out)


fault(
    "members_learn_what_learners_refuse",
    "members with weights near the largest number learn rows that a learner alone refuses",
    "fleet_members_with_large_states_are_alone",
    "fleet_members_diverge_alone",
    kernel=KernelModule(learn=_refuses_large, step=block, fleet_learn=correct),
)


# ---------------------------------------------------------------------- a row for each member


def _predicts_after_the_step(s: Any, X: Any, Y: Any, p: Any, out: Any) -> Any:
    learned = correct(s, X, Y, p, out)
    for j, i in enumerate(p.members.tolist() if out is not None else []):
        rows = slice(int(p.starts[j]), int(p.starts[j + 1]))
        out[rows] = X[rows] @ s.w[i]
    return learned


fault(
    "members_predict_after_the_step",
    "a fleet predicts each row with the weights after the call",
    "fleet_predicts_before_each_step",
    "fleet_learns_a_row_each",
    kernel=KernelModule(learn=plain, step=block, fleet_learn=_predicts_after_the_step),
)


def _solves_the_first(s: Any) -> Any:
    """The weights of the first member for all members."""
    w, precision = RIDGE.solve(type(s)(*(a[0] for a in s)))
    return np.repeat(w[None], len(s.moment), axis=0), np.full(len(s.moment), precision)


fault(
    "members_share_solved_weights",
    "all members of a fleet predict with the weights that were solved for the first",
    "fleet_equals_learners",
    "fleet_learns_a_row_each",
    method=change(METHODS["ridge"], theory={"laws": ()}),
    kernel=reference_with("ridge", solve=RIDGE.solve, fleet_learn=RIDGE.fleet_learn, fleet_solve=_solves_the_first),
)


def _bound(repetitions: int = 1, refuses: bool = True, checks: bool = True) -> Any:
    """A `bind_members` that learns each row a given number of times.

    Without `refuses` it keeps the weights whose new values are not finite, and without `checks` it learns the rows
    before a bad one.
    """

    def bind_members(s: Any, p: Any) -> Any:
        def learn(X: Any, Y: Any, out: Any) -> int:
            if s.w.shape[2] > 1 or (checks and not (np.isfinite(X).all() and np.isfinite(Y).all())):
                return 0
            for i in range(len(X)):
                if len(out):
                    out[i] = X[i] @ s.w[i, :, 0]
                for _ in range(repetitions):
                    w = s.w[i] + s.w.dtype.type(STEP) * X[i].T @ (Y[i : i + 1] - X[i] @ s.w[i])
                    if refuses and not np.isfinite(w).all():
                        return i
                    s.w[i] = np.where(np.isfinite(w), w, s.w[i])
            return len(X)

        return learn

    return bind_members


fault(
    "bound_members_learn_twice",
    "a function that is bound to the state of a fleet learns each row twice",
    "fleet_equals_learners",
    "fleet_learns_a_row_each",
    "fleet_predicts_before_each_step",
    kernel=KernelModule(learn=plain, step=block, fleet_learn=correct, bind_members=_bound(2)),
)
fault(
    "bound_members_refuse_nothing",
    "a function that is bound to the state of a fleet leaves out the numbers that would not be finite",
    "fleet_refuses_a_row_each",
    "fleet_learns_a_row_each",
    kernel=KernelModule(learn=plain, step=block, fleet_learn=correct, bind_members=_bound(refuses=False)),
)
fault(
    "bound_members_begin_unchecked",
    "a function that is bound to the state of a fleet learns the rows before one that is not finite",
    "fleet_refuses_numbers_that_are_not_finite",
    "fleet_refuses_a_row_each",
    kernel=KernelModule(learn=plain, step=block, fleet_learn=correct, bind_members=_bound(checks=False)),
)
