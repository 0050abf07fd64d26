"""The rule on arrays. It changes the state s in place; the rows have been validated."""

import numpy as np
from orfit_bench.kernels.filtering import filter_step
from orfit_bench.spec import Array, FilterParams, State

LACKS = {"smoothing": "the covariance does not change, so that smoothing would not be optimal"}
"""Features that this kernel does not support, with the reason."""


def learn(s: State, X: Array, Y: Array, p: FilterParams, out: Array | None) -> int:
    """Learn the rows in order and write the prediction of each to `out`. Returns the number of rows learned."""
    for i in range(len(X)):
        row = slice(i, i + 1)
        if not filter_step(s, X[row], Y[row], p.at(i), None if out is None else out[row], predict_step, update):
            return i
    return len(X)


def predict_step(s: State, mean: Array, p: FilterParams) -> bool:
    """Apply the transition, after which the mean is `mean`. Returns False if the mean is not finite."""
    if not np.isfinite(mean).all():
        return False
    s.mean[...] = mean
    return True


def update(s: State, J: Array, E: Array, p: FilterParams) -> bool:
    """Correct the mean with one row J (1, d) with errors E (1, r). Returns False if the result is not finite."""
    M = s.covariance
    if p.t > 1 and p.transition is not None:
        M = p.transition @ M @ p.transition.T
    if p.t > 1 and p.process_noise is not None:
        M = M + p.process_noise
    size = p.observation_noise + J @ M @ J.T
    if not size.any():  # nothing is observed
        return True
    mean = s.mean + M @ J.T @ (E / size)
    if not np.isfinite(size).all() or not np.isfinite(mean).all():
        return False
    s.mean[...] = mean
    return True
