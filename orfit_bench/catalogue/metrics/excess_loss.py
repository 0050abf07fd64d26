"""Compression loss relative to that of batch PCA."""

import numpy as np

from orfit_bench.catalogue.metrics import compression_loss
from orfit_bench.spec.metric import Metric, Record


def measure(record: Record) -> float | None:
    """Excess of the compression loss over that of batch PCA on the same rows, in percent; None if the latter is 0."""
    loss = compression_loss.measure(record)
    if loss is None:
        return None
    X = np.asarray(record.data.X, float)
    values = np.linalg.svd(X, compute_uv=False) ** 2 / len(X)
    best = float(values[record.learner.settings["n_components"] :].sum())
    nothing = np.finfo(float).eps * max(X.shape) * values.sum()
    return None if best <= nothing else 100 * (loss - best) / best


METRIC = Metric(
    name="excess_loss",
    unit="%",
    summary="compression loss in excess of that of batch PCA",
    formula="100 (loss - loss_batch) / loss_batch, loss_batch the sum of all but the k largest eigenvalues of X'X / n",
    source="Krasulina paper, percent excess loss",
    better="lower",
    measure=measure,
    floor=1e-12,
    memory=lambda record: 32.0 * record.data.size,  # copies of the rows
)
