"""Kalman filter: mean and covariance of a state that moves between rows.

| here | survey | textbooks | meaning |
| --- | --- | --- | --- |
| `mean` | theta_(t given t) | x, m | mean of the state, one column per output |
| `covariance` | Sigma_(t given t) | P | its covariance, the same for every output |
| `initial_mean`, `initial_covariance` | mu_1, Sigma_1 | m_1, P_1 | moments of the first state before its row |
| `transition` | A_t | F | transition of the state to step t, from t = 2 |
| `process_noise` | Q_t | Q | covariance of the noise that the transition adds |
| a row of X, a block A | x_t', X_t' | h', H | observation of the state |
| `observation_noise` | R_t | R | covariance of the noise in y |
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.kalman import LAWS
from orfit_bench.catalogue.shared.gaussian_states import condition_on_rows, covariance_root, joint_prior, lower_root
from orfit_bench.catalogue.shared.least_squares import solve_min_norm
from orfit_bench.catalogue.shared.state_merging import merge_states
from orfit_bench.spec.matrix_types import Matrix, MatrixOrTransition, as_matrix
from orfit_bench.spec.merge import Combine, Merge
from orfit_bench.spec.method import KernelSpec, Method
from orfit_bench.spec.model import Transition, is_identity
from orfit_bench.spec.setting import Setting
from orfit_bench.spec.state import Array, Diagonal, Field, PrecisionWarning, Settings, Sizes, StateSpec
from orfit_bench.spec.theory import Cost, InverseGram, Theory
from orfit_bench.spec.types import Choice
from orfit_bench.spec.weighting import Weighting

LARGEST = 2000
"""Largest total number of entries of all states for which their joint distribution serves as a batch solution."""


def batch(X: Array, Y: Array, w0: Array, settings: Any) -> Array | None:
    """The last state's mean given all rows; None for a nonlinear transition, or n d above 2,000 if the state moves."""
    (n, d), F = X.shape, settings["transition"]
    if isinstance(F, Transition):
        return None
    seen = np.flatnonzero(~np.isnan(Y).any(axis=1))
    mean, P, R = _start(settings, w0), as_matrix(settings["initial_covariance"], d), settings["observation_noise"]
    if _is_constant(settings):
        return _least_squares(X[seen], Y[seen], mean, P, R.item())
    if n * d > LARGEST:
        return None
    steps = (n, 1, 1)
    F, Q = np.eye(d) if F is None else as_matrix(F, d), as_matrix(settings["process_noise"], d)
    states = joint_prior(np.tile(F, steps), np.tile(Q, steps), mean, P)
    rows = [(int(i), X[i : i + 1], Y[i : i + 1], R.reshape(1, 1)) for i in seen]
    return np.asarray(condition_on_rows(states, rows).mean[-1])


def information(X: Array, settings: Any) -> Array | None:
    """Rows A with Sigma = (A'A)^-1 of a constant state; None if it moves, or if R or the first Sigma is singular."""
    R, P = settings["observation_noise"], as_matrix(settings["initial_covariance"], X.shape[1])
    if not (_is_constant(settings) and R.all() and np.linalg.matrix_rank(P, hermitian=True) == len(P)):
        return None
    return np.vstack([X / np.sqrt(R.item()), np.linalg.inv(np.linalg.cholesky(P))])


def _least_squares(X: Array, Y: Array, mean: Array, P: Array, variance: float) -> Array:
    """The u that minimizes |Y - X (mean + B u)|^2 / variance + |u|^2 with P = B B', or the smallest that fits."""
    B, E = covariance_root(P), Y - X @ mean
    if not B.size:
        return mean
    if not variance:
        return np.asarray(mean + B @ solve_min_norm(X @ B, E, np.zeros((B.shape[1], E.shape[1]))))
    A = np.vstack([X @ B, np.sqrt(variance) * np.eye(B.shape[1])])
    zeros = np.zeros((B.shape[1], E.shape[1]))
    return np.asarray(mean + B @ np.linalg.lstsq(A, np.vstack([E, zeros]), rcond=None)[0])


def _start(settings: Settings, w0: Array) -> Array:
    mean = settings["initial_mean"]
    return w0 if mean is None else np.broadcast_to(mean[:, None] if mean.ndim == 1 else mean, w0.shape)


def _prior(settings: Settings, sizes: Sizes, draw: Any) -> Array | Diagonal:
    """The covariance of the first state, exactly symmetric."""
    P, p = settings["initial_covariance"], sizes["parameter"]
    if P.shape not in ((), (p,), (p, p)):
        raise ValueError(f"initial_covariance: got shape {P.shape}, want a number, ({p},) or ({p}, {p})")
    return Diagonal(P, p) if P.ndim < 2 else np.asarray(P / 2 + P.T / 2)


def _keeps_root(settings: Settings) -> bool:
    return bool(settings["form"] == "square_root")


def _prior_root(settings: Settings, sizes: Sizes, draw: Any) -> Array | Diagonal:
    P = _prior(settings, sizes, draw)
    return Diagonal(np.sqrt(P.values), P.size) if isinstance(P, Diagonal) else lower_root(covariance_root(P))


def _scale(settings: Settings, sizes: Sizes, draw: Any) -> Array:
    P = _prior(settings, sizes, draw)
    return np.broadcast_to(P.values, P.size) if isinstance(P, Diagonal) else np.diagonal(P)


