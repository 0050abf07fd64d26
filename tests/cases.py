"""Settings that every method is tried with: a new method is tested without a word here."""

from __future__ import annotations

from typing import Any

import orfit_bench as ob

SEQUENCE = {"sequence": {"values": [0.5, 0.01, 0.2, 0.3]}}
"""A step that changes from row to row, so that a kernel that reads another row's is caught."""

EVERY: list[tuple[str, dict[str, Any]]] = [
    (name, settings)
    for name, method in ob.methods().items()
    if method.kind == "regression"
    for settings in ({}, *({s.name: SEQUENCE} for s in method.settings if s.kind == "schedule"))
]


def said(case: Any) -> str:
    """A test id for a name or its settings."""
    return case if isinstance(case, str) else " ".join(f"{k}={v}" for k, v in case.items())
