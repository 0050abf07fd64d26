"""A plugin with one method and one backend, for tests that register it in their process."""

from __future__ import annotations

from typing import Any

import numpy as np
from helpers.methods import declare

import orfit_bench as ob
from orfit_bench.spec import Backend, Field


class Plugin:
    """A backend and a method in a class: hooks may be methods of an object."""

    SPEC_VERSION = (1, 0)

    def __init__(self, method: str = "mine", backend: str = "own", kernels: Any = None) -> None:
        self.method, self.backend, self.given = method, backend, kernels or {}

    @ob.hookimpl
    def methods(self) -> Any:
        return (declare(self.method, Field("w", ("parameter", "output"), "weights"), combine={"averages": ("w",)}),)

    @ob.hookimpl
    def backends(self) -> Any:
        return (Backend(self.backend, "", namespace=lambda: np),)

    @ob.hookimpl
    def kernels(self) -> Any:
        return {(self.backend, method): kernel for method, kernel in self.given.items()}
