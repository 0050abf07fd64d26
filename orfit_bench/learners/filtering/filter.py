"""The learner of a moving state: a Kalman filter, its forecasts and its smoother."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from orfit_bench.learners import validation
from orfit_bench.learners.filtering import smoother
from orfit_bench.learners.filtering.dynamics import VARYING, Entries, Motion, Moving, whole
from orfit_bench.learners.filtering.extended import Extended, moved
from orfit_bench.learners.regressor import Regressor
from orfit_bench.spec.backend import Array
from orfit_bench.spec.capability import require
from orfit_bench.spec.method import Draw
from orfit_bench.spec.model import Transition
from orfit_bench.state.layout import Layout

if TYPE_CHECKING:
    import xarray


class Filter(Regressor):
    """Follows a state that moves between the rows, from observations y = X w + noise of it.

    NaN in y means that a row was not observed (on a linear model with several outputs: none of them). What varies in
    time comes with the rows, one entry a row; what is not given stays as the settings say.
    """

    _gaps = True
    _given: dict[str, Entries] = {}  # what came with the rows of the present call; never written to
    _motion: Motion

    def partial_fit(
        self, X: Any, y: Any, *, transition: Any = None, process_noise: Any = None, observation_noise: Any = None
    ) -> Self:
        """Learn the rows of X (n, d) with targets y (n,) or (n, c), NaN where nothing was seen. Returns self.

        transition and process_noise, of the move to each row, are (n, p, p), or (n,) multiples
        of the identity; observation_noise is (n,) variances (on a model with c outputs also (n, c) or (n, c, c)).
        """
        with self._brought(X, y, transition, process_noise, observation_noise) as X:
            self._guarded(self._learn, X, y, False)
        return self

    def prequential(
        self, X: Any, y: Any, *, transition: Any = None, process_noise: Any = None, observation_noise: Any = None
    ) -> Array:
        """Learn the rows as `partial_fit` does; returns the forecast of each before its step, after its transition."""
        with self._brought(X, y, transition, process_noise, observation_noise) as X:
            return self._shaped(self._guarded(self._learn, X, y, True))

    def step(
        self, A: Any, y: Any, *, transition: Any = None, process_noise: Any = None, observation_noise: Any = None
    ) -> Self:
        """One time step with M observations y (M,) or (M, c) through A (M, d), M >= 1. Returns self.

        transition and process_noise are those of this step; observation_noise is a number, (M,)
        or (M, M); on a model with c outputs also (M c,) or (M c, M c), a row's outputs side by side.
        """
        self._check_step()
        with self._brought(A, y, transition, process_noise, observation_noise, block=True) as A:
            self._guarded(self._learn_block, A, y)
        return self

    def predict(self, X: Any, *, transition: Any = None) -> Array:
        """Forecasts (n,) or (n, c) of the next row, after the transition, were it each row of X (n, d)."""
        X = self._asked(X)
        self._given = self._motion.given({"transition": transition}, 1, block=True)
        try:
            return self._shaped(self._predict(X))
        finally:
            self._given = {}

    def smooth(
        self, X: Any, y: Any, *, transition: Any = None, process_noise: Any = None, observation_noise: Any = None
    ) -> xarray.Dataset:
        """Means (step, parameter, output) and covariances (step, parameter, parameter) given all of these rows.

        Filter and Rauch-Tung-Striebel smoother run from the present state, which stays as it is: call it on the learner
        as it was before these rows, since rows that were learned already would count twice. Needs room for
        3 n p^2 numbers. Arguments and errors as in `partial_fit`. AccuracyWarning where a variance comes out negative,
        or larger than without the rows that follow: then the transitions lost half of the digits.
        """
        require("smoothing", self._kernel, self.method, self.backend)
        twin = self.copy()
        with twin._brought(X, y, transition, process_noise, observation_noise) as X:
            mean, covariance = twin._guarded(twin._smoothed, X, y)
        to_host = self.backend.asnumpy
        return smoother.dataset(to_host(mean), to_host(covariance), first=self._steps + 1)

    # ------------------------------------------------------------------ what the kernel gets

    @contextmanager
    def _brought(self, X: Any, y: Any, *varying: Any, block: bool = False) -> Iterator[Any]:
        """The rows, with what came with them in force, all of it checked."""
        if any(v is not None for v in varying):
            X, Y, _ = self._checked(X, y, "A" if block else "X")
            motion = self._motion if self._features is not None else self._motion_of(X.shape[1], Y.shape[1])
            self._given = motion.given(dict(zip(VARYING, varying, strict=True)), len(X), block)
        try:
            yield X
        finally:
            self._given = {}

    def _foreign(self) -> bool:
        """Whether functions of the user's run inside a step."""
        transition = self._given["transition"].value if "transition" in self._given else self.settings["transition"]
        return not self._linear or isinstance(transition, Transition)

    def _smoothed(self, X: Any, y: Any) -> tuple[Array, Array]:
        X, Y, vector = self._checked(X, y)
        self._begin(X, Y, vector, is_step=False)
        p, xp = self._motion.parameters(self._given, self._steps + 1, 1), self._xp
        with np.errstate(all="ignore"):
            passed = smoother.forward(self._extended(), self._s, X, Y, p, xp)
            learned = len(passed.transitions)
            self._steps += learned
            if learned < len(X):
                self._diverged(learned)
            known = smoother.variances(passed.corrected, xp).copy()
            self._kernel.rts(passed.transitions, *passed.predicted, *passed.corrected)
            if learned and smoother.impossible(known, smoother.variances(passed.corrected, xp), xp):
                self._s.digits_lost[...] = 1
        return passed.corrected

    def _parameters_of(self, steps: int, batch_size: int, gradients: int) -> Moving:
        self._learner = self._extended() if self._foreign() else self._kernel
        return self._motion.parameters(self._given, self._steps + 1, batch_size)

    def _advance(self, X: Array, Y: Array, batch_size: int, out: Array | None, block: bool = False) -> None:
        """As ever, and note whether the state moved before one of the steps done (never before the first of all)."""
        moves, first = self._motion.moves(self._given).any(axis=1), self._steps
        try:
            super()._advance(X, Y, batch_size, out, block)
        finally:
            done = np.broadcast_to(moves, len(X) // batch_size)[: self._steps - first]
            if done[0 if first else 1 :].any():
                self._s.moved[...] = 1

    def _extended(self) -> Extended:
        sizes = self._features or 0, self._outputs or 0
        return Extended(self.method, self.settings, self.model, self._kernel, sizes, self._weights(), self._xp)

    def _place(self, layout: Layout, d: int, c: int, vector: bool) -> None:
        super()._place(layout, d, c, vector)
        self._motion = self._motion_of(d, c)

    def _motion_of(self, d: int, c: int) -> Motion:
        p = d if self._linear else self.model.size(d, c)
        return Motion(self.settings, p, c, self._linear, self._to_backend)

    def _to_backend(self, host: Any, name: str) -> Array:
        return self.backend.asarray(validation.numbers(host, name, self.dtype))

    def _answering(self) -> Array:
        mean = self._weights()
        F = self._motion.parameters(self._given, 1, 1).transition if self._steps else None
        if isinstance(F, Transition):
            return moved(mean, F)
        return mean if F is None else whole(F[0], len(mean)) @ mean

    # ------------------------------------------------------------------ the start

    def _start(self, layout: Layout, d: int, c: int) -> Any:
        self._motion_of(d, c)  # refuses settings that do not fit
        return super()._start(layout, d, c)

    def _given_weights(self) -> tuple[str, Any]:
        return "initial_mean", self.settings["initial_mean"]

    def _first_weights(self, d: int, c: int, shape: tuple[int, ...], draw: Draw) -> Any:
        mean = self.settings["initial_mean"]
        if mean is not None and mean.shape in ((), shape[:1]):  # one number, or one vector for all outputs
            return np.broadcast_to(mean[..., None] if mean.ndim else mean, shape)
        return super()._first_weights(d, c, shape, draw)
