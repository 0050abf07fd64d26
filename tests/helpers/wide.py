"""Rows with enough features to be learned in blocks of matrix products, unlike those of the kit."""

from itertools import pairwise

import numpy as np

import orfit_bench as ob

D = 420
CASES = [
    ("rls", {}),
    ("rls", {"forgetting_factor": 0.95}),
    ("rls", {"forgetting_factor": 1.05}),
    ("rls", {"ridge": 1e-3}),
    ("class_rls", {"forgetting_factor": 0.95}),
    ("kalman", {"observation_noise": 0.1}),
    ("kalman", {"transition": 0.9, "process_noise": 0.1}),
]


def learned(method, settings, backend, dtype, X, y, cuts=(0, 64, 150)):
    """The learner and its predictions, or the row that it refused."""
    learner, reported = ob.create(method, backend=backend, dtype=dtype, **settings), []
    for begin, end in pairwise(cuts):
        try:
            reported.append(learner.backend.asnumpy(learner.prequential(X[begin:end], y[begin:end])))
        except ob.DivergedError as error:
            return learner, begin + error.row
    return learner, np.concatenate([a[:, :2] if method in ("class_rls", "softmax") else a for a in reported])


def rows(method, dtype, outputs=2):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((150, D)).astype(dtype), rng.standard_normal((150, outputs)).astype(dtype)
    if method == "kalman":
        Y[5::7, 0] = np.nan
    return X, (np.arange(150) % 2 if method in ("class_rls", "softmax") else Y)


def alike(got, want, dtype):
    np.testing.assert_allclose(got, want, rtol=0, atol=3e4 * np.finfo(dtype).eps * abs(np.asarray(want)).max(initial=0))


def leaves_what_rows_leave(backend, method, settings, dtype, wild):
    """Assert that blocks have the same result as rows of the reference; one row may be extreme."""
    X, y = rows(method, dtype)
    if wild is not None:
        X[wild] = np.finfo(dtype).max / 8
    (mine, reported), (other, want) = (learned(method, settings, b, dtype, X, y) for b in (backend, "numpy"))
    alike(reported, want, dtype)
    a, b = mine.state(), other.state()
    for name in b.data_vars:
        alike(a[name].values, b[name].values, dtype)
    P = a["covariance" if method == "kalman" else "P"].values
    np.testing.assert_array_equal(P, P.T)
