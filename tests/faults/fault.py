"""A fault: a learner with one mistake, and the checks of the kit that detect it; all others pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
from helpers.cases import provider

import orfit_bench as ob
from faults.reference_learner import (
    PLAIN,
    PLAIN_KERNEL,
    KernelModule,
    block,
)
from orfit_bench.conformance import Report, conform
from orfit_bench.conformance.check import SMOKE
from orfit_bench.spec import Backend, Method

NAME = "wrong"
"""The method's and the backend's name while a fault is installed."""
MIXED = "any_order_of_operations"
"""A check that does nearly everything that a learner can do."""
ON_NUMPY = Backend(NAME, "", namespace=lambda: np)


@dataclass(frozen=True)
class Fault:
    """A description, the checks that detect the fault, and the declarations and kernels that have it."""

    description: str
    caught: frozenset[str]
    method: Method = PLAIN
    kernel: Any = PLAIN_KERNEL
    reference: Any = None
    """A correct kernel as the reference; None: there is no reference to compare with."""
    backend: Backend = ON_NUMPY
    host: tuple[Any, str, Any] | None = None
    """The common code that is replaced: (object, attribute, replacement)."""
    dtype: str = "float64"
    slow: bool = False
    explains_others: bool = False
    """Whether other checks fail as a consequence; then the check that detects it is listed first, and MIXED fails."""
    message: str = ""
    """Text that the report must contain, if an author needs it to find the mistake."""

    @property
    def noticed_by(self) -> frozenset[str]:
        """The checks that notice the fault, also those that would if the kit continued after the first rows."""
        hidden = self.explains_others or SMOKE in self.caught
        return self.caught | ({MIXED} if hidden else set())

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Register the fault as a plugin of this process."""
        ob.register(_plugin(self), NAME)
        try:
            if self.host:
                with patch.object(*self.host):
                    yield
            else:
                yield
        finally:
            ob.unregister(NAME)

    def report(self, only: Sequence[str] = ()) -> Report:
        """The report of the whole kit, or of some checks."""
        with self.installed():
            return conform(NAME, backends=[NAME], dtypes=[self.dtype], slow=self.slow, only=only)


def _plugin(fault: Fault) -> Any:
    method, backend = replace(fault.method, name=NAME), replace(fault.backend, name=NAME)
    kernel = fault.kernel if isinstance(fault.kernel, ModuleType) else deepcopy(fault.kernel)  # as in a new process
    offers = {(NAME, NAME): kernel} | ({("numpy", NAME): fault.reference} if fault.reference else {})
    return provider(offers, methods=[method], backends=[backend])


FAULTS: dict[str, Fault] = {}


def fault(name: str, description: str, *caught: str, **parts: Any) -> None:
    """Add a fault."""
    assert name not in FAULTS
    FAULTS[name] = Fault(description, frozenset(caught), **parts)


def faulty_learn(*caught: str, **parts: Any) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Add a kernel with a wrong `learn`, described by its name and docstring."""

    def taken(learn: Callable[..., int]) -> Callable[..., int]:
        kernel = KernelModule(learn=learn, step=block)
        fault(learn.__name__, (learn.__doc__ or "").strip(), *caught, kernel=kernel, **parts)
        return learn

    return taken
