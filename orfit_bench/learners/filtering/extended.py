"""The extended Kalman filter: nonlinear models and transitions, linearized row by row. Also used by the smoother."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.learners.filtering.dynamics import FilterParameters
from orfit_bench.learners.filtering.rounding import FilteredRows
from orfit_bench.learners.function_results import check_array, is_applied
from orfit_bench.learners.linearization import LinearizedKernel
from orfit_bench.spec.arrays import copy_of, diagonal, host_dtype, to_host
from orfit_bench.spec.backend import Array
from orfit_bench.spec.kernel_arguments import State
from orfit_bench.spec.model import LINEAR, Transition


class Moments(NamedTuple):
    """A mean (p, r) and a covariance (p, p), or one of each per step."""

    mean: Array
    covariance: Array


class Innovation(NamedTuple):
    """Gradients J (q, p), errors E (q, r) and the covariance R (q, q) of the noise, of the observed entries."""

    J: Array
    E: Array
    R: Array


class ExtendedFilter(LinearizedKernel):
    """Prediction and correction row by row, each linearized at the current mean."""

    def learn(self, s: State, X: Array, Y: Array, p: Any, out: Array | None) -> int:
        """Learn the rows; a row whose correction is rejected leaves the state as before its prediction."""
        for i in range(X.shape[0]):
            row = slice(i, i + 1), ...
            if not self._filter_step(s, X[row], Y[row], p.at(i), None if out is None else out[row]):
                return i
        return int(X.shape[0])

    def step(self, s: State, A: Array, Y: Array, p: Any) -> bool:
        """Learn all rows of A as observations of the same step."""
        return self._filter_step(s, A, Y, p.at(0), None)

    def _filter_step(self, s: Any, A: Array, Y: Array, p: FilterParameters, out: Array | None) -> bool:
        """Predict and correct; if either is rejected, restore the state."""
        before = [copy_of(a, self._xp) for a in s]
        if self.predict_step(s, p)[0] and self.correct(s, A, Y, p, out):
            return True
        for a, previous in zip(s, before, strict=True):
            a[...] = previous
        return False

    def predict_step(self, s: State, p: Any) -> tuple[bool, Array | None]:
        """Predict from the previous step; returns whether the state stays finite, and the transition matrix or None."""
        F = p.transition
        if p.t == 1 or not (p.is_dynamic or p.control is not None):
            return True, None
        if isinstance(F, Transition):
            mean, F = apply_transition(s.mean, F), self._transition_jacobian(F, s.mean)
        else:
            mean = s.mean if F is None else F @ s.mean
        if p.control is not None:
            mean = mean + p.control
        applied = is_applied(self._kernel.predict_step(s, mean, p._replace(transition=F)), self._kernel.predict_step)
        if applied and p.control is not None and bool(self._xp.any(p.control)):
            s.moved[...] = 1
        return applied, F

    def correct(self, s: State, x: Array, y: Array, p: FilterParameters, out: Array | None) -> bool:
        """Correct by the observed entries of y (NaN: not observed); write the prediction to out."""
        seen = self.innovation(s, x, y, p, out)
        return seen is None or self.apply(s, seen, p)

    def innovation(self, s: State, x: Array, y: Array, p: FilterParameters, out: Array | None) -> Innovation | None:
        """The innovation of the observed entries of y, None if there are none; predictions are written to out."""
        xp = self._xp
        linear = self._model is LINEAR
        f, J = (x @ s.mean, x) if linear else (self.predict(s.mean, x), self.jacobian(s.mean, x))
        if out is not None:
            out[...] = f
        E = y - f if linear else xp.reshape(y - f, (-1, 1))
        missing = xp.any(xp.isnan(y), axis=1) if linear else xp.reshape(xp.isnan(y), (-1,))
        observed = np.flatnonzero(~to_host(missing))
        if not len(observed):
            return None
        if len(observed) == missing.shape[0]:
            return Innovation(J, E, p.observation_noise)
        seen = xp.asarray(observed)
        R = xp.take(xp.take(p.observation_noise, seen, axis=0), seen, axis=1)
        return Innovation(xp.take(J, seen, axis=0), xp.take(E, seen, axis=0), R)

    def apply(self, s: State, seen: Innovation, p: Any) -> bool:
        """Correct the state by an innovation; returns whether the kernel applied it."""
        J, E, R = seen
        xp = self._xp
        finite = bool(xp.all(xp.isfinite(E))) and bool(xp.all(xp.isfinite(J)))
        return finite and is_applied(self._kernel.update(s, J, E, p._replace(observation_noise=R)), self._kernel.update)

    def can_smooth(self, s: State, p: Any) -> bool:
        """Whether the covariance, by which the smoother divides, has enough digits; True if the kernel cannot say.

        In that case the filter keeps the covariance itself, and refuses a correction for which it has too few digits.
        """
        judge = getattr(self._kernel, "can_smooth", None)
        return judge is None or p.t == 1 or bool(judge(s, p))

    def _transition_jacobian(self, transition: Transition, mean: Array) -> Array:
        what, want = f"transition {transition.name!r}: jacobian(w)", (mean.shape[0], mean.shape[0])
        return check_array(transition.jacobian(copy_of(mean[:, 0], self._xp)), what, want, host_dtype(mean))


def apply_transition(mean: Array, transition: Transition) -> Array:
    """The mean (p, 1) after a nonlinear transition."""
    what, want = f"transition {transition.name!r}: function(w)", (mean.shape[0],)
    w = copy_of(mean[:, 0], mean.__array_namespace__())
    return check_array(transition.function(w), what, want, host_dtype(mean))[:, None]


def moments(s: State) -> Moments:
    """The mean and covariance of a state."""
    return Moments(s.mean, s.covariance)


def covariance_along(s: Any, J: Array) -> Array:
    """J Sigma J' (q, q) for rows J (q, p), from the root of Sigma if the state has it: it keeps twice the digits."""
    if not hasattr(s, "root"):
        return J @ (s.covariance @ J.T)
    half = J @ s.root
    return half @ half.T


def variances_along(s: Any, J: Array, xp: ModuleType) -> Array:
    """The diagonal (q,) of J Sigma J'."""
    if not hasattr(s, "root"):
        return xp.sum((J @ s.covariance) * J, axis=1)
    half = J @ s.root
    return xp.sum(half * half, axis=1)


def variances_of(records: Moments) -> Array:
    """The variances (n, p) of the parameters at every step, a view."""
    return diagonal(records.covariance, records.covariance.__array_namespace__())


def filtered_rows(
    transitions: Callable[[], Sequence[Array]], before: Moments, after: Array, X: Array, Y: Array, p: FilterParameters
) -> FilteredRows:
    """The inputs of rounding estimates for rows X (n, p) of a linear model, from the moments before and after each."""
    rows = X[:, None, :]
    E = to_host(Y - (rows @ before.mean)[:, 0, :]).astype(float)
    along = np.vecdot(to_host((rows @ before.covariance)[:, 0, :]), to_host(X)).astype(float)
    noise = np.broadcast_to(to_host(p.observation_noise).reshape(-1), X.shape[0])
    of_parameters = to_host(variances_of(before)), to_host(variances_of(after))
    return FilteredRows(transitions, before.covariance, *of_parameters, to_host(X), E, along + noise, noise)
