"""Distance from the exact solution."""

import numpy as np

from orfit_bench.spec.law import deviation
from orfit_bench.spec.metric import Metric, Record


def measure(record: Record) -> float | None:
    """Deviation of w from the method's batch solution over the rows learned; None where it has none."""
    learner, data = record.learner, record.data
    if learner.method.batch is None or learner.model.name != "linear":
        return None
    # Several passes, or an average of learners that saw a share of the rows each: no batch solution is that.
    if {record.rows_learned, learner.n_samples_seen_} != {len(data.X)}:
        return None
    X, Y = np.asarray(data.X, float), np.asarray(data.y, float).reshape(len(data.y), -1)
    w0 = np.zeros((X.shape[1], Y.shape[1]))
    want = learner.method.batch(X, Y, w0, learner.settings)
    return None if want is None else deviation(learner.state()["w"].values, want)


METRIC = Metric(
    name="deviation",
    unit="relative",
    summary="largest deviation of w from the batch solution of the same rows",
    formula="max |w - w_batch| / max |w_batch|",
    source="the method's declaration",
    better="lower",
    measure=measure,
)
