"""A check: a rule that every learner keeps, as a function that measures how far one is from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf, isfinite
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from orfit_bench.conformance.trial import Trial


class Violation(AssertionError):
    """The rule is broken; the message says how."""


class Inapplicable(Exception):
    """The rule does not speak of this variant; the message says why."""


class Gap(NamedTuple):
    """What was measured: the rule holds while deviation <= bound; `of` says which thing deviates most."""

    deviation: float
    bound: float
    of: str = ""

    @property
    def ratio(self) -> float:
        """Deviation over bound; infinite for a deviation that is no number."""
        if not isfinite(self.deviation):
            return inf
        return self.deviation / self.bound if self.bound else inf if self.deviation else 0.0

    @property
    def holds(self) -> bool:
        """Whether the deviation is a number within the bound."""
        return isfinite(self.deviation) and self.deviation <= self.bound

    @property
    def void(self) -> bool:
        """Whether the bound leaves not one digit to compare, so that only what is no number tells anything."""
        return self.bound > NO_DIGIT and isfinite(self.deviation)


NO_DIGIT = 0.1
"""The bound from which on not one decimal digit is left to compare."""


def worst(gaps: Iterable[Gap]) -> Gap:
    """The gap of largest ratio among those that tell something; of all, where none does."""
    found = list(gaps)
    return max([gap for gap in found if not gap.void] or found, key=lambda gap: gap.ratio)


Act = Callable[["Trial"], Gap | None]
Needs = Callable[["Trial"], str]


def always(trial: Trial) -> str:
    """Every learner can be asked."""
    return ""


@dataclass(frozen=True, slots=True)
class Check:
    """act(trial) returns the gap, or None where the rule is kept to the bit.

    It raises Violation where the rule is broken, Inapplicable where it does not speak of the trial's variant.

    needs(trial) says why the rule does not speak of this learner; empty where it does.
    """

    name: str
    rule: str
    act: Act
    needs: Needs = always
    every: bool = True
    """Whether it is tried under every variant of the settings, or under the first alone."""
    slow: bool = False


CHECKS: list[Check] = []
"""Every check that was defined, in that order."""


def check(needs: Needs = always, *, every: bool = True, slow: bool = False) -> Callable[[Act], Act]:
    """Take a function in as a check: its name is the id, its docstring's first line the rule."""

    def taken(act: Act) -> Act:
        rule = (act.__doc__ or "").strip().splitlines()
        if not rule or act.__name__ in {c.name for c in CHECKS}:
            raise ValueError(f"check {act.__name__}: want a docstring that says the rule, and a name of its own")
        CHECKS.append(Check(act.__name__, rule[0], act, needs, every, slow))
        return act

    return taken


def require(holds: object, said: str) -> None:
    """Violation with what is said, unless it holds; no assert, which `python -O` drops."""
    if not holds:
        raise Violation(said)


def unless(reason: object, said: str) -> None:
    """Inapplicable, with what is said, where there is a reason."""
    if reason:
        raise Inapplicable(said)
