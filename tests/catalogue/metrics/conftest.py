"""Methods of all kinds, and streams for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from helpers import kinds
from helpers.records import Streams

import orfit_bench as ob


@pytest.fixture(autouse=True, scope="module")
def plugins() -> Iterator[None]:
    """Methods of all kinds, and streams for them."""
    offers = kinds.Kinds(), Streams()
    for plugin in offers:
        ob.register(plugin)
    yield
    for plugin in offers:
        ob.unregister(plugin)
