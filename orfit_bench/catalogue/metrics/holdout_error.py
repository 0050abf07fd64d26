"""Error on the test set."""

from orfit_bench.spec.metric import Metric, Record


def measure(record: Record) -> float | None:
    """The last recorded test error; None without a test set."""
    return None if record.data.test is None else float(record.test_error[-1])


METRIC = Metric(
    name="test_error",
    unit="by kind",
    summary="error on the test set, at the end",
    formula="numbers: sqrt(mean |y - f(x)|^2); labels: share of wrong ones; subspaces: mean |x - C C'x|^2",
    source="thesis, section 5.1; Krasulina paper, eq. (1)",
    better="lower",
    measure=measure,
    floor=1e-12,
)
