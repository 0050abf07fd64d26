"""Standard deviations of a fleet's predictions: those of its members."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import orfit_bench as ob

SIZE, ROWS, FEATURES = 4, 6, 3
FACTORS = [0.9, 0.97, 1.0, 1.01]
CASES: dict[str, tuple[str, dict[str, Any], dict[str, float]]] = {
    "rls": ("rls", {"ridge": 0.3}, {}),
    "rls with factors of its members": ("rls", {"forgetting_factor": FACTORS}, {"noise_variance": 3.0}),
    "rls in square-root form": ("rls", {"form": "square_root"}, {"noise_variance": 0.5}),
    "ridge": ("ridge", {"forgetting_factor": FACTORS}, {"noise_variance": 3.0}),
    "kalman": ("kalman", {"process_noise": [0.1, 0.2, 0.3, 0.4], "observation_noise": 2.0}, {}),
    "kalman that moves": ("kalman", {"transition": 0.9, "process_noise": 0.1}, {}),
}


def learned(method: str, settings: dict[str, Any], backend: str, dtype: str, outputs: tuple[int, ...]) -> Any:
    """A fleet in which one member has seen more rows."""
    rng = np.random.default_rng(0)
    fleet = ob.fleet(method, SIZE, backend=backend, dtype=dtype, **settings)
    fleet.partial_fit(rng.standard_normal((SIZE, ROWS, FEATURES)), rng.standard_normal((SIZE, ROWS, *outputs)))
    return fleet.partial_fit(rng.standard_normal((2, FEATURES)), rng.standard_normal((2, *outputs)), which=[2, 2])


@pytest.mark.parametrize("outputs", [(), (2,)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("case", CASES)
def test_deviations_are_those_of_the_members(case: str, backend: str, dtype: str, outputs: tuple[int, ...]) -> None:
    method, settings, noise = CASES[case]
    fleet, which = learned(method, settings, backend, dtype, outputs), [2, 0, 2, 3]
    X = np.random.default_rng(1).standard_normal((SIZE, 4, FEATURES))
    mean, deviation = fleet.predict(X, return_std=True, **noise)
    some_mean, some = fleet.predict(X[0], which=which, return_std=True, **noise)
    np.testing.assert_array_equal(mean, fleet.predict(X))
    np.testing.assert_array_equal(some_mean, fleet.predict(X[0], which=which))
    assert deviation.shape == mean.shape == (SIZE, 4, *outputs)
    assert deviation.dtype == some.dtype == dtype
    bound = 1e-12 if dtype == "float64" else 1e-5
    for i in range(SIZE):
        np.testing.assert_allclose(deviation[i], fleet[i].predict(X[i], return_std=True, **noise)[1], rtol=bound)
    want = [fleet[i].predict(X[0, r : r + 1], return_std=True, **noise)[1][0] for r, i in enumerate(which)]
    np.testing.assert_allclose(some, want, rtol=bound)


def test_no_rows_have_no_deviations() -> None:
    for case in CASES:
        method, settings, _ = CASES[case]
        fleet = learned(method, settings, "numpy", "float64", ())
        assert fleet.predict(np.empty((SIZE, 0, FEATURES)), return_std=True)[1].shape == (SIZE, 0)
        assert fleet.predict(np.empty((0, FEATURES)), which=[], return_std=True)[1].shape == (0,)


def test_methods_without_a_distribution_are_refused() -> None:
    fleet = learned("lms", {}, "numpy", "float64", ())
    with pytest.raises(TypeError, match="lms predicts numbers without a distribution"):
        fleet.predict(np.ones((SIZE, 1, FEATURES)), return_std=True)


def test_noise_is_checked() -> None:
    X = np.ones((SIZE, 1, FEATURES))
    with pytest.raises(ValueError, match="noise_variance=-1: want a positive number"):
        learned("rls", {}, "numpy", "float64", ()).predict(X, noise_variance=-1)
    with pytest.raises(TypeError, match="noise_variance: the setting observation_noise of kalman is its noise"):
        learned("kalman", {}, "numpy", "float64", ()).predict(X, return_std=True, noise_variance=2.0)


def test_the_member_without_a_distribution_is_named() -> None:
    X, y = np.eye(2)[[0, 1, 0, 0]], [1.0, 2.0, 3.0, 4.0]
    fleet = ob.fleet("ridge", 2, backend="numpy", ridge=0.0).partial_fit(X, y, which=[0, 0, 1, 1])
    with (
        pytest.warns(ob.AccuracyWarning, match="half of the digits of the weights"),
        pytest.raises(ValueError, match=r"^member 1: ridge: the rows and the prior do not determine all weights"),
    ):
        fleet.predict(X, which=[0, 0, 0, 1], return_std=True)
    fleet = ob.fleet("rls", 2, backend="numpy", forgetting_factor=[1.0, 0.9], ridge=1e-3)
    fleet.partial_fit(np.ones((2, 1, 2)), np.ones((2, 1)))
    assert np.isfinite(fleet.predict(np.ones((2, 1, 2)), return_std=True)[1]).all()


def test_one_warning_counts_the_members_with_inaccurate_deviations() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3, 200, 4)).astype(np.float32)
    X[:2] = X[:2, :, :1] + np.float32(1e-6) * X[:2]  # columns of two members that differ by 1e-6 of their size
    fleet = ob.fleet("rls", 3, backend="numpy", dtype="float32", form="square_root", ridge=1e-14)
    fleet.partial_fit(X, X[:, :, 0])
    with pytest.warns(ob.AccuracyWarning) as noticed:
        fleet.predict(np.stack(3 * [np.eye(4)]), return_std=True)
    (text,) = (str(one.message) for one in noticed)
    assert text.startswith("rls: variances of predictions may be wrong by a factor of")
    assert text.endswith("(2 members of the fleet)")
