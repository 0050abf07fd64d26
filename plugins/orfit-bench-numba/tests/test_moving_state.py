"""Products with a dense transition: how they are computed depends on the size of the state."""

import numpy as np
import pytest

import orfit_bench as ob


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("d", [3, 40, 41, 42, 43, 44, 64, 100, 101, 199, 200, 201, 251, 354])
def test_a_dense_transition_of_any_size(d, dtype):
    rng = np.random.default_rng(d)
    F = np.linalg.qr(rng.standard_normal((d, d)))[0] * 0.95
    Q = np.diag(rng.uniform(0.1, 0.2, d)) + 0.02
    X, y = rng.standard_normal((6, d)).astype(dtype), rng.standard_normal(6).astype(dtype)
    numba, numpy = (
        ob.create("kalman", backend=backend, dtype=dtype, transition=F, process_noise=Q).partial_fit(X, y)
        for backend in ("numba", "numpy")
    )
    one = ob.create("kalman", backend="numba", dtype=dtype, transition=F, process_noise=Q)
    for x, target in zip(X, y, strict=True):
        one.learn_one(x, target)
    for name in ("covariance", "mean"):
        want = numpy.array(name)
        error = abs(numba.array(name) - want).max()
        assert error <= 50 * np.finfo(dtype).eps * abs(want).max()
        assert np.array_equal(one.array(name), numba.array(name))
