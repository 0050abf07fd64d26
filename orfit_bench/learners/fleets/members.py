"""The settings of a fleet's members: those that all share, and those that differ between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from orfit_bench.learners.computed_once import ComputedOnce
from orfit_bench.learners.filtering.dynamics import FilterParameters
from orfit_bench.learners.filtering.rule import FilterRule
from orfit_bench.learners.fleets.motion import stack_parameters
from orfit_bench.learners.fleets.rows import FleetRows, same_for_all
from orfit_bench.learners.parameters import no_limit
from orfit_bench.learners.rule import Rule
from orfit_bench.plugins.registry import registry
from orfit_bench.schedules import Constant, Schedule
from orfit_bench.spec import REFERENCE
from orfit_bench.spec.setting import equal_values
from orfit_bench.spec.types import Choice, Integer
from orfit_bench.state.state import LearnerState, Sizes

HostArray = np.ndarray[Any, Any]
SEED = "random_state"


@dataclass(frozen=True, eq=False)
class Members:
    """The rules of `size` learners: one that all share, and the values of settings that differ between them.

    `varying` maps the name of a setting, or of the seed, to the values of all members, checked by the setting.
    """

    shared: Rule
    size: int
    varying: Mapping[str, Sequence[Any]]

    def __post_init__(self) -> None:
        """Refuse settings that members of a fleet must have in common."""
        method = self.shared.method
        if self.shared.batch_size != 1:
            raise ValueError(f"fleet: its learners learn row by row, got batch_size={self.shared.batch_size}, want 1")
        for setting in method.settings:
            if setting.name in self.varying and isinstance(setting.type, (Integer, Choice)):
                values = ", ".join(map(repr, dict.fromkeys(self.varying[setting.name])))
                raise ValueError(f"fleet: {setting.name} must be the same for all members of a fleet, got {values}")
        fields = method.state.fields_under(self.shared.settings)
        for i in range(self.size if self.varying else 0):
            if method.state.fields_under(self.settings(i)) != fields:
                differing = ", ".join(name for name in self.varying if name != SEED)
                raise ValueError(f"fleet: with these {differing} member {i} has other state fields than member 0")

    @ComputedOnce
    def _rules(self) -> dict[int, Rule]:
        return {}

    @ComputedOnce
    def are_settings_constant(self) -> bool:
        """Whether no setting of a member is a schedule that varies with the steps."""
        own = (value for values in self.varying.values() for value in values)
        return all(not isinstance(v, Schedule) or type(v) is Constant for v in (*self.shared.settings.values(), *own))

    def settings(self, i: int) -> Mapping[str, Any]:
        """All settings of member i."""
        own = {name: values[i] for name, values in self.varying.items() if name != SEED}
        return MappingProxyType({**self.shared.settings, **own}) if own else self.shared.settings

    def rule(self, i: int) -> Rule:
        """The rule of member i; if no settings differ, all members have the same rule."""
        if not self.varying:
            return self.shared
        if i not in self._rules:
            seed = self.varying[SEED][i] if SEED in self.varying else self.shared.random_state
            self._rules[i] = replace(self.shared, settings=self.settings(i), random_state=seed)
        return self._rules[i]

    @ComputedOnce
    def for_host(self) -> Members:
        """These members on the reference backend; unchanged if their arrays are in host memory."""
        if self.shared.on_host:
            return self
        known, name = registry(), self.shared.method.name
        shared = replace(self.shared, backend=known.backends[REFERENCE], kernel=known.kernel(REFERENCE, name))
        return replace(self, shared=shared)

    @ComputedOnce
    def _dynamics(self) -> dict[Sizes, FilterParameters]:
        return {}

    def dynamics(self, sizes: Sizes) -> FilterParameters:
        """The parameters of the filters, in host memory: an entry for each member, or one that all share.

        TypeError if the members are not filters.
        """
        if not isinstance(self.shared, FilterRule):
            raise TypeError(f"{self.shared.method.name} is not a filter")
        if sizes not in self._dynamics:
            rules: list[Any] = [self.rule(i) for i in range(self.size if self.varying else 1)]
            self._dynamics[sizes] = stack_parameters([rule.constant_parameters(sizes) for rule in rules])
        return self._dynamics[sizes]

    def values(self, name: str, rows: FleetRows, t: Callable[[], HostArray]) -> HostArray:
        """A setting as kernels get it: a value for each of rows.members (m,), or for a schedule one for each row.

        The first row of rows.members[j] is its step t()[j]. A value that is the same for all is a view of one number.
        """
        setting = next(s for s in self.shared.method.settings if s.name == name)
        own, counts, dtype = self.varying.get(name, ()), rows.counts, self.shared.dtype
        if not len(counts):
            return np.empty(0, dtype)
        given = [own[i] for i in rows.members.tolist()] if own else [self.shared.settings[name]]
        given = [no_limit(setting) if value is None else value for value in given]
        if not isinstance(given[0], Schedule):
            return np.array(given) if own else same_for_all(given[0], len(counts))
        if all(type(schedule) is Constant for schedule in given):
            constants = np.array([schedule.value for schedule in given], dtype)
            return np.repeat(constants, counts) if own else same_for_all(constants, len(rows.X))
        starts = rows.starts
        times = np.arange(starts[-1]) + np.repeat(t() - starts[:-1], counts)
        if not own:
            return given[0](times).astype(dtype)
        parts = zip(given, starts[:-1].tolist(), starts[1:].tolist(), strict=True)
        return np.concatenate([schedule(times[begin:end]) for schedule, begin, end in parts]).astype(dtype)

    def initial_states(self, sizes: Sizes) -> list[LearnerState]:
        """The states before the first row: one for all, or one for each member."""
        try:
            return [self.rule(i).init(sizes) for i in range(self.size if self.varying else 1)]
        except ValueError as error:
            for name in self.varying:
                if str(error).startswith(f"{name}:"):
                    error.args = (
                        f"{error}; each of the {self.size} members got one entry of {name}: pass [{name}] * "
                        f"{self.size} for a value that all share",
                    )
            raise

    def select(self, members: Sequence[int]) -> Members:
        """The settings of some of the members, in this order."""
        varying = {name: [values[i] for i in members] for name, values in self.varying.items()}
        return replace(self, size=len(members), varying=varying)

    def values_of_all(self, name: str) -> Sequence[Any]:
        """The value of a setting, or the seed, of each member."""
        if name in self.varying:
            return self.varying[name]
        value = self.shared.random_state if name == SEED else self.shared.settings[name]
        return [value] * self.size

    def different_values(self, name: str) -> Sequence[Any]:
        """The values of a setting, or the seed: one if it does not vary."""
        return self.values_of_all(name)[:1] if name not in self.varying else self.varying[name]

    def joined(self, other: Members) -> Members:
        """These members and others after them; ValueError if the two cannot form one fleet."""
        check_same_rule(self.shared, other.shared)
        shared = (self if self.size else other).shared  # possibly that of a member that was removed
        common, varying = {**shared.settings, SEED: shared.random_state}, {}
        for name in common:
            parts = [one for one in (self, other) if one.size]
            if not all(_equal(common[name], value) for one in parts for value in one.different_values(name)):
                varying[name] = [value for one in parts for value in one.values_of_all(name)]
        return Members(shared, self.size + other.size, varying)


def _equal(one: object, other: object) -> bool:
    return one is other or equal_values(one, other)


def check_same_rule(a: Rule, b: Rule) -> None:
    """Raise ValueError if two learners cannot be members of one fleet."""
    for what, one, other in (
        ("method", a.method.name, b.method.name),
        ("backend", a.backend.name, b.backend.name),
        ("dtype", a.dtype, b.dtype),
        ("model", a.model.name, b.model.name),
    ):
        if one != other:
            raise ValueError(f"fleet: the learners differ in {what}: {one} and {other}")
    if not equal_values(a.initial_weights, b.initial_weights):
        raise ValueError("fleet: the learners started from different initial_weights")
