"""Time-varying states with known moments: the ground truth for the laws of the filter and the smoother."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from orfit_bench.catalogue.shared.gaussian_states import States, condition_on_rows, joint_prior
from orfit_bench.spec import Array
from orfit_bench.spec.law import Rows, deviation, nan_max


class StateSpace(NamedTuple):
    """A moving state and its observations, all of them exact in float32."""

    X: Array
    y: Array
    """NaN for a missing observation."""
    transition: Array
    process_noise: Array
    observation_noise: Array
    mean: Array
    covariance: Array

    def varying(self, rows: slice) -> dict[str, Array]:
        """The time-varying settings of these rows."""
        return {n: getattr(self, n)[rows] for n in ("transition", "process_noise", "observation_noise")}

    def start(self) -> dict[str, Array]:
        """The settings of the first state."""
        return {"initial_mean": self.mean, "initial_covariance": self.covariance}

    def states(self, n: int) -> States:
        """The joint moments of the first n states given the first n rows."""
        seen = [i for i in range(n) if not np.isnan(self.y[i])]
        rows = [(i, self.X[i : i + 1], self.y[i : i + 1, None], self.observation_noise[i].reshape(1, 1)) for i in seen]
        return condition_on_rows(
            joint_prior(self.transition[:n], self.process_noise[:n], self.mean, self.covariance), rows
        )


def make_state_space(rows: Rows, n: int) -> StateSpace:
    """The first n rows, a fifth of them missing, of a state that is rotated, shrunk and disturbed between rows.

    The observation noise is a tenth of the variance of an observation at the start.
    """
    rng, X, d = np.random.default_rng(rows.seed), rows.X[:n], rows.X.shape[1]
    turns = np.linalg.qr(rng.standard_normal((n, d, d)))[0]
    y = np.where(np.arange(n) % 5 == 3, np.nan, rows.y[:n])
    noise = 0.1 * (X * X).sum(1).mean() * rng.uniform(0.5, 2, n)
    start = rng.standard_normal((d, 1)), random_spd(rng, d)
    parts = X, y, 0.95 * turns, 0.05 * random_spd(rng, n, d), noise, *start
    return StateSpace(*(to_float32(part) for part in parts))


def random_spd(rng: np.random.Generator, *shape: int) -> Array:
    """Random positive definite matrices of size shape[-1], with eigenvalues between about 0.3 and 5."""
    d = shape[-1]
    A = rng.standard_normal((*shape[:-1], d, 2 * d))
    return np.asarray(A @ np.swapaxes(A, -1, -2) / (2 * d) + 0.2 * np.eye(d))


def to_float32(a: Array) -> Array:
    """The numbers rounded to float32, so that learners of either dtype and the truth use the same numbers."""
    return np.asarray(a, np.float32).astype(float)


def moment_deviation(learner: Any, want: tuple[Array, Array]) -> float:
    """The deviation of a learner's mean and covariance from the expected ones."""
    return nan_max(*(deviation(learner.array(n), w) for n, w in zip(("mean", "covariance"), want, strict=True)))
