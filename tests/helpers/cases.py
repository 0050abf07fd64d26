"""Settings with which every method is tested; new methods are included automatically."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


def case_name(case: tuple[str, dict[str, Any]]) -> str:
    """The name of a test of a method with these settings."""
    return " ".join([case[0], *(f"{k}={v}" for k, v in case[1].items())])


def provider(kernels: dict[tuple[str, str], Any], methods: Sequence[Method] = (), backends: Sequence[Any] = ()) -> Any:
    """A plugin with these kernels, by backend and method, and with these methods and backends."""

    class Plugin:
        SPEC_VERSION = (1, 0)

        @ob.hookimpl
        def methods(self) -> Any:
            return list(methods)

        @ob.hookimpl
        def backends(self) -> Any:
            return list(backends)

        @ob.hookimpl
        def kernels(self) -> Any:
            return kernels

    return Plugin()


def offering(backend: str, kernels: dict[str, Any]) -> Any:
    """A plugin that offers a backend on NumPy arrays and its kernels, by method."""
    by_pair = {(backend, method): kernel for method, kernel in kernels.items()}
    return provider(by_pair, backends=[Backend(backend, "", namespace=lambda: np)])


@contextmanager
def installed(method: Method, kernel: Any, more: dict[tuple[str, str], Any] | None = None) -> Iterator[None]:
    """A plugin with this method, its kernel on NumPy, and more kernels."""
    ob.register(provider({("numpy", method.name): kernel, **(more or {})}, methods=[method]), method.name)
    try:
        yield
    finally:
        ob.unregister(method.name)


def stated(case: Any) -> str:
    """A test id for a name or its settings."""
    return case if isinstance(case, str) else " ".join(f"{k}={v}" for k, v in case.items())
