"""Fixtures of the tests in this folder."""

from types import SimpleNamespace

import pytest

import orfit_bench as ob
from orfit_bench.bench import Suite, run


@pytest.fixture
def plugin():
    """Registers a plugin with the given hooks for the time of a test."""
    added = []

    def add(**hooks):
        offers = {name: ob.hookimpl(value) for name, value in hooks.items()}
        created = SimpleNamespace(__name__=f"test-{len(added)}", SPEC_VERSION=(1, 0), **offers)
        ob.register(created)
        added.append(created)

    yield add
    for created in added:
        ob.unregister(created)


@pytest.fixture(scope="module")
def measured():
    """Results of two methods on one stream."""
    return run(Suite(methods=["lms", "rls"], backends=["numpy"], streams=["drift"], rows=[40]), isolate=False)
