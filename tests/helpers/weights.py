"""Rows and learners for tests of the weights of rows."""

import numpy as np

import orfit_bench as ob

rng = np.random.default_rng(0)
X, y = rng.standard_normal((30, 4)), rng.standard_normal(30)


def learned(name, *chunks, **settings):
    learner = ob.create(name, backend="numpy", **settings)
    for rows, of, weights in chunks:
        learner.partial_fit(rows, of, sample_weight=weights)
    return learner


def weights_of(learner):
    w = learner.state()[learner.method.state.weights].values
    return w[:, np.argsort(learner.classes_)] if hasattr(learner, "classes_") else w
