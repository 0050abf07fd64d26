"""The header of a saved state: everything that is not an array, as JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from orfit_bench.schedules import Schedule
from orfit_bench.spec import SPEC_VERSION, Transition
from orfit_bench.state.state import LearnerState, Sizes, StateRule

FORMAT = 4
READ = (1, 2, 3, 4)
"""Formats that this version reads."""
LARGEST = 2**63
"""Bound of counts (exclusive), since kernels get them as integers of 64 bits."""
NAMES = ("feature_names", "target_names")
"""The names of columns: attributes of a state, and keys of a header if there are any."""


def config(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as JSON values; a function (a nonlinear transition) is given by its name."""
    return {name: plain(value) for name, value in settings.items()}


def plain(value: object) -> Any:
    """The value of a setting as a JSON value."""
    if isinstance(value, Schedule):
        return value.config()
    if isinstance(value, Transition):
        return {"transition": value.name}
    return value.tolist() if isinstance(value, np.ndarray) else value


def header(rule: StateRule, state: LearnerState | None) -> dict[str, Any]:
    """Everything of the state that is not an array; the state is None before the first chunk."""
    device = rule.backend.described
    return {
        **({"device": device} if device else {}),
        "format": FORMAT,
        "spec_version": list(SPEC_VERSION),
        "method": rule.method.name,
        "settings": {k: v for k, v in config(rule.settings).items() if not isinstance(v, list)},
        "backend": rule.backend.name,
        "dtype": str(rule.dtype),
        "random_state": rule.random_state,
        "model": rule.model.name,
        **counts(rule, state),
    }


def counts(rule: StateRule, state: LearnerState | None) -> dict[str, Any]:
    """The part of the header that changes while a learner learns."""
    sizes = Sizes(0, 0) if state is None else state.sizes
    head: dict[str, Any] = {
        "t": state.n_steps if state else 0,
        "n_samples_seen": state.n_samples if state else 0,
        "n_features": sizes.n_features if state else None,
        "n_outputs": sizes.n_outputs if state else None,
        "y_is_vector": sizes.y_is_1d,
    }
    if rule.method.traits.labels:
        head["classes"] = list(state.classes) if state else []
    for key in NAMES if state else ():
        if names := getattr(state, key):
            head[key] = list(names)
    return head


def check_header(head: Any, where: str) -> None:
    """Raise ValueError if the header has another format. Missing keys are found when they are read."""
    if not isinstance(head, dict) or head.get("format") not in READ:
        got = head.get("format") if isinstance(head, dict) else head
        raise ValueError(f"{where}: state of format {got!r}, this version reads formats {', '.join(map(str, READ))}")
    version = head.get("spec_version", [0, 0])
    if not (isinstance(version, list) and len(version) == 2 and all(type(n) is int for n in version)):
        raise ValueError(f"{where}: spec_version is {version!r}, want [major, minor]")
    if tuple(version) > SPEC_VERSION:
        wanted, here = (".".join(map(str, v)) for v in (version, SPEC_VERSION))
        raise ValueError(
            f"{where}: written for spec {wanted}, this version of orfit_bench has {here}: install a later version"
        )
    if not isinstance(head.get("settings", {}), dict):
        raise ValueError(f"{where}: settings are {head['settings']!r}, want a table")


def column_names(head: dict[str, Any], key: str, count: int) -> tuple[str, ...]:
    """The names of columns in a header; empty if it has no such key."""
    names = head.get(key)
    if names is None:
        return ()
    valid = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not valid or (names and len(set(names)) != count) or len(names) > count:
        raise ValueError(f"state: {key} is {names!r}, want {count} different names")
    return tuple(names)


def class_labels(head: dict[str, Any]) -> tuple[bool | int | str, ...]:
    """The classes in a header."""
    classes = head["classes"]
    kinds = {type(label) for label in classes} if isinstance(classes, list) else {None}
    if len(kinds) > 1 or not kinds <= {bool, int, str} or len(set(classes)) != len(classes):
        raise ValueError(f"state: classes are {classes!r}, want different labels of one kind")
    if len(classes) != (0 if head["n_features"] is None else head["n_outputs"]):
        raise ValueError(f"state: {len(classes)} classes for {head['n_outputs']} outputs")
    return tuple(classes)


def read_count(head: dict[str, Any], key: str, least: int = 0) -> int:
    """An integer in a header."""
    value = head[key]
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value < LARGEST:
        raise ValueError(f"state: {key} is {value!r}, want an integer from {least} to 2^63 - 1")
    return int(value)
