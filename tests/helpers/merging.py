"""Learners and rows for tests of merging."""

import numpy as np
from conftest import make_cubic, make_rows

import orfit_bench as ob

CUBIC, EPS = make_cubic(), np.finfo(float).eps


def data(method, n, d, seed=0):
    """Rows with the targets that the method learns."""
    X, y = make_rows(n, d, seed=seed)
    return X, (np.where(y > 0.5, "high", "low") if method in ("class_rls", "softmax") else y)


def of(method, **settings):
    return ob.create(method, **settings).partial_fit(*data(method, 5, 3))


TALL = [
    ("rls", {}),
    ("rls", {"forgetting_factor": 0.9, "ridge": 0.3}),
    ("rls", {"forgetting_factor": 1.05}),
    ("rls", {"initial_weights": [1.0, -2.0, 0.5]}),
    ("ridge", {}),
    ("ridge", {"forgetting_factor": 0.9, "ridge": 0.3}),
    ("ridge", {"forgetting_factor": 1.05}),
    ("ridge", {"initial_weights": [1.0, -2.0, 0.5]}),
    ("class_rls", {"ridge": 2.0}),
    ("class_rls", {"forgetting_factor": 0.95}),
    ("greedy", {}),
]
"""Settings with exact merges for any number of rows."""
WIDE = [
    ("icl", {}),
    ("orfit", {}),
    ("orfit", {"summary": "largest"}),
    ("rls", {"forgetting_factor": 0.0}),
    ("icl", {"initial_weights": np.linspace(-1, 1, 20)}),
]
"""Settings with exact merges if the rows are independent."""


def stated(case):
    return " ".join([case[0], *(f"{k}={np.shape(v) or v}" for k, v in case[1].items())])


def learned(case, X, y, **more):
    return ob.create(case[0], **case[1], **more).partial_fit(X, y)


def _parts(i, j, n):
    return slice(0, i), slice(i, j), slice(j, n)
