"""The variants of a method with which the checks run: single changed settings, examples, models and outputs."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from orfit_bench.models import MLP
from orfit_bench.schedules import Schedule
from orfit_bench.spec import LINEAR, Choice, Integer, Matrix, Method, Model, Number, NumberOrSchedule, Setting
from orfit_bench.spec.setting import check_settings

SHARES = (*(round(1 - 0.5 * (0.618 * i % 1), 2) for i in range(1, 24)), 1.0)
"""The values of a schedule as shares of the default, in no order."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Settings, model, outputs (None: y has one dimension), and whether a filter's model changes with every row."""

    settings: Mapping[str, Any]
    model: Model = LINEAR
    outputs: int | None = None
    time_varying: bool = False
    guaranteed: bool = False
    """Whether the method declares these settings, with the simplest model: ordinary rows must not be refused."""

    def __str__(self) -> str:
        parts = [f"{name}={reprlib.repr(value)}" for name, value in self.settings.items()]
        parts += [f"model {self.model.name}"] if self.model is not LINEAR else []
        parts += [f"{self.outputs} outputs"] if self.outputs else []
        parts += ["a transition for every row"] if self.time_varying else []
        return ", ".join(parts) or "the default settings"


def variants(method: Method) -> list[Variant]:
    """Every variant that the method allows, the default settings first; a kernel may lack what some of them need."""
    named: list[Mapping[str, Any]] = [{}, *method.examples]
    settings = [*named, *single_changes(method)]
    model = MLP((3,)) if method.state.layered else LINEAR
    found = [Variant(s, model, guaranteed=s in named) for s in settings]
    if method.state.layered:
        return [*found, Variant({}, MLP((3, 2), "relu"), 3)]
    if method.traits.numbers:
        found += [Variant(s, outputs=2) for s in named]
    if method.traits.gaps:
        found += [Variant({}, time_varying=True), Variant({}, outputs=2, time_varying=True)]
    if method.kernel.models:
        found += [Variant(_without_start(method, s), MLP((12,)), 2) for s in named]
        found.append(Variant({}, MLP((3,)), 3))
    return found


def _without_start(method: Method, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings without a common start of all weights, which would make the units of a network equal."""
    starts = {s.name for s in method.settings if isinstance(s.type, Matrix) and s.default is None}
    return {name: value for name, value in settings.items() if name not in starts or np.ndim(value) > 0}


def single_changes(method: Method) -> Iterator[dict[str, Any]]:
    """Each setting changed separately to a few other values, unless the method refuses them with the other defaults."""
    for setting in method.settings:
        for value in other_values(setting):
            if not method.refuses(check_settings(method.name, method.settings, {setting.name: value})):
                yield {setting.name: value}


def other_values(setting: Setting) -> list[Any]:
    """Values other than the default: other choices, a varying schedule, numbers on either side."""
    default = setting.default
    match setting.type:
        case Choice(options):
            return [option for option in options if option != default]
        case Integer() as interval:
            near = [2, 3] if default is None else [default + 1, default + 2]
            return [n for n in near if n in interval] + ([None] if setting.optional and default else [])
        case NumberOrSchedule() as interval:
            first = float(default(np.array([1]))[0]) if isinstance(default, Schedule) else float(default)
            steps = [value for share in SHARES if (value := share * (first or 0.5)) in interval]
            return [{"sequence": {"values": steps}}]
        case Number() as interval:
            first = default or 0.5
            return [n for n in (first / 2, 1.5 * first) if n in interval]
        case Matrix() if default is not None and np.ndim(default) == 0:
            return [float(default) / 2 + 0.1]
    return []


def smallest_counts(method: Method) -> dict[str, Any]:
    """The smallest allowed value of every count, so that one feature is enough."""
    counts = {s.name: s.type for s in method.settings if isinstance(s.type, Integer) and not s.optional}
    return {name: next(n for n in range(1, 1000) if n in interval) for name, interval in counts.items()}


def has_complex_form(method: Method, variant: Variant) -> bool:
    """Whether the formulas of a variant hold for complex numbers."""
    settings = check_settings(method.name, method.settings, dict(variant.settings))
    return (
        variant.model is LINEAR
        and method.kernel.has_complex_form is not None
        and method.kernel.has_complex_form(settings)
    )
