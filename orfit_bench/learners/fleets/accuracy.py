"""Warnings that members of a fleet lose digits: one for all of them, and once for each member."""

from __future__ import annotations

import numpy as np

from orfit_bench.errors import AccuracyWarning, warn
from orfit_bench.learners.fleets.members import HostArray, Members
from orfit_bench.learners.fleets.state import FleetState
from orfit_bench.learners.rule import steps_until_half
from orfit_bench.spec.backend import Array
from orfit_bench.tables.names import first_of


def warn_of_lost_precision(members: Members, state: FleetState) -> None:
    """Warn of members whose state has lost half of its digits."""
    warning = members.shared.method.state.warning
    if warning is None or not hasattr(state.arrays, warning.field):
        return
    lost = getattr(state.arrays, warning.field)
    has_long_sum = state.n_steps > int(steps_until_half(members.shared.dtype))
    if has_long_sum.any():
        unmarked = np.flatnonzero(has_long_sum & (lost == 0))
        longest: float | Array = members.shared.longest_sum
        if members.varying:
            longest = np.array([members.rule(i).longest_sum for i in unmarked.tolist()])
        lost[unmarked[state.n_steps[unmarked] > longest]] = 1
    if lost.max():
        _warn_of_members(members, state, np.flatnonzero(lost != 0), warning.text)


def warn_of_weights(members: Members, state: FleetState, solved: HostArray, w: HostArray, precision: HostArray) -> None:
    """Warn of members (m,) whose weights w (m, p, r), solved for with this precision (m,), are inaccurate."""
    rule = members.shared
    suspect = np.flatnonzero(~(precision > np.finfo(rule.dtype).eps ** 0.5) | ~np.isfinite(w).all(axis=(1, 2)))
    texts = [rule.inaccuracy(w[j], precision[j]) for j in suspect.tolist()]
    for text in filter(None, dict.fromkeys(texts)):
        found = [j for j, other in zip(suspect.tolist(), texts, strict=True) if other == text]
        _warn_of_members(members, state, solved[found], text)


def _warn_of_members(members: Members, state: FleetState, found: HostArray, text: str) -> None:
    """Warn of these members if the user was not warned of them: at the first, and whenever there are twice as many."""
    new = found[~state.has_warned[found]]
    if not len(new):
        return
    before = int(np.count_nonzero(state.has_warned))
    state.has_warned[new] = True
    total = before + len(new)
    if total.bit_length() > before.bit_length():
        who = first_of(new.tolist()) if not before else f"the last ones: {first_of(new.tolist())}"
        warn(f"{members.shared.method.name}, {total} members of the fleet ({who}): {text}", AccuracyWarning)
