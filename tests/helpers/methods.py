"""Declarations of methods for tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from orfit_bench.spec import Cost, Field, Method, Setting, StateSpec, Theory

COST = Cost(flops=lambda s, z: 1, floats=lambda s, z: 1)


def declare(name: str, *fields: Field, settings: tuple[Setting, ...] = (), **more: Any) -> Method:
    """A method with these fields; `more` is as in `change`, with a kind."""
    kind = more.pop("kind", "regression")
    state = StateSpec(fields, **more.pop("state", {}))
    theory = Theory(**{"cost": COST} | more.pop("theory", {}))
    method = Method(
        name=name,
        summary=f"a {kind} of the tests",
        formulas="",
        source="",
        kind=kind,
        settings=settings,
        state=state,
        theory=theory,
        **{k: v for k, v in more.items() if not isinstance(v, dict)},
    )
    return change(method, **{k: v for k, v in more.items() if isinstance(v, dict)})


def change(method: Method, **parts: Any) -> Method:
    """The method with changed values; a dict changes values of a part, as in kernel={"models": False}."""
    return replace(
        method,
        **{k: replace(getattr(method, k), **v) if isinstance(v, dict) else v for k, v in parts.items()},
    )
