"""Single precision runs the same code, compiled once more: it is with the slow tests, for it takes as long again."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if "float32" in item.name and HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)
