"""Faults of kernels that learn fleets."""

from __future__ import annotations

from typing import Any

from faults.fault import fault
from faults.reference_learner import KernelModule, block, plain
from orfit_bench.kernels.fleets import make_fleet_learn

correct = make_fleet_learn(plain)


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
    kernel=KernelModule(learn=plain, step=block, fleet_learn=_mixes_members),
)
fault(
    "one_member_stops_the_fleet",
    "where one member diverges, no other learns",
    "fleet_members_diverge_alone",
    kernel=KernelModule(learn=plain, step=block, fleet_learn=_stops_all_members),
)
