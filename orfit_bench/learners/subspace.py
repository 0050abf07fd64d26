"""The learner of a subspace: rows X alone."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from orfit_bench.learners import validation
from orfit_bench.learners.learner import Learner
from orfit_bench.spec.backend import Array


class Subspace(Learner):
    """Learns the n_components directions that a stream of rows X (n, d) varies most along. Nothing is centred."""

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn the rows of X (n, d) in order; n may be 0 or 1. y is ignored, as in scikit-learn. Returns self.

        Raises TypeError or ValueError for input that is no finite number or does not fit the earlier rows (the
        learner is then as before), DivergedError where a step would leave the finite numbers.
        """
        self._guarded(self._learn, X, None, False)
        return self

    def step(self, A: Any) -> Self:
        """Learn the rows of A (M, d), M >= 1, as one step whatever batch_size is. Returns self.

        ValueError while rows wait (call `flush` first).
        """
        self._check_step()
        self._guarded(self._learn_block, A, None)
        return self

    @property
    def components_(self) -> Array:
        """An orthonormal basis of the subspace as rows (k, d); fewer than k while fewer directions were seen."""
        self._check_begun()
        xp, C = self._xp, self._s.basis
        Q, R = xp.linalg.qr(C[:, (C != 0).any(axis=0)])
        return xp.ascontiguousarray((Q * xp.copysign(1, xp.diagonal(R))).T)

    def transform(self, X: Any) -> Array:
        """The coordinates (n, k) of the rows of X (n, d): X components_'."""
        return self._asked(X) @ self.components_.T

    def inverse_transform(self, Z: Any) -> Array:
        """The rows (n, d) that have the coordinates Z (n, k): Z components_."""
        components = self.components_
        if not len(components) and np.shape(Z)[1:] == (0,):  # as transform gives before a direction was seen
            return self._xp.zeros((len(Z), components.shape[1]), self.dtype)
        Z = validation.matrix(Z, "Z", self.dtype, None, xp=self._xp)
        if Z.shape[1] != len(components):
            raise ValueError(f"Z: got {Z.shape[1]} columns, want {len(components)}, one for each row of components_")
        return self._placed(Z) @ components

    def _checked(self, X: Any, y: Any, name: str = "X", look: bool = True) -> tuple[Array, Array, bool]:
        X = validation.matrix(X, name, self.dtype, self._features, look, self._xp)
        k = self.settings["n_components"]
        if k > X.shape[1]:
            raise ValueError(f"{name}: got {X.shape[1]} columns, want at least n_components={k}")
        X = self._placed(X)
        return X, X[:, :0], False  # no targets
