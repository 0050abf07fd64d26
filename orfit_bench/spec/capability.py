"""Capabilities: what a method allows, and what a kernel says that it lacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from orfit_bench.errors import UnavailableError
from orfit_bench.spec.backend import Absent, Backend
from orfit_bench.spec.method import Method

FLEETS = "fleets"
"""What a kernel may name in LACKS beside its capabilities: why it has no `fleet_learn`."""

Capability = Literal["rows", "models", "blocks", "smoothing", "float32", "complex"]
MEANING: dict[Capability, str] = {
    "rows": "rows in order, at once",
    "models": "nonlinear models, by linearised blocks",
    "blocks": "several rows as one step",
    "smoothing": "the smoother behind the filter",
    "float32": "single precision",
    "complex": "complex numbers",
}
"""Every capability; float64 is what all kernels compute."""
OPTIONAL = ("complex",)
"""What a backend may leave out and still declare itself complete."""


def allowed(method: Method) -> dict[Capability, tuple[str, ...]]:
    """What a method allows, with the functions that its kernel offers for it."""
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
    """What the kernel says that it lacks of this, with its reasons: all of it where there is none.

    A kernel module says so by LACKS = {"models": "why", ...}; TypeError or ValueError where that says nothing known.
    """
    if isinstance(kernel, Absent):
        return dict.fromkeys(allowed(method), kernel.reason)
    lacks = getattr(kernel, "LACKS", {})
    if not isinstance(lacks, Mapping):
        raise TypeError(f"LACKS is {type(lacks).__name__}, want a mapping of capabilities to reasons")
    if strange := [name for name in lacks if name not in (*MEANING, FLEETS) or name == "rows"]:
        known = ", ".join(name for name in (*MEANING, FLEETS) if name != "rows")
        raise ValueError(f"LACKS names {strange[0]!r}, want some of {known}; for rows offer Absent(reason)")
    if not getattr(kernel, "COMPLEX", False):  # a kernel that forgets a conjugation would be wrong without a sign
        lacks = {"complex": "its kernel computes with real numbers only", **lacks}
    return {name: str(lacks[name]) for name in allowed(method) if name in lacks}


def require(name: Capability, kernel: object, method: Method, backend: Backend) -> None:
    """UnavailableError, with the kernel's reason, where it lacks a capability."""
    if reason := lacking(kernel, method).get(name):
        raise UnavailableError(f"{method.name} on {backend.name} lacks {name} ({MEANING[name]}): {reason}")


def fleet_absence(kernel: object, method: Method) -> str:
    """Why the kernel learns no fleets; empty if it does. Every method allows them, but no backend has to offer them."""
    if isinstance(kernel, Absent):
        return kernel.reason
    lacking(kernel, method)  # refuses a LACKS that names something unknown
    if reason := getattr(kernel, "LACKS", {}).get(FLEETS):
        return str(reason)
    return "" if callable(getattr(kernel, "fleet_learn", None)) else "its kernel has no function fleet_learn"


def require_fleets(kernel: object, method: Method, backend: Backend) -> None:
    """UnavailableError, with the reason, where a kernel learns no fleets."""
    if reason := fleet_absence(kernel, method):
        raise UnavailableError(
            f"{method.name} on {backend.name} lacks {FLEETS} (many learners by one call): {reason}; "
            f"make single learners with create()"
        )
