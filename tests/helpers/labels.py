"""Rows with labels, and labels of every kind that a classifier accepts."""

import numpy as np


def labelled_rows(labels, n=20, d=3, seed=0):
    """X (n, d) and labels (n,) drawn from these, read-only rows."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X.flags.writeable = False
    return X, [labels[i] for i in rng.integers(0, len(labels), n)]
