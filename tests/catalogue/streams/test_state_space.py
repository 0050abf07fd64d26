"""The stream of a linear Gaussian state space."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.streams import BY_NAME
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.filterwarnings("error")


@given(n=st.integers(1, 30), d=st.integers(1, 5), outputs=st.integers(1, 3), F=st.sampled_from([-1.0, 0.0, 0.5, 1.0]))
@settings(deadline=None)
def test_state_without_noise_follows_the_transition(n: int, d: int, outputs: int, F: float) -> None:
    still = {"n": n, "d": d, "outputs": outputs, "process_noise": 0.0, "observation_noise": 0.0}
    data = BY_NAME["state_space"].load(**still, transition=F)
    at_rest = BY_NAME["state_space"].load(**still, transition=1.0)
    y = at_rest.y * (F ** np.arange(n)).reshape(-1, *[1] * (data.y.ndim - 1))  # type: ignore[operator, union-attr]
    np.testing.assert_allclose(data.y, y, atol=1e-12)
    W = np.linalg.lstsq(data.X, at_rest.y)[0]
    np.testing.assert_allclose(data.X @ W, at_rest.y, atol=1e-10)


@pytest.mark.parametrize("settings", [{}, {"transition": 0.5, "process_noise": 0.75}, {"transition": 1.0}])
def test_innovations_are_white_with_the_predicted_variance(
    settings: dict[str, float],
) -> None:
    """Only the filter with the true settings has this: e^2 / s is chi-squared, mean 1, and e_t e_(t-1) has mean 0."""
    known = {s.name: s.default for s in BY_NAME["state_space"].settings} | settings
    F, Q, R = (known[name] for name in ("transition", "process_noise", "observation_noise"))
    data = BY_NAME["state_space"].load(n=4000, d=3, **settings)
    m, P, found = np.zeros(3), np.eye(3), []
    for t, (x, y) in enumerate(zip(data.X, data.y, strict=True)):  # type: ignore[arg-type]
        if t:
            m, P = F * m, F * F * P + Q * np.eye(3)
        s = x @ P @ x + R
        found.append((y - x @ m) / np.sqrt(s))
        m, P = m + P @ x * (y - x @ m) / s, P - np.outer(P @ x, P @ x) / s
    e = np.array(found)
    four = 4 / np.sqrt(len(e))  # standard deviations of the means below, whose terms have variance 2 and 1
    assert np.mean(e**2) == pytest.approx(1, abs=four * np.sqrt(2))
    assert np.mean(e[1:] * e[:-1]) == pytest.approx(0, abs=four)


def test_state_at_equilibrium_stays_there() -> None:
    """With the default settings Q is 1 - F^2 within half a percent, so each entry of the state has variance 1."""
    data = BY_NAME["state_space"].load(n=3000, d=2, outputs=200, observation_noise=0.0)
    assert np.var(data.y[-500:]) == pytest.approx(2.0, rel=0.1)  # type: ignore[index]
    assert np.var(data.y[:500]) == pytest.approx(2.0, rel=0.1)  # type: ignore[index]
