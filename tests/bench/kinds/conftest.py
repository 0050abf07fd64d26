"""Methods of every kind, and a stream without targets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from helpers.plans import More

import orfit_bench as ob


@pytest.fixture(autouse=True, scope="module")
def plugin() -> Iterator[None]:
    """The methods of the tests."""
    ob.register(More())
    yield
    ob.unregister("More")
