"""The log density of rows that are filtered together is that of the same rows one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import orfit_bench as ob


def rows(n: int, d: int, outputs: int) -> tuple[Any, Any, dict[str, Any]]:
    """Rows, targets, some of them missing, and inputs that vary with the rows."""
    rng = np.random.default_rng(n)
    X, y = rng.standard_normal((n, d)), rng.standard_normal((n, outputs))
    y[rng.random(n) < 0.1, 0] = np.nan
    transition = 0.9 * np.linalg.qr(rng.standard_normal((n, d, d)))[0]
    control = rng.standard_normal((n, d, outputs))
    varying = {"transition": transition, "observation_noise": rng.uniform(0.1, 2, n), "control": control}
    return X, y, varying


@pytest.mark.parametrize("varies", [(), ("transition",), ("observation_noise", "control")], ids=str)
@pytest.mark.parametrize("outputs", [1, 2])
def test_both_backends_find_the_same_density(varies: tuple[str, ...], outputs: int) -> None:
    X, y, varying = rows(3000, 8, outputs)  # more than are filtered together
    found = []
    for backend in ("numpy", "numba"):
        learner = ob.create("kalman", backend=backend, process_noise=0.01).partial_fit(X[:5], y[:5])
        before = learner.to_bytes()
        found.append(learner.log_likelihood(X, y, **{name: varying[name] for name in varies}))
        assert learner.to_bytes() == before
    np.testing.assert_allclose(*found, rtol=1e-12)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_a_refused_row_is_named(backend: str) -> None:
    X, y, _ = rows(3000, 8, 1)
    X[2500] = 1e200
    learner = ob.create("kalman", backend=backend, process_noise=0.01)
    with pytest.raises(ob.DivergedError) as raised:
        learner.log_likelihood(X, y)
    assert (raised.value.step, raised.value.row) == (2501, 2500)


def test_rows_without_noise_are_filtered_one_by_one() -> None:
    X, y = np.eye(3), np.array([1.0, 2.0, 3.0])
    found = [ob.create("kalman", backend=b, observation_noise=0).log_likelihood(X, y) for b in ("numpy", "numba")]
    np.testing.assert_allclose(found, -1.5 * np.log(2 * np.pi) - 7, rtol=1e-12)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("settings", [{}, {"model": ob.MLP(())}], ids=["linear", "model"])
def test_a_density_too_small_for_its_logarithm_is_no_singular_one(backend: str, settings: dict[str, Any]) -> None:
    learner = ob.create("kalman", backend=backend, **settings)
    assert learner.log_likelihood([[1.0, 0.0]], [1e160]) == -np.inf
