"""The conformance tests of a backend that the quick test command runs; the others are marked slow."""

from pathlib import Path
from typing import Any

import pytest

QUICK = ("class_rls", "kalman", "lms", "oja", "rls")
"""At least one method of each kind."""


def mark_slow(items: list[pytest.Item], folder: Path) -> None:
    """Mark the tests of conformance below a folder as slow, except those of QUICK methods in float64."""
    for item in items:
        if folder in item.path.parents and item.path.name == "test_conformance.py":
            parts: Any = item.name.partition("[")[2].rstrip("]").split("-")
            if "float32" in parts or not set(QUICK) & set(parts):
                item.add_marker(pytest.mark.slow)
