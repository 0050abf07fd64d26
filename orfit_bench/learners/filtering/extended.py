"""A filter's way to its kernel, row by row: for nonlinear models and transitions (EKF), and for the smoother."""

from __future__ import annotations

from typing import Any, NamedTuple

from orfit_bench.learners.linearization import Linearised, answered, proper
from orfit_bench.spec.backend import Array
from orfit_bench.spec.model import LINEAR, Transition


class Moments(NamedTuple):
    """A mean (p, r) and a covariance (p, p), or one of each a step."""

    mean: Array
    covariance: Array


class Extended(Linearised):
    """Prediction and correction of one row after another, each linearised where the filter then is."""

    def learn(self, s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
        """Learn the rows; a row whose correction is declined leaves the state before its prediction."""
        for i in range(len(X)):
            told = None if out is None else out[i : i + 1]
            if not self._followed(s, X[i : i + 1], Y[i : i + 1], p.at(i), told):
                return i
        return len(X)

    def step(self, s: Any, A: Array, Y: Array, p: Any) -> bool:
        """All rows of A as observations of one moment."""
        return self._followed(s, A, Y, p.at(0), None)

    def _followed(self, s: Any, A: Array, Y: Array, p: Any, out: Array | None) -> bool:
        """Prediction and correction of one step; where either is declined, the state before it."""
        before = [a.copy() for a in s]
        if self.predicted(s, p)[0] and self.corrected(s, A, Y, p, out):
            return True
        for a, kept in zip(s, before, strict=True):
            a[...] = kept
        return False

    def predicted(self, s: Any, p: Any) -> tuple[bool, Array | None]:
        """Move the state from the step before to this one: whether it stays finite, the transition's matrix or None."""
        F = p.transition
        if p.t == 1 or not p.moves:
            return True, None
        if isinstance(F, Transition):
            mean, F = moved(s.mean, F), self._slope(F, s.mean)
        else:
            mean = s.mean if F is None else F @ s.mean
        return answered(self._kernel.transit(s, mean, p._replace(transition=F))), F

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
        what, want = f"transition {transition.name!r}: jacobian(w)", (len(mean), len(mean))
        return proper(transition.jacobian(mean[:, 0].copy()), what, want, mean.dtype)


def moved(mean: Array, transition: Transition) -> Array:
    """The mean (p, 1) after a nonlinear transition."""
    what, want = f"transition {transition.name!r}: function(w)", (len(mean),)
    return proper(transition.function(mean[:, 0].copy()), what, want, mean.dtype)[:, None]


def moments(s: Any) -> Moments:
    """What a row changes."""
    return Moments(s.mean, s.covariance)
