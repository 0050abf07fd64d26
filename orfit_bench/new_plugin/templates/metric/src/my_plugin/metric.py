"""The mean absolute error on the test set: replace `measure` with your own metric."""

import numpy as np
from orfit_bench import spec


def measure(record: spec.Record) -> float | None:
    """The mean of |y - f(x)| over the test rows; None if there are none, or if y is not numeric."""
    test = record.data.test
    if test is None or test[1] is None or record.a_priori is None:
        return None
    X, y = test
    return float(np.abs(y - record.learner.predict(X)).mean())


METRIC = spec.Metric(
    name="my_plugin",
    unit="target",
    summary="mean absolute error on the test set after the last row",
    formula="mean_i |y_i - f(x_i)|",
    source="",
    better="lower",
    measure=measure,
)
