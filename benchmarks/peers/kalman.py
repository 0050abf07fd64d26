"""Kalman filter and smoother compared with filterpy, simdkalman and statsmodels.

python -m benchmarks.peers.kalman
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from filterpy.kalman import KalmanFilter
from simdkalman.primitives import predict, update
from statsmodels.tsa.statespace.kalman_smoother import KalmanSmoother

import orfit_bench as ob
from benchmarks.peers.timing import Case, print_ratios

Array = np.ndarray[Any, Any]


def scene(n: int, d: int, dense: bool) -> tuple[Array, Array, Array, Array]:
    """Rows and targets, with the transition and the process noise of a state that moves or rests."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    turn = 0.99 * np.linalg.qr(rng.standard_normal((d, d)))[0]
    return X, y, turn if dense else np.eye(d), 0.1 * np.eye(d) if dense else np.zeros((d, d))


def settings(F: Array, Q: Array) -> dict[str, Any]:
    """The settings of our learner."""
    return {"transition": F, "process_noise": Q, "observation_noise": 1.0, "initial_covariance": 1.0}


def one_row_per_call(n: int, d: int, dense: bool, backend: str = "numba") -> list[Case]:
    """Every row predicted and learned by itself."""
    X, y, F, Q = scene(n, d, dense)
    targets, R = y.tolist(), np.eye(1)

    def ours() -> Any:
        learner = ob.create("kalman", backend=backend, **settings(F, Q))
        for x, target in zip(X, targets, strict=True):
            learner.learn_one(x, target)

    def filterpy() -> Any:
        peer = KalmanFilter(dim_x=d, dim_z=1)
        peer.F, peer.Q = F, Q
        for x, target in zip(X, targets, strict=True):
            peer.predict()
            peer.update(target, R=1.0, H=x[None])

    def simdkalman() -> Any:
        m, P = np.zeros((d, 1)), np.eye(d)
        for x, target in zip(X, y, strict=True):
            m, P = predict(m, P, F, Q)
            m, P = update(m, P, x[None], R, np.array([[target]]))

    return [("orfit_bench", ours), ("filterpy", filterpy), ("simdkalman", simdkalman)]


def full_series(n: int, d: int, smooth: bool) -> list[Case]:
    """Learn a whole series in one call, by a filter with a dense transition and by the smoother."""
    X, y, F, Q = scene(n, d, True)

    def ours() -> Any:
        learner = ob.create("kalman", backend="numba", **settings(F, Q))
        return learner.smooth(X, y) if smooth else learner.prequential(X, y)

    def statsmodels() -> Any:
        peer = KalmanSmoother(k_endog=1, k_states=d, k_posdef=d, nobs=n)
        peer.bind(y)
        peer["design"], peer["transition"], peer["selection"] = X.T[None].copy(), F, np.eye(d)
        peer["state_cov"], peer["obs_cov"] = Q, np.eye(1)
        peer.initialize_known(np.zeros(d), np.eye(d))
        return peer.smooth() if smooth else peer.filter()

    return [("orfit_bench", ours), ("statsmodels", statsmodels)]


def comparisons() -> Iterator[tuple[str, list[Case], float]]:
    """The question, the cases with ours first, and the target for the ratio of the fastest other one to ours."""
    for dense in (False, True):
        for d, n, wanted in ((2, 2000, 5.0), (16, 2000, 5.0), (128, 200, 1.5)):
            motion = "dense transition" if dense else "at rest"
            yield f"kalman d={d}, {motion}, one row per call", one_row_per_call(n, d, dense), wanted
    for d, n in ((2, 4000), (16, 4000)):
        yield f"kalman d={d}, dense transition, whole series", full_series(n, d, False), 2.0
    for d, n, wanted in ((2, 4000, 2.0), (16, 2000, 2.0), (128, 100, 1.5)):
        yield f"smoother d={d}", full_series(n, d, True), wanted


if __name__ == "__main__":
    print_ratios(comparisons())
