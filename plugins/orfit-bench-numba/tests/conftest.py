"""The kit on compiled kernels: a method of each kind in float64 in the quick tests, the rest in the slow tests."""

from pathlib import Path

import pytest
from helpers.quick import mark_slow


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    mark_slow(items, Path(__file__).parent)
