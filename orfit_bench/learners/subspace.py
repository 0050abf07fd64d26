"""The learner of a subspace: rows X alone."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from orfit_bench.learners import validation
from orfit_bench.learners.learner import Learner
from orfit_bench.learners.targets import without_targets
from orfit_bench.spec.backend import Array


class Subspace(Learner):
    """Learns the n_components directions that a stream of rows X (n, d) varies most along. Nothing is centred."""

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn the rows of X (n, d) in order; n may be 0 or 1. y is ignored, as in scikit-learn. Returns self.

        Raises TypeError or ValueError for input that is no finite number or does not fit the earlier rows (the
        learner is then as before), DivergedError where a step would leave the finite numbers.
        """
        rows = without_targets(self.rule, self._usable(), X, look=not self.rule.kernel_checks_rows)
        self._update(rows, self.rule.learn, rows.X, rows.Y)
        return self

    def step(self, A: Any) -> Self:
        """Learn the rows of A (M, d), M >= 1, as one step whatever batch_size is. Returns self.

        ValueError while rows wait (call `flush` first).
        """
        self._check_step()
        rows = without_targets(self.rule, self._usable(), A, "A")
        self._update(rows, self.rule.step, rows.X, rows.Y)
        return self

    @property
    def components_(self) -> Array:
        """An orthonormal basis of the subspace as rows (k, d); fewer than k while fewer directions were seen."""
        xp, C = self.rule.namespace, self._begun().arrays.basis
        Q, R = xp.linalg.qr(C[:, (C != 0).any(axis=0)])
        return xp.ascontiguousarray((Q * xp.copysign(1, xp.diagonal(R))).T)

    def transform(self, X: Any) -> Array:
        """The coordinates (n, k) of the rows of X (n, d): X components_'."""
        return self._question(X) @ self.components_.T

    def inverse_transform(self, Z: Any) -> Array:
        """The rows (n, d) that have the coordinates Z (n, k): Z components_."""
        components = self.components_
        if not len(components) and np.shape(Z)[1:] == (0,):  # as transform gives before a direction was seen
            return self.rule.namespace.zeros((len(Z), components.shape[1]), self.dtype)
        Z = validation.matrix(Z, "Z", self.dtype, None, xp=self.rule.namespace)
        if Z.shape[1] != len(components):
            raise ValueError(f"Z: got {Z.shape[1]} columns, want {len(components)}, one for each row of components_")
        return self.rule.place(Z) @ components
