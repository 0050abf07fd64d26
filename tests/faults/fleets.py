"""Faults of kernels that learn fleets."""

from __future__ import annotations

from typing import Any

from helpers.methods import change

from faults.fault import fault
from faults.reference_learner import PLAIN, WEIGHTS, KernelModule, block, plain
from orfit_bench.kernels.fleets import make_fleet_learn
from orfit_bench.spec import Field, PrecisionWarning

correct = make_fleet_learn(plain)
LOST = Field("lost", (), "1 once the weights are large")
WARNS = change(PLAIN, state={"fields": (WEIGHTS, LOST), "warning": PrecisionWarning("lost", "the weights are large")})


def _marks(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    """The correct kernel of WARNS."""
    learned = plain(s, X, Y, p, out)
    if abs(s.w).max(initial=0) > 1000:
        s.lost[...] = 1
    return learned


def _marks_no_member(s: Any, X: Any, Y: Any, p: Any, out: Any) -> Any:
    learned = make_fleet_learn(_marks)(s, X, Y, p, out)
    s.lost[...] = 0
    return learned


def _mixes_members(s: Any, X: Any, Y: Any, p: Any, out: Any) -> Any:
    learned = correct(s, X, Y, p, out)
    s.w[...] = s.w[::-1].copy()
    return learned


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
    "fleet_equals_learners",
    "fleet_members_diverge_alone",
    "fleet_members_leave_and_return",
    kernel=KernelModule(learn=plain, step=block, fleet_learn=_mixes_members),
)
fault(
    "one_member_stops_the_fleet",
    "where one member diverges, no other learns",
    "fleet_members_diverge_alone",
    "fleet_members_leave_and_return",
    kernel=KernelModule(learn=plain, step=block, fleet_learn=_stops_all_members),
)
fault(
    "members_are_not_marked",
    "a member of a fleet whose weights are large is not marked, as a learner that is alone is",
    "fleet_members_lose_precision_alone",
    "fleet_members_leave_and_return",
    method=WARNS,
    kernel=KernelModule(learn=_marks, step=block, fleet_learn=_marks_no_member),
)
