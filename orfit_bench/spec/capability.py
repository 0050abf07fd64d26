"""Capabilities: optional features that a method allows, and those that a kernel declares missing."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, Literal

from orfit_bench.errors import LackingError, suggest
from orfit_bench.spec.backend import Absent, Backend
from orfit_bench.spec.method import Method
from orfit_bench.spec.setting import equal_values

FLEETS = "fleets"
"""A further key that LACKS can have in addition to capabilities: why the kernel does not have `fleet_learn`."""

Capability = Literal["rows", "models", "blocks", "smoothing", "float32", "complex"]
MEANING: dict[Capability, str] = {
    "rows": "rows in order, at once",
    "models": "nonlinear models, by linearized blocks",
    "blocks": "several rows as one step",
    "smoothing": "the smoother of a filter",
    "float32": "single precision",
    "complex": "complex numbers",
}
"""All capabilities. float64 is not one of them, since all kernels compute in float64."""
OPTIONAL = ("complex",)
"""Capabilities that a backend need not have to be declared complete."""


def allowed(method: Method) -> dict[Capability, tuple[str, ...]]:
    """The capabilities that a method allows, with the functions that its kernel needs for each."""
    spec, kind = method.kernel, method.traits
    block = ("update", *(["store"] if spec.needs_post_step_gradients else []), *(["ahead"] if spec.lookahead else []))
    rows = (*kind.rows, "solve") if method.state.solution else kind.rows
    wanted: dict[Capability, tuple[str, ...] | None] = {
        "rows": block if method.state.layered else rows,
        "models": block if spec.models else None,
        "blocks": ("step",) if spec.blocks else None,
        "smoothing": kind.smoothing,
        "float32": (),
        "complex": () if spec.has_complex_form else None,
    }
    return {name: functions for name, functions in wanted.items() if functions is not None}


def lacking(kernel: object, method: Method) -> dict[Capability, str]:
    """The capabilities that the kernel declares missing, each with its reason; all of them if the kernel is absent.

    A kernel module declares LACKS = {"models": "why", "forgetting_factor=0": "why", ...}; the settings among them are
    returned by `lacking_settings`. Raises TypeError if LACKS is not a mapping, ValueError if it names something
    unknown.
    """
    if isinstance(kernel, Absent):
        return dict.fromkeys(allowed(method), kernel.reason)
    lacks = getattr(kernel, "LACKS", {})
    if not isinstance(lacks, Mapping):
        raise TypeError(f"LACKS is {type(lacks).__name__}, want a mapping of capabilities to reasons")
    lacking_settings(kernel, method)
    if strange := [n for n in lacks if "=" not in str(n) and (n not in (*MEANING, FLEETS) or n == "rows")]:
        known = ", ".join(name for name in (*MEANING, FLEETS) if name != "rows")
        raise ValueError(
            f"LACKS names {strange[0]!r}, want some of {known}, or a setting as in 'ridge=0'; for rows offer "
            "Absent(reason)"
        )
    if not getattr(kernel, "COMPLEX", False):  # a kernel that forgets a conjugation would be silently wrong
        lacks = {"complex": "its kernel computes with real numbers only", **lacks}
    return {name: str(lacks[name]) for name in allowed(method) if name in lacks}


def missing_function(kernel: object, method: Method) -> str:
    """The first required function that the kernel does not have, with the remedy; empty if it has all."""
    lacks = lacking(kernel, method)
    for capability, functions in allowed(method).items():
        for name in functions:
            if capability not in lacks and not callable(getattr(kernel, name, None)):
                lacks_it = f"say LACKS = {{{capability!r}: why}} in it"
                instead = "offer Absent(reason)" if capability == "rows" else lacks_it
                return f"{name}(), which the method declares: write it, or {instead}"
    return ""


def lacking_settings(kernel: object, method: Method) -> dict[str, tuple[str, Any]]:
    """The entries of LACKS that name a setting, each with the name and the value.

    Raises ValueError for an unknown setting, an invalid value, or the default: a kernel without it must be declared
    absent.
    """
    known = {setting.name: setting for setting in method.settings}
    found: dict[str, tuple[str, Any]] = {}
    for key in getattr(kernel, "LACKS", {}):
        name, equals, text = (part.strip() for part in str(key).partition("="))
        if not equals:
            continue
        if name not in known:
            raise ValueError(f"LACKS names {key!r}: {method.name} has no setting {name!r}{suggest(name, known)}")
        try:
            value = known[name].check(_value(text))
        except (TypeError, ValueError) as error:
            raise ValueError(f"LACKS names {key!r}: {error}") from None
        if equal_values(value, known[name].check(known[name].default)):
            raise ValueError(f"LACKS names {key!r}, which is the default: offer Absent(reason) instead of the kernel")
        found[key] = name, value
    return found


def _value(text: str) -> object:
    """The value of a setting as LACKS writes it: a Python literal, or a word."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def lacking_setting(kernel: object, method: Method, values: Mapping[str, Any]) -> tuple[str, str]:
    """The key and the reason in LACKS of the first of these settings that the kernel lacks; empty if it lacks none."""
    if not getattr(kernel, "LACKS", None):
        return "", ""
    for key, (name, value) in lacking_settings(kernel, method).items():
        if name in values and equal_values(values[name], value):
            return key, str(kernel.LACKS[key])  # type: ignore[attr-defined]
    return "", ""


def require_settings(kernel: object, method: Method, backend: Backend, values: Mapping[str, Any]) -> None:
    """Raise LackingError, with the kernel's reason, if it lacks one of these settings."""
    key, reason = lacking_setting(kernel, method, values)
    if key:
        raise LackingError(f"{method.name} on {backend.name} lacks {key}: {reason}; choose another value or backend")


def require(name: Capability, kernel: object, method: Method, backend: Backend) -> None:
    """Raise LackingError, with the kernel's reason, if it lacks a capability."""
    if reason := lacking(kernel, method).get(name):
        raise LackingError(
            f"{method.name} on {backend.name} lacks {name} ({MEANING[name]}): {reason}; choose another backend"
        )


def fleet_absence(kernel: object, method: Method) -> str:
    """Why the kernel learns no fleets; empty if it does. Every method allows them; backends need not."""
    if isinstance(kernel, Absent):
        return kernel.reason
    lacking(kernel, method)  # refuses a LACKS that names something unknown
    if reason := getattr(kernel, "LACKS", {}).get(FLEETS):
        return str(reason)
    return "" if callable(getattr(kernel, "fleet_learn", None)) else "its kernel has no function fleet_learn"


def require_fleets(kernel: object, method: Method, backend: Backend) -> None:
    """Raise LackingError, with the reason, if a kernel does not learn fleets."""
    if reason := fleet_absence(kernel, method):
        raise LackingError(
            f"{method.name} on {backend.name} lacks {FLEETS} (many learners by one call): {reason}; "
            f"make single learners with create()"
        )