def _is_constant(settings: Settings) -> bool:
    F = settings["transition"]
    still = F is None or (not isinstance(F, Transition) and bool(is_identity(F[None])[0]))
    return still and not settings["process_noise"].any()


def _flops(settings: Settings, d: int) -> float:
    """Operations of a row: at rest as in rls; a matrix F computes F P and half of (F P)F', or F S."""
    F, has_noise = settings["transition"], bool(settings["process_noise"].any())
    by_matrix = isinstance(F, Transition) or np.ndim(F) == 2
    if _keeps_root(settings) and not _is_constant(settings):
        return (by_matrix + 4 / 3 + 2 * has_noise) * d**3  # the last two for the root of [F S, Q^(1/2)]
    return 3 * d ** (3 if by_matrix else 2)


def _remembered_steps(settings: Settings) -> float:
    """All steps if the state is constant; a moving state forgets."""
    return math.inf if _is_constant(settings) else 0.0


def _merge_refusal(settings: Settings, linear: bool) -> str:
    if not linear:
        return "on a nonlinear model, the two learners were linearized at different states"
    return "" if _is_constant(settings) else "the state moves between the rows (transition, process_noise)"


METHOD = Method(
    name="kalman",
    summary="Kalman filter and smoother for a moving state (extended Kalman filter on nonlinear models)",
    use_when="Rows observe a state that moves with known dynamics, you know the noise levels, or you need the "
    "uncertainty of the state. Missing targets (NaN), time-varying noise and smoothing are supported.",
    avoid_when="The state does not move and noise levels are unknown: rls computes the same with fewer settings. "
    "There are many parameters: each row costs O(d^2) operations, and O(d^3) with a transition matrix or in the "
    "square-root form.",
    formulas="from the second step: theta <- A theta,  Sigma <- A Sigma A' + Q\n"
    "K = Sigma X (R + X'Sigma X)^-1 (a row: Sigma x / (R + x'Sigma x))\n"
    "theta <- theta + K (y - X'theta),  Sigma <- Sigma - K X'Sigma;  no change if y is NaN\n"
    "smoother: theta_(j-1) += L (theta_j - theta_(j|j-1)) with L = Sigma_(j-1) A_j' Sigma_(j|j-1)^-1",
    source="survey, Proposition 3, Lemma 3 and Theorem 7",
    kind="filter",
    settings=(
        Setting("transition", MatrixOrTransition(), None, "A, transition of the state; None: identity", optional=True),
        Setting("process_noise", Matrix(covariance=True), 0.0, "Q, covariance of the noise added by each transition"),
        Setting("observation_noise", Matrix(covariance=True), 1.0, "R, variance of the observation noise"),
        Setting(
            "initial_mean",
            Matrix(),
            None,
            "mean of the first state; None means zero, or the model's initial weights",
            optional=True,
        ),
        Setting("initial_covariance", Matrix(covariance=True), 1.0, "covariance of the first state"),
        Setting(
            "form",
            Choice(("covariance", "square_root")),
            "covariance",
            "what is stored: the covariance, or also a square root of it; the square root is slower (on Numba two to "
            "ten times) but avoids the cancellation in differences of large variances",
            added=True,
        ),
    ),
    examples=(
        {"transition": 0.9, "process_noise": 0.1, "observation_noise": 0.5},
        {"observation_noise": 0.0, "initial_mean": 0.2},
        {"form": "square_root", "transition": 0.9, "process_noise": 0.1},
    ),
    state=StateSpec(
        (
            Field("mean", ("parameter", "output"), "mean of the state after the last row", role="weights"),
            Field(
                "covariance",
                ("parameter", "parameter"),
                "covariance of the state, the same for each output",
                start=_prior,
                role="covariance",
            ),
            Field(
                "root",
                ("parameter", "parameter"),
                "S, lower triangular: S S' is the covariance",
                start=_prior_root,
                when=_keeps_root,
                role="covariance_root",
            ),
            Field(
                "scale",
                ("parameter",),
                "variances relative to which rounding is measured: those of the last move",
                start=_scale,
                role="variances",
            ),
            Field("precision_lost", (), "1 once half of the digits of the covariance are lost"),
            Field("moved", (), "1 once a transition or process noise has changed the state"),
        ),
        weights="mean",
        warning=PrecisionWarning(
            "precision_lost",
            "half of the digits of the covariance are lost: in some directions it is much larger than in those that "
            "the rows observe, or than the observation noise. Remedies: a smaller initial_covariance, some "
            "process_noise if the state does not move, a transition that does not grow, scaled data, "
            "form='square_root', which keeps twice as many digits, dtype='float64' for more than a million rows",
            _remembered_steps,
        ),
    ),
    kernel=KernelSpec(weighting=Weighting("noise"), models=True, blocks=True),
    theory=Theory(
        laws=LAWS,
        batch=batch,
        inverse_gram=InverseGram("covariance", information),
        cost=Cost(
            flops=lambda s, z: _flops(s, z["parameter"]),
            floats=lambda s, z: z["parameter"] ** 2 * (1 / 32 if _is_constant(s) else 6),
        ),
    ),
    combine=Combine(
        Merge(
            "exact",
            "the sum of the information of both; no transition, no process noise, linear model",
            merge_states,
            _merge_refusal,
        )
    ),
)
