"""The metric satisfies what orfit_bench requires of it."""

from my_plugin.metric import METRIC
from orfit_bench.conformance import check_metric


def test_metric() -> None:
    """Nothing is found."""
    assert check_metric(METRIC) == []
