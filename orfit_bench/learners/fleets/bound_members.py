"""Calls with a row for each member, learned by a function that a kernel has bound to the arrays of a state.

As in `orfit_bench.learners.bound_rows`, a function accepts only NumPy arrays of the learners' dtype. It leaves all
other input, and the members whose row the kernel refuses, to the general path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from orfit_bench.learners.fleets.members import Members
from orfit_bench.learners.fleets.parameters import FleetParameters
from orfit_bench.learners.fleets.rows import FleetRows, HostArray
from orfit_bench.learners.fleets.state import FleetState
from orfit_bench.learners.rule import steps_until_half

LearnRowEach = Callable[[FleetState, object, object, "HostArray | None"], int]
"""learn(state, X, y, out) returns the number of members that have learned their row, counted from the first."""


def bind(members: Members, state: FleetState) -> LearnRowEach:
    """The function for X (N, 1, d) with y (N, 1), after every member has learned a row.

    It leaves all rows to the general path if the kernel offers no function for these settings.
    """
    rule, make_learn = members.shared, getattr(members.shared.kernel, "bind_members", None)
    if not make_learn or not state.sizes.y_is_1d or not members.are_settings_constant:
        return leave_all
    size, d = members.size, state.sizes.n_features
    p = FleetParameters(members, state, FleetRows(np.empty((size, d), rule.dtype), (size, 1)), {})
    learn = make_learn(state.arrays, p)
    return bound_to_state(state, rule.dtype, longest_sum(members), learn) if learn else leave_all


def longest_sum(members: Members) -> float:
    """The number of steps below which no member warns."""
    if members.varying and members.shared.method.state.warning:
        return steps_until_half(members.shared.dtype)  # some members may forget errors that add up in others
    return members.shared.longest_sum


def leave_all(state: FleetState, X: object, y: object, out: HostArray | None) -> int:
    """Leave all rows to the general path."""
    return 0


def bound_to_state(
    state: FleetState, dtype: np.dtype[Any], longest: float, learn: Callable[[HostArray, HostArray, HostArray], int]
) -> LearnRowEach:
    """The function that calls the kernel's and counts rows; `longest` is the number of steps that gives a warning."""
    arrays, size = state.arrays, len(state.n_steps)
    shape, shape_of_y, nothing = (size, 1, state.sizes.n_features), (size, 1), np.empty((0, 1), dtype)

    def learn_row_each(state: FleetState, X: object, y: object, out: HostArray | None) -> int:
        if (
            type(X) is not np.ndarray
            or type(y) is not np.ndarray
            or X.dtype != dtype
            or y.dtype != dtype
            or X.shape != shape
            or y.shape != shape_of_y
            or not (X.flags.c_contiguous and y.flags.c_contiguous)
            or state.arrays is not arrays
            or state.feature_names  # the general path may warn of rows without names
            or state.target_names
            or state.most_steps >= longest  # it warns of longer sums, too
        ):
            return 0
        try:
            learned = learn(X, y, nothing if out is None else out)
            if learned <= 0:
                return 0
            state.most_steps += 1
            if learned == size:
                state.n_steps += 1
                state.n_samples += 1
            elif learned < size:
                state.n_steps[:learned] += 1
                state.n_samples[:learned] += 1
            else:
                raise ValueError(f"the function of bind_members returned {learned}, want at most {size}, all learners")
        except BaseException as error:
            state.interrupted = type(error).__name__
            raise
        return learned

    return learn_row_each
