"""Synthetic regression streams: sizes, noise, drift, recurrence and condition."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.streams import BY_NAME, arrays, assert_sound
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.filterwarnings("error")
SYNTHETIC = ("regression", "drift", "recurring", "ill_conditioned", "delay_line")
SIZES = {
    "n": st.integers(1, 60),
    "d": st.integers(1, 20),
    "outputs": st.integers(1, 3),
    "seed": st.integers(0, 9),
}


@pytest.mark.parametrize("name", SYNTHETIC)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_any_size_is_possible(name: str, data: st.DataObject) -> None:
    chosen = {setting: data.draw(values, setting) for setting, values in SIZES.items()}
    created = BY_NAME[name].load(**chosen)
    assert_sound(created)
    assert created.X.shape == (chosen["n"], chosen["d"])
    assert created.y.shape == ((chosen["n"],) if chosen["outputs"] == 1 else (chosen["n"], chosen["outputs"]))


@pytest.mark.parametrize("name", ["regression", "delay_line"])
def test_without_noise_one_model_explains_all_rows(name: str) -> None:
    data = BY_NAME[name].load(n=60, d=7, outputs=2, noise=0.0)
    W = np.linalg.lstsq(data.X, data.y)[0]
    for X, y in ((data.X, data.y), data.test, data.validation):  # type: ignore[misc]
        np.testing.assert_allclose(X @ W, y, atol=1e-12)


@pytest.mark.parametrize("name", ["regression", "drift", "ill_conditioned", "delay_line"])
def test_noise_has_the_standard_deviation_of_the_setting(name: str) -> None:
    quiet, noisy = (BY_NAME[name].load(n=4000, noise=noise) for noise in (0.0, 2.0))
    assert np.array_equal(quiet.X, noisy.X)
    assert np.std(noisy.y - quiet.y) == pytest.approx(2.0, rel=0.05)
    assert [a.tobytes() for a in arrays(quiet)[2:]] == [a.tobytes() for a in arrays(noisy)[2:]]


def test_test_set_of_drift_uses_the_last_weights() -> None:
    data = BY_NAME["drift"].load(n=3000, d=4, drift=0.1, noise=0.0)
    assert data.test is not None
    W = np.linalg.lstsq(*data.test)[0]
    misfit = (data.X @ W - data.y) ** 2
    assert misfit[-1] == pytest.approx(0.0, abs=1e-24)
    assert misfit[-30:].mean() < 0.1 * misfit[:300].mean()
    assert data.tasks == tuple(range(0, 3001, 300))


def test_drift_has_the_rate_of_the_setting() -> None:
    data = BY_NAME["drift"].load(n=4000, d=1, drift=0.5, noise=0.0)
    steps = np.diff(data.y / data.X[:, 0])
    assert np.std(steps) == pytest.approx(0.5, rel=0.05)


def test_weights_are_constant_without_drift() -> None:
    data = BY_NAME["drift"].load(n=50, d=5, drift=0.0, noise=0.0)
    W = np.linalg.lstsq(*data.test)[0]  # type: ignore[misc]
    np.testing.assert_allclose(data.X @ W, data.y, atol=1e-12)


@given(n=st.integers(1, 80), d=st.integers(1, 20), period=st.integers(1, 30))
@settings(deadline=None)
def test_recurring_rows_repeat_after_a_period(n: int, d: int, period: int) -> None:
    data = BY_NAME["recurring"].load(n=n, d=d, period=period)
    np.testing.assert_allclose(np.linalg.norm(data.X, axis=1), 1.0, rtol=1e-14)
    assert np.array_equal(data.X[period:], data.X[:-period])
    assert np.array_equal(data.y[period:], data.y[:-period])
    assert data.tasks == (*range(0, n, period), n)
    if d > 1:
        assert len(np.unique(data.X, axis=0)) == min(n, period)


def test_test_set_of_recurring_is_in_the_span_of_its_rows() -> None:
    data = BY_NAME["recurring"].load(n=12, d=30, period=4)
    least = np.linalg.pinv(data.X) @ data.y
    for X, y in (data.test, data.validation):  # type: ignore[misc]
        np.testing.assert_allclose(X @ least, y, atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0, rtol=1e-14)


@given(n=st.integers(2, 60), d=st.integers(2, 40), power=st.floats(0, 8), seed=st.integers(0, 99))
@settings(deadline=None)
def test_condition_number_is_that_of_the_setting(n: int, d: int, power: float, seed: int) -> None:
    data = BY_NAME["ill_conditioned"].load(n=n, d=d, condition=10**power, seed=seed)
    s = np.linalg.svd(data.X, compute_uv=False)
    assert s[0] == pytest.approx(np.sqrt(n), rel=1e-12)
    assert s[0] / s[-1] == pytest.approx(10**power, rel=1e-13 * 10**power)  # the SVD's error in s[-1] is eps s[0]
    np.testing.assert_allclose(np.diff(np.log10(s)), -power / (len(s) - 1), atol=1e-13 * 10**power)


def test_test_set_of_ill_conditioned_has_the_distribution_of_its_rows() -> None:
    data = BY_NAME["ill_conditioned"].load(n=200, d=3, condition=10.0)
    assert data.test is not None
    learned, tested = (X.T @ X / len(X) for X in (data.X, data.test[0]))
    np.testing.assert_allclose(tested, learned, atol=0.15)


@given(n=st.integers(1, 60), d=st.integers(1, 40))
@settings(deadline=None)
def test_a_delay_line_shifts_by_one_each_row(n: int, d: int) -> None:
    data = BY_NAME["delay_line"].load(n=n, d=d)
    for X in (data.X, data.test[0], data.validation[0]):  # type: ignore[index]
        assert np.array_equal(X[1:, 1:], X[:-1, :-1])
        assert len(np.unique(X)) == len(X) + d - 1
