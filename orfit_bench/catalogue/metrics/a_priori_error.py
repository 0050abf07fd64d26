"""A-priori error: the error of prequential predictions."""

import numpy as np

from orfit_bench.spec.data import Array
from orfit_bench.spec.metric import Metric, Record


def measure(record: Record) -> float | None:
    """Mean over the rows with observed y; None for labels and subspaces."""
    if record.a_priori is None:
        return None
    errors = record.a_priori[known(record)]
    return float(errors.mean()) if len(errors) else None


def known(record: Record) -> Array:
    """Whether all outputs of each row are observed, (n,)."""
    y = np.asarray(record.data.y, float)
    return np.asarray(~np.isnan(y.reshape(len(y), -1)).any(axis=1))


METRIC = Metric(
    name="a_priori_error",
    unit="target^2",
    summary="error on each row just before its step",
    formula="mean_i e_i^2, e_i = y_i - f(x_i; w_(i-1)), over the rows of the first pass",
    source="survey, section II (a priori error)",
    better="lower",
    measure=measure,
    floor=1e-12,
)
