"""Standard deviations and likelihoods of predictions by methods whose state is a Gaussian posterior.

`rls` and `ridge` are Bayesian linear regression: for observation noise of variance v and the prior N(w0, v / ridge I)
the posterior is N(w, v P), and a forgetting factor divides P by ff before each row (docs/decisions/0055).
Shapes: J (q, p) gradients, one row x' each on a linear model, P (p, p), K (q, q).
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np

from orfit_bench.learners.rule import Rule
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Method
from orfit_bench.spec.arrays import contiguous, to_host
from orfit_bench.spec.backend import Array
from orfit_bench.spec.state import WeightCovariance
from orfit_bench.state.state import LearnerState

BLOCK = 256
"""Rows whose joint distribution is computed at once."""
LARGEST_RATIO = 10.0
"""Ratio of the weights that forgetting gives the rows of a block."""


def require(method: Method, dtype: np.dtype[Any]) -> WeightCovariance:
    """The covariance that the method declares; TypeError if it predicts no distribution, or no real one."""
    if dtype.kind == "c":
        raise TypeError(f"{method.name}: distributions of complex predictions are not available; predict them alone")
    if method.state.covariance is None:
        known = registry().methods.values()
        others = ", ".join(sorted(m.name for m in known if m.state.covariance or m.traits.gaps))
        raise TypeError(f"{method.name} predicts numbers without a distribution; these methods have one: {others}")
    return method.state.covariance


def validate_noise(noise_variance: object) -> float:
    """The variance of the observation noise; ValueError unless it is a positive number."""
    if not isinstance(noise_variance, Real) or not 0 < float(noise_variance) < math.inf:
        raise ValueError(f"noise_variance={noise_variance!r}: want a positive number")
    return float(noise_variance)


def standard_deviations(rule: Rule, state: LearnerState, X: Array, noise_variance: float) -> Array:
    """Standard deviations (n, c) of the targets of rows X, if each were the next row."""
    xp, n = rule.namespace, X.shape[0]
    shape = (n, state.sizes.n_outputs)
    if not n:
        return rule.empty(shape)
    J = _gradients(rule, state, X)
    with np.errstate(all="ignore"):
        variances = 1 + xp.sum(_covariance_product(rule, state, J) * J, axis=1)
        found = xp.reshape(xp.sqrt(noise_variance * variances), (n, -1))
    return contiguous(xp.broadcast_to(found, shape), xp)


def log_likelihood(rule: Rule, state: LearnerState, X: Array, Y: Array, noise_variance: float) -> float:
    """The sum of the logarithms of the predictive densities of all rows, each given those before; the state is kept."""
    state, total, done = rule.copy(state), 0.0, 0
    size = _block_size(rule)
    while done < X.shape[0]:
        rows = slice(done, min(done + size, X.shape[0]))
        total += _block_log_density(rule, state, X[rows, ...], Y[rows, ...], noise_variance)
        rule.learn(state, X[rows, ...], Y[rows, ...])
        done += size
    rule.warn_of_lost_precision(state)
    return total


def _gradients(rule: Rule, state: LearnerState, X: Array) -> Array:
    """The gradients J of the predictions."""
    return X if rule.is_linear else rule.linearized(state.sizes).jacobian(rule.prediction_weights(state), X)


def _covariance_product(rule: Rule, state: LearnerState, J: Array) -> Array:
    """J P (q, p), for noise of variance 1 at the next row."""
    spec, steps = require(rule.method, rule.dtype), state.n_steps
    if reason := spec.refuses(rule.settings, steps):
        raise ValueError(f"{rule.method.name} predicts no distribution: {reason}")
    scale = spec.scale(rule.settings, steps)
    if spec.root and hasattr(state.arrays, spec.root):
        from scipy.linalg import solve_triangular  # slow to import

        R = to_host(getattr(state.arrays, spec.root))
        return scale * solve_triangular(R, solve_triangular(R, to_host(J).T, trans="T")).T
    if spec.field:
        return scale * (J @ getattr(state.arrays, spec.field))
    right_side = contiguous(J.T, rule.namespace)
    U, precision = rule.kernel.solve(state.arrays._replace(**{spec.right_side: right_side}))
    if precision <= U.shape[0] * np.finfo(rule.dtype).eps:
        raise ValueError(
            f"{rule.method.name}: the rows and the prior do not determine all weights, so that the variance is "
            f"infinite: set ridge > 0, or learn more rows"
        )
    return scale * U.T


def _block_size(rule: Rule) -> int:
    """Rows of a block: one on a nonlinear model, and few if forgetting makes their weights differ."""
    ff = rule.settings.get("forgetting_factor", 1)
    if not rule.is_linear:
        return 1
    return BLOCK if ff in (0, 1) else max(1, min(BLOCK, int(math.log(LARGEST_RATIO) / abs(math.log(ff)))))


def _block_log_density(rule: Rule, state: LearnerState, X: Array, Y: Array, noise_variance: float) -> float:
    """The log density of a block: with K + diag(ff^i) = L L', row i has the variance L_ii^2 / ff^i given those before.

    On a nonlinear model a block is one row, whose outputs are correlated.
    """
    J = _gradients(rule, state, X)
    with np.errstate(all="ignore"):
        K = to_host(_covariance_product(rule, state, J) @ J.T).astype(float)
        E = to_host(Y - rule.predict(state, X)).astype(float)
    powers = np.ones(len(K))
    if rule.is_linear:
        powers = rule.settings["forgetting_factor"] ** np.arange(len(K), dtype=float)
    else:
        E = E.reshape(-1, 1)
    L = np.linalg.cholesky((K + K.T) / 2 + np.diag(powers))
    Z = np.linalg.solve(L, E)
    variances = noise_variance * np.diagonal(L) ** 2 / powers
    squares = (Z * Z).sum(axis=1) * powers / noise_variance
    return float(-(E.shape[1] * np.log(2 * np.pi * variances) + squares).sum() / 2)
