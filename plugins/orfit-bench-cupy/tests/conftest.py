"""CuPy's place taken by NumPy: all that is not the device itself is proven there."""

from collections.abc import Iterator

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.spec import Backend
from orfit_bench_cupy import METHODS

IN_PLACE = Backend("cupy-on-numpy", "the CuPy backend's code on NumPy arrays", namespace=lambda: np, complete=True)


class Plugin:
    """The backend's kernels under another name."""

    SPEC_VERSION = (1, 0)

    @ob.hookimpl
    def backends(self):
        return (IN_PLACE,)

    @ob.hookimpl
    def kernels(self):
        return {(IN_PLACE.name, method): f"orfit_bench_cupy.{method}" for method in METHODS}


@pytest.fixture
def in_place() -> Iterator[str]:
    """The name of the backend while it is registered."""
    ob.register(Plugin(), IN_PLACE.name)
    yield IN_PLACE.name
    ob.unregister(IN_PLACE.name)
