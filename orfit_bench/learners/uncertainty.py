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

from orfit_bench.errors import AccuracyWarning, warn
from orfit_bench.learners.linearization import blocks_of_rows
from orfit_bench.learners.rule import Rule
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Method
from orfit_bench.spec.arrays import contiguous, to_host
from orfit_bench.spec.backend import Array
from orfit_bench.spec.state import WeightCovariance
from orfit_bench.state.state import LearnerState
from orfit_bench.tables.integers import DOUBLE

BLOCK = 64
"""Number of rows whose joint distribution is computed together."""
LARGEST_ERROR = 0.1
"""Largest relative error of a variance without a warning."""
LARGEST_RATIO = 10.0
"""Largest ratio of the weights that forgetting gives the rows of a block."""


def require(method: Method, dtype: np.dtype[Any]) -> WeightCovariance:
    """The covariance that the method declares; TypeError if it predicts no distribution, or no real one."""
    if dtype.kind == "c":
        raise TypeError(f"{method.name}: distributions of complex predictions are not available; predict without them")
    if method.state.covariance is None:
        known = registry().methods.values()
        others = ", ".join(sorted(m.name for m in known if m.state.covariance or m.traits.gaps))
        raise TypeError(f"{method.name} predicts numbers without a distribution; these methods have one: {others}")
    return method.state.covariance


def validate_noise(noise_variance: object, dtype: np.dtype[Any] = DOUBLE) -> float:
    """The variance of the observation noise; ValueError unless it is a positive number, and its root one in a dtype."""
    if not isinstance(noise_variance, Real) or not 0 < float(noise_variance) < math.inf:
        raise ValueError(f"noise_variance={noise_variance!r}: want a positive number")
    with np.errstate(all="ignore"):
        deviation = np.finfo(dtype).dtype.type(math.sqrt(noise_variance))
    if not 0 < deviation < math.inf:
        raise ValueError(
            f"noise_variance={noise_variance!r}: want a positive number whose root is one in {dtype}, where it is "
            f"{deviation}; learn in float64, or scale the targets"
        )
    return float(noise_variance)


def standard_deviations(rule: Rule, state: LearnerState, X: Array, noise_variance: float) -> Array:
    """Standard deviations (n, c) of the targets of rows X, if each were the next row."""
    xp, n = rule.namespace, X.shape[0]
    shape = (n, state.sizes.n_outputs)
    if not n:
        return rule.empty(shape)
    with np.errstate(all="ignore"):
        parts = [X] if rule.is_linear else blocks_of_rows(X, state.sizes.n_outputs, rule.prediction_weights(state))
        variances = [_variances(rule, state, _gradients(rule, state, part)) for part in parts]
        found = xp.reshape(math.sqrt(noise_variance) * xp.sqrt(1 + xp.concat(variances)), (n, -1))
    return contiguous(xp.broadcast_to(found, shape), xp)


def log_likelihood(rule: Rule, state: LearnerState, X: Array, Y: Array, noise_variance: float) -> float:
    """The sum of the log predictive densities of all rows, each given those before; the state is unchanged."""
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


def _variances(rule: Rule, state: LearnerState, J: Array) -> Array:
    """The diagonal (q,) of J P J', for noise of variance 1 at the next row."""
    scale, xp = scale_of(rule, state.n_steps), rule.namespace
    if (R := _information_root(rule, state)) is not None:
        return rule.place((_divide_by_root(rule, J, R, scale) ** 2).sum(axis=1).astype(rule.dtype))
    return scale * xp.sum(_covariance_product(rule, state, J) * J, axis=1)


def _joint_covariance(rule: Rule, state: LearnerState, J: Array) -> np.ndarray[Any, Any]:
    """J P J' (q, q), in host memory, for noise of variance 1 at the next row."""
    scale = scale_of(rule, state.n_steps)
    if (R := _information_root(rule, state)) is not None:
        half = _divide_by_root(rule, J, R, scale)
        return np.asarray(half @ half.T)
    K = scale * to_host(_covariance_product(rule, state, J) @ J.T).astype(float)
    return (K + K.T) / 2


