"""Learners and rows for tests of merging."""

import numpy as np
from conftest import make_cubic, make_rows

import orfit_bench as ob

CUBIC, EPS = make_cubic(), np.finfo(float).eps


def data(method, n, d, seed=0):
    """Rows with the targets that the method learns."""
    X, y = make_rows(n, d, seed=seed)
    return X, (np.where(y > 0.5, "high", "low") if method == "class_rls" else y)


def of(method, **settings):
    return ob.create(method, **settings).partial_fit(*data(method, 5, 3))
