"""p: the parameters that the kernel of a fleet gets instead of the settings of its members."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from orfit_bench.learners.computed_once import ComputedOnce
from orfit_bench.learners.filtering.dynamics import FilterParameters
from orfit_bench.learners.fleets.members import HostArray, Members
from orfit_bench.learners.fleets.rows import FleetRows
from orfit_bench.learners.fleets.state import FleetState
from orfit_bench.state.state import LearnerState

PER_MEMBER = ("transition", "process_noise", "observation_noise", "is_dynamic")
"""The parameters of a filter that can have an entry for each member."""


class FleetParameters:
    """The parameters of the rows of a call: see `orfit_bench.spec.kernel_arguments.FleetParams`."""

    def __init__(self, members: Members, state: FleetState, rows: FleetRows, factors: Mapping[str, HostArray]) -> None:
        """`factors` maps the names of settings to factors for each row."""
        self.size, self.rows_each = members.size, rows.rows_each
        self._members, self._state, self._rows, self._factors = members, state, rows, factors
        self._gradients = members.shared.layout(state.sizes).sizes["gradients"]

    def __getattr__(self, setting: str) -> Any:
        if setting.startswith("_") or setting not in self._members.shared.settings:
            raise AttributeError(setting)
        value = self._members.values(setting, self._rows, lambda: self.t)
        if setting in self._factors:
            value = value * self._factors[setting]
        setattr(self, setting, value)
        return value

    @property
    def members(self) -> HostArray:
        """The members that get rows (m,)."""
        return self._rows.members

    @property
    def starts(self) -> HostArray:
        """Row offsets (m + 1,): members[j] has the rows from starts[j] to before starts[j + 1]."""
        return self._rows.starts

    @ComputedOnce
    def t(self) -> HostArray:
        """The number of the next step of each of `members` (m,)."""
        return np.asarray(self._state.n_steps[self._rows.places] + 1)

    @ComputedOnce
    def dynamics(self) -> FilterParameters:
        """The parameters of the filters with an entry for each of `members`, or one that all share."""
        found = self._members.dynamics(self._state.sizes)
        if self.rows_each is not None or len(self.members) == self.size:
            return found
        entries = {name: getattr(found, name) for name in PER_MEMBER}
        return found._replace(**{name: a[self.members] for name, a in entries.items() if a is not None and len(a) > 1})

    def of(self, j: int) -> Any:
        """The parameters of the rows of members[j], as `learn` of one learner gets them."""
        rule, sizes = self._members.rule(int(self.members[j])), self._state.sizes
        one = LearnerState(sizes, None, rule.no_rows(sizes), int(self.t[j]) - 1)
        steps = int(self.starts[j + 1] - self.starts[j])
        return rule.step_parameters(one, steps, 1, steps * self._gradients, None)
