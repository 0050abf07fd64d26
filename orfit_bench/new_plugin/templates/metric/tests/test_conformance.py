"""The metric satisfies what orfit_bench requires of it."""

from orfit_bench.conformance import check_metric

from my_plugin.metric import METRIC


def test_metric() -> None:
    """No faults are found."""
    assert check_metric(METRIC) == []
