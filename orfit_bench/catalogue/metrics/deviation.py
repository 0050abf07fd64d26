"""Deviation of the weights from the batch solution."""

import numpy as np

from orfit_bench.spec.data import Array
from orfit_bench.spec.law import deviation
from orfit_bench.spec.metric import Metric, Record


def measure(record: Record) -> float | None:
    """Deviation of the weights from the batch solution for the learned rows; None if there is no such solution.

    Most methods have none if targets are missing.
    """
    learner, method = record.learner, record.learner.method
    if method.theory.batch is None or not method.traits.supervised or not learned_once(record):
        return None
    X, Y = np.asarray(record.data.X, float), targets(record)
    want = method.theory.batch(X, Y, np.zeros((X.shape[1], Y.shape[1])), learner.settings)
    if want is None or np.isnan(want).any():
        return None
    return deviation(learner.array(method.state.weights), want)


def memory(record: Record) -> float:
    """Bytes that the batch solution needs, as the method declares; by default four copies of the rows."""
    theory, (n, d) = record.learner.method.theory, record.data.X.shape
    if theory.batch is None or not record.learner.method.traits.supervised or not learned_once(record):
        return 0.0
    sizes = {"row": n, "feature": d, "parameter": d, "output": targets(record).shape[1]}
    return float(theory.batch_memory(record.learner.settings, sizes) if theory.batch_memory else 32 * n * d)


def learned_once(record: Record) -> bool:
    """Whether a single learner of a linear model learned each row once.

    Batch solutions do not describe several passes or averages of learners.
    """
    learner = record.learner
    return learner.model.name == "linear" and {record.rows_learned, learner.n_samples_seen_} == {len(record.data.X)}


def targets(record: Record) -> Array:
    """Return Y (n, r) as the method learned it; labels are one-hot, with classes in order of appearance."""
    y = np.asarray(record.data.y)
    if record.learner.method.traits.labels:
        return np.asarray(y[:, None] == record.learner.classes_, float)
    return np.asarray(y, float).reshape(len(y), -1)


METRIC = Metric(
    name="deviation",
    unit="relative",
    summary="deviation of the weights from the batch solution",
    formula="max |w - w_batch| / max |w_batch|",
    source="the method's declaration",
    better="lower",
    measure=measure,
    tolerated=9.0,  # a factor of ten: rounding errors add up in another order on another machine
    floor=1e-12,
    memory=memory,
)
