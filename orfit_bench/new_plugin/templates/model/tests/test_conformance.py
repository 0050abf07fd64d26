"""The model satisfies what orfit_bench requires of it."""

from my_plugin.model import MODEL
from orfit_bench.conformance import check_model


def test_model() -> None:
    """Nothing is found."""
    assert check_model(MODEL) == []