def scale_of(rule: Rule, steps: int) -> float:
    """The factor of the covariance of a state after these steps; ValueError if there is no distribution."""
    spec = require(rule.method, rule.dtype)
    if reason := spec.refuses(rule.settings, steps):
        raise ValueError(f"{rule.method.name} predicts no distribution: {reason}")
    return spec.scale(rule.settings, steps)


def _information_root(rule: Rule, state: LearnerState) -> Array | None:
    """R (p, p) with R'R = P^-1 if the state holds it."""
    name = require(rule.method, rule.dtype).root
    return getattr(state.arrays, name, None) if name else None


def _divide_by_root(rule: Rule, J: Array, R: Array, scale: float) -> np.ndarray[Any, Any]:
    """The rows z' = x'R^-1 (q, p), times sqrt(scale): their squared lengths are x'P x. Warns if these are rounding.

    R has the rounding errors of an orthogonal transformation, eps times the length of each column, so that |z|^2 is off
    by at most 2 eps |z| sum_i |R_i| |v_i| with v = P x.
    """
    from scipy.linalg import solve_triangular  # slow to import

    root, eps = to_host(R), float(np.finfo(rule.dtype).eps)
    Z = solve_triangular(root, to_host(J).T, trans="T").astype(float)
    V = solve_triangular(root.astype(float), Z)
    error = 2 * eps * scale * np.linalg.norm(Z, axis=0) * (np.linalg.norm(root, axis=0) @ np.abs(V))
    share = float((error / (1 + scale * (Z**2).sum(axis=0))).max(initial=0))
    if share > LARGEST_ERROR:
        warn(
            f"{rule.method.name}: variances of predictions may be wrong by a factor of {1 + share:.3g}, since the rows "
            f"that were learned hardly determine some weights in {rule.dtype.name}: learn in a wider dtype, or set a "
            f"larger ridge",
            AccuracyWarning,
        )
    return np.asarray(math.sqrt(scale) * Z.T)


def _covariance_product(rule: Rule, state: LearnerState, J: Array) -> Array:
    """J P (q, p), without the scale of P."""
    spec = require(rule.method, rule.dtype)
    if spec.field:
        return J @ getattr(state.arrays, spec.field)
    right_side = contiguous(J.T, rule.namespace)
    U, precision = rule.kernel.solve(state.arrays._replace(**{spec.right_side: right_side}))
    if precision <= U.shape[0] * np.finfo(rule.dtype).eps:
        raise ValueError(
            f"{rule.method.name}: the rows and the prior do not determine all weights to a digit of {rule.dtype}, so "
            f"that the variance is unknown: set a larger ridge, learn more rows, or take rls with form='square_root'"
        )
    return U.T


def _block_size(rule: Rule) -> int:
    """Rows of a block: one on a nonlinear model or if the weights of rows are unknown, few if these differ."""
    ff = rule.settings.get("forgetting_factor")
    if not rule.is_linear or ff is None:
        return 1
    return BLOCK if ff in (0, 1) else max(1, min(BLOCK, int(math.log(LARGEST_RATIO) / abs(math.log(ff)))))


def _block_log_density(rule: Rule, state: LearnerState, X: Array, Y: Array, noise_variance: float) -> float:
    """The log density of a block: with K + diag(ff^i) = L L', row i has the variance L_ii^2 / ff^i given those before.

    On a nonlinear model a block is one row, whose outputs are correlated.
    """
    J = _gradients(rule, state, X)
    with np.errstate(all="ignore"):
        K = _joint_covariance(rule, state, J)
        E = to_host(Y - rule.predict(state, X)).astype(float)
    powers = np.ones(len(K))
    if rule.is_linear:
        powers = rule.settings.get("forgetting_factor", 1) ** np.arange(len(K), dtype=float)
    else:
        E = E.reshape(-1, 1)
    L = np.linalg.cholesky(K + np.diag(powers))
    Z = np.linalg.solve(L, E)
    variances = noise_variance * np.diagonal(L) ** 2 / powers
    with np.errstate(over="ignore"):
        squares = (Z * Z).sum(axis=1) * powers / noise_variance
    return float(-(E.shape[1] * np.log(2 * np.pi * variances) + squares).sum() / 2)
