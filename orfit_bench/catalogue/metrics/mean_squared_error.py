"""Mean squared error on the learned rows."""

from orfit_bench.spec.metric import Metric, Record


def measure(record: Record) -> float | None:
    """Mean over all rows of the stream, after the last row is learned; None for labels and subspaces."""
    return record.stream_error if record.learner.method.traits.numbers else None


METRIC = Metric(
    name="mean_squared_error",
    unit="target^2",
    summary="error on all rows learned, at the end",
    formula="E_n = (1/n) sum_i |y_i - f(x_i; w_n)|^2",
    source="survey, section II (E_t, one row a task)",
    better="lower",
    measure=measure,
    floor=1e-12,
)
