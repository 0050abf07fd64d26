"""Checks: functions that measure how far a learner deviates from a requirement on all learners."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, Concatenate, Literal, NamedTuple, ParamSpec, TypeVar

from orfit_bench.conformance.causes import describe
from orfit_bench.learners.arguments import is_complex

if TYPE_CHECKING:
    from orfit_bench.conformance.context import CheckContext

MAX_USEFUL_BOUND = 0.1
"""With a larger bound, no correct decimal digit is left to compare."""


class Violation(AssertionError):
    """The learner violates the requirement of the check; the message describes how."""


class NotApplicable(Exception):
    """The check does not apply to this variant of the settings; the message explains why."""


class Unproven(Exception):
    """Wrong numbers would not be noticed; the message explains why."""


class Note(str):
    """A remark of a check that passed."""


class Deviation(NamedTuple):
    """A measured deviation and its bound; a check passes if value <= bound."""

    value: float
    bound: float
    of: str = ""
    """The quantity that deviates most, or the data set."""
    inconclusive: str = ""
    """The reason why the comparison is inconclusive, for example an ill-conditioned problem."""
    wrong: int = 0
    """Number of cases in which a law without a measured deviation does not hold."""
    settings: str = ""
    """The variant with which it was measured; if empty, the variant of the check."""

    @property
    def ratio(self) -> float:
        """Deviation divided by its bound; infinite if the deviation is not finite."""
        if not isfinite(self.value):
            return inf
        if not self.bound:
            return inf if self.value else 0.0
        return self.value / self.bound

    @property
    def holds(self) -> bool:
        """Whether the deviation is finite and within its bound."""
        return isfinite(self.value) and self.value <= self.bound


def worst(deviations: Iterable[Deviation]) -> Deviation:
    """The conclusive deviation with the largest ratio to its bound; if none is conclusive, the largest of all."""
    found = list(deviations)
    return max([d for d in found if not d.inconclusive] or found, key=lambda d: d.ratio)


CheckFunction = Callable[["CheckContext"], Deviation | Note | None]
"""Returns the deviation, or None if the requirement is met exactly; raises Violation, NotApplicable or Unproven."""
Needs = Callable[["CheckContext"], str]
"""Returns the reason why a check does not apply to a method and backend; an empty string if it does."""


def needs_nothing(context: CheckContext) -> str:
    """Every learner can be checked."""
    return ""


@dataclass(frozen=True, slots=True)
class Check:
    """A test of the kit, by the name that users see."""

    name: str
    requirement: str
    """The requirement on a learner, in one sentence."""
    function: CheckFunction
    needs: Needs = needs_nothing
    all_variants: bool = True
    """Whether it runs with every variant of the settings, or only with the default settings."""
    slow: bool = False
    numbers: Literal["real", "complex", "any"] = "real"
    """The kind of numbers of the learners that it checks: real, complex or "any"."""
    once: bool = False
    """Whether its result is the same in every dtype, so that it only runs in the first dtype."""
    own_settings: bool = False
    """Whether it chooses settings itself: a failure names those instead of the variant of the check."""

    def applies_to(self, dtype: str) -> bool:
        """Whether it checks learners of this dtype."""
        return self.numbers in ("any", "complex" if is_complex(dtype) else "real")


CHECKS: list[Check] = []
"""The checks of every learner, in the order in which they were defined; laws are added for each method."""


SMOKE = "learns_first_rows"
"""The check that runs before all others: if it fails, the other checks of that kernel are not run."""
FIRST = (
    SMOKE,
    "prints_nothing",
    "result_depends_only_on_seed",
    "learners_are_independent",
    "inputs_are_not_written_to",
    "inputs_are_not_kept",
    "no_memory_outside_state",
    "copy_is_independent",
    "copy_continues_identically",
    "rows_are_counted",
)
"""Checks whose failure explains other failures: a kernel that does not run or miscounts, randomness, hidden state."""


def rank(name: str) -> int:
    """The place of a check in the order in which checks run and failures are listed: causes before consequences."""
    return FIRST.index(name) if name in FIRST else len(FIRST)


def check(
    needs: Needs = needs_nothing,
    *,
    all_variants: bool = True,
    slow: bool = False,
    numbers: Literal["real", "complex", "any"] = "real",
    once: bool = False,
    own_settings: bool = False,
) -> Callable[[CheckFunction], CheckFunction]:
    """Register a function as a check, named like the function; the first line of the docstring is the requirement."""

    def register(function: CheckFunction) -> CheckFunction:
        text = function.__doc__ or (function.__name__ if sys.flags.optimize == 2 else "")  # -OO removes docstrings
        lines = text.strip().splitlines()
        if not lines or function.__name__ in {one.name for one in CHECKS}:
            raise ValueError(f"check {function.__name__}: want a docstring with the requirement, and a unique name")
        options = (needs, all_variants, slow, numbers, once, own_settings)
        CHECKS.append(Check(function.__name__, lines[0], function, *options))
        return function

    return register


P = ParamSpec("P")
R = TypeVar("R")


def names_settings(function: Callable[Concatenate[CheckContext, P], R]) -> Callable[Concatenate[CheckContext, P], R]:
    """Let errors of a function name the settings of its context, which can differ from those of the check."""

    @wraps(function)
    def named(context: CheckContext, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(context, *args, **kwargs)
        except Exception as error:
            vars(error).setdefault("settings", str(context.variant))
            raise

    return named


def ensure(condition: object, message: str) -> None:
    """Raise Violation unless the condition is true; unlike assert, also with `python -O`."""
    if not condition:
        raise Violation(message)


def ensure_raises(
    act: Callable[[], Any], error: type[Exception] | tuple[type[Exception], ...], what: str, mentions: str = ""
) -> None:
    """Raise Violation unless the call raises the error, with a message that contains `mentions`."""
    want = " or ".join(one.__name__ for one in (error if isinstance(error, tuple) else (error,)))
    try:
        act()
    except error as raised:
        ensure(str(raised), f"{what}: the {type(raised).__name__} has no message")
        ensure(mentions in str(raised), f"{what}: the message does not contain {mentions!r}: {describe(raised)}")
    except Exception as raised:
        raise Violation(f"{what}: want {want}, got {describe(raised)}") from raised
    else:
        raise Violation(f"{what}: want {want}, got no error")


def skip_if(condition: object, message: str) -> None:
    """Raise NotApplicable if the condition is true."""
    if condition:
        raise NotApplicable(message)


def skip_if_time_varying(context: CheckContext) -> None:
    """Raise NotApplicable if the variant has a transition for every row."""
    skip_if(context.variant.time_varying, "the transition varies with the rows")
