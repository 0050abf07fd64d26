"""Settings with which every method is tested; new methods are included automatically."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import orfit_bench as ob
from orfit_bench.spec import Backend, Method, NumberOrSchedule

SEQUENCE = {"sequence": {"values": [0.5, 0.01, 0.2, 0.3]}}
"""A step that changes from row to row, so that a kernel that reads another row's is caught."""

EVERY: list[tuple[str, dict[str, Any]]] = [
    (name, settings)
    for name, method in ob.methods().items()
    if method.kind == "regression" and not method.state.layered
    for settings in ({}, *({s.name: SEQUENCE} for s in method.settings if isinstance(s.type, NumberOrSchedule)))
]


def offering(backend: str, kernels: dict[str, Any]) -> Any:
    """A plugin that offers a backend on NumPy arrays and its kernels, by method."""

    class Plugin:
        SPEC_VERSION = (1, 0)

        @ob.hookimpl
        def backends(self) -> Any:
            return [Backend(backend, "", namespace=lambda: np)]

        @ob.hookimpl
        def kernels(self) -> Any:
            return {(backend, method): kernel for method, kernel in kernels.items()}

    return Plugin()


@contextmanager
def installed(method: Method, kernel: Any) -> Iterator[None]:
    """A plugin with this method and its kernel on NumPy."""

    class Plugin:
        SPEC_VERSION = (1, 0)

        @ob.hookimpl
        def methods(self) -> Any:
            return [method]

        @ob.hookimpl
        def kernels(self) -> Any:
            return {("numpy", method.name): kernel}

    ob.register(Plugin(), method.name)
    try:
        yield
    finally:
        ob.unregister(method.name)


def stated(case: Any) -> str:
    """A test id for a name or its settings."""
    return case if isinstance(case, str) else " ".join(f"{k}={v}" for k, v in case.items())
