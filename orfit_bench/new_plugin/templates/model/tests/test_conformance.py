"""The model satisfies what orfit_bench requires of it."""

from orfit_bench.conformance import check_model

from my_plugin.model import MODEL


def test_model() -> None:
    """No faults are found."""
    assert check_model(MODEL) == []
