"""Compression loss of a subspace on the learned rows."""

from orfit_bench.spec.metric import Metric, Record


def measure(record: Record) -> float | None:
    """Mean over all rows of the stream after the last row; None if the learner is not for a subspace."""
    return record.stream_error if not record.learner.method.traits.supervised else None


METRIC = Metric(
    name="compression_loss",
    unit="row^2",
    summary="compression loss on the rows learned, at the end",
    formula="mean_i |x_i - C C'x_i|^2, C orthonormal",
    source="Krasulina paper, eq. (6) without the factor 1/2, as in eq. (1) and Table 1",
    better="lower",
    measure=measure,
    floor=1e-12,
)
