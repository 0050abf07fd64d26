"""A filter's way to its kernel, row by row: for nonlinear models and transitions (EKF), and for the smoother."""

from __future__ import annotations

from typing import Any, NamedTuple

from orfit_bench.host.linearised import Linearised, answered
from orfit_bench.spec.backend import Array
from orfit_bench.spec.model import LINEAR, Transition


class Moments(NamedTuple):
    """Copies of a state's mean (p, r) and covariance (p, p)."""

    mean: Array
    covariance: Array


class Extended(Linearised):
    """Prediction and correction of one row after another, each linearised where the filter then is."""

    def learn(self, s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
        """Learn the rows; a row whose correction is declined leaves the state before its prediction."""
        for i in range(len(X)):
            here, before = p.at(i), moments(s)
            self.predicted(s, here)
            if not self.corrected(s, X[i : i + 1], Y[i : i + 1], here, None if out is None else out[i : i + 1]):
                s.mean[...], s.covariance[...] = before
                return i
        return len(X)

    def step(self, s: Any, A: Array, Y: Array, p: Any) -> bool:
        """All rows of A as observations of one moment."""
        here, before = p.at(0), moments(s)
        self.predicted(s, here)
        if not self.corrected(s, A, Y, here, None):
            s.mean[...], s.covariance[...] = before
            return False
        return True

    def predicted(self, s: Any, p: Any) -> Array | None:
        """Move the state from the step before to this one; returns the transition's matrix (None for none)."""
        if p.t == 1:
            return None
        F = p.transition
        if isinstance(F, Transition):
            mean, F = moved(s.mean, F), self._slope(F, s.mean)
        else:
            mean = s.mean if F is None else F @ s.mean
        self._kernel.transit(s, mean, p._replace(transition=F))
        return F

    def corrected(self, s: Any, x: Array, y: Array, p: Any, out: Array | None) -> bool:
        """Take in what was seen of y (NaN: nothing); write the prediction to out."""
        xp = self._xp
        linear = self._model is LINEAR
        f, J = (x @ s.mean, x) if linear else (self.predict(s.mean, x), self.jacobian(s.mean, x))
        if out is not None:
            out[...] = f
        E = y - f if linear else (y - f).reshape(-1, 1)
        seen = ~xp.isnan(y).any(axis=1) if linear else ~xp.isnan(y).reshape(-1)
        if not seen.any():
            return True
        R = p.observation_noise[seen][:, seen]
        J, E = xp.ascontiguousarray(J[seen]), xp.ascontiguousarray(E[seen])
        finite = bool(xp.isfinite(E).all() and xp.isfinite(J).all())
        return finite and answered(self._kernel.update(s, J, E, p._replace(observation_noise=R)))

    def _slope(self, transition: Transition, mean: Array) -> Array:
        want = (len(mean), len(mean))
        return self._checked(transition.jacobian(mean[:, 0]), f"transition {transition.name!r}: jacobian(w)", want)


def moved(mean: Array, transition: Transition) -> Array:
    """The mean (p, 1) after a nonlinear transition."""
    after = transition.function(mean[:, 0])
    if getattr(after, "shape", None) != (len(mean),):
        got = getattr(after, "shape", type(after).__name__)
        raise ValueError(f"transition {transition.name!r}: function(w) returned {got}, want shape {(len(mean),)}")
    return after.astype(mean.dtype, copy=False)[:, None]


def moments(s: Any) -> Moments:
    """Copies of what a row changes."""
    return Moments(s.mean.copy(), s.covariance.copy())
