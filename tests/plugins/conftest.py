"""Registration of plugins for one test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import orfit_bench as ob
from orfit_bench.plugins.registry import registry


@pytest.fixture
def registered() -> Iterator[Callable[..., str]]:
    """A function that registers a plugin until the end of the test."""
    names = []

    def add(plugin: Any, name: str = "mine") -> str:
        ob.register(plugin, name)
        names.append(name)
        return name

    before = set(ob.methods()), set(ob.backends()), set(registry().kernels)
    yield add
    for name in names:
        ob.unregister(name)
    assert (set(ob.methods()), set(ob.backends()), set(registry().kernels)) == before
