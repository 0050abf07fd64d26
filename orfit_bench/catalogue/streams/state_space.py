"""The linear Gaussian state-space model: a state with dynamics, observed with noise."""

from __future__ import annotations

import numpy as np

from orfit_bench.catalogue.streams.common import OUTPUTS, SEED, features, parts, rows, squeezed
from orfit_bench.spec.data import Data
from orfit_bench.spec.setting import Setting
from orfit_bench.spec.stream import Stream
from orfit_bench.spec.types import Number

SETTINGS = (
    Setting("transition", Number(-1, 1), 0.99, "the factor F of each step of the state"),
    Setting("process_noise", Number(0), 0.02, "variance of the noise added to each entry of the state"),
    Setting("observation_noise", Number(0), 0.1, "variance of the noise on each target"),
)
"""Named like the settings of the Kalman filter: --set kalman.transition=0.99 is the true transition."""


def make(
    n: int, d: int, outputs: int, transition: float, process_noise: float, observation_noise: float, seed: int
) -> Data:
    """X (n, d) ~ N(0, I), w_1 ~ N(0, I), w_t = F w_(t-1) + N(0, Q), y_t = x_t'w_t + N(0, R); ten tasks of equal length.

    There is no test set, since the state has moved on; the a-priori error measures how well it is followed.
    """
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((n, d)), rng.standard_normal((d, outputs))
    y = np.sqrt(observation_noise) * rng.standard_normal((n, outputs))
    for t in range(n):
        if t:
            w = transition * w + np.sqrt(process_noise) * rng.standard_normal(w.shape)
        y[t] += X[t] @ w
    return Data(X, squeezed(y), tasks=parts(n))


STATE_SPACE = Stream(
    "state_space",
    "observations of the moving state of a linear Gaussian model; kalman with the same settings has its true values",
    make,
    (rows(2000), features(4), OUTPUTS, *SETTINGS, SEED),
    source="synthetic: survey, eq. (LGM), with multiples of the identity for A, Q and R",
)
