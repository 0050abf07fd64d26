"""The learner of numbers: rows X with targets y."""

from __future__ import annotations

from typing import Any, Self

from orfit_bench.learners.learner import Learner
from orfit_bench.learners.targets import with_numbers
from orfit_bench.spec.backend import Array


class Regressor(Learner):
    """Learns a stream of rows X (n, d) with targets y (n,) or (n, c), cut into chunks in any way."""

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn the rows of X (n, d) with targets y (n,) or (n, c) in order; n may be 0 or 1. Returns self.

        Raises TypeError or ValueError for input that is no finite number or does not fit the earlier rows (the
        learner is then as before), DivergedError where a step would leave the finite numbers.
        """
        rows = with_numbers(self.rule, self._usable(), X, y, look=not self.rule.kernel_checks_rows)
        self._update(rows, self.rule.learn, rows.X, rows.Y)
        return self

    def prequential(self, X: Any, y: Any) -> Array:
        """Learn the rows as `partial_fit` does; returns for each what `predict` would have said before its step."""
        rows = with_numbers(self.rule, self._usable(), X, y, look=not self.rule.kernel_checks_rows)
        return self._shaped(self._update(rows, self.rule.learn, rows.X, rows.Y, True))

    def predict(self, X: Any) -> Array:
        """Predictions for X (n, d): (n,) or (n, c), the shape of y. Changes nothing; ignores rows that wait."""
        X = self._question(X)
        return self._shaped(self.rule.predict(self._begun(), X))

    def step(self, A: Any, y: Any) -> Self:
        """Learn the rows of A (M, d), M >= 1, as one step whatever batch_size is. Returns self.

        TypeError where the method has no block rule, ValueError while rows wait (call `flush` first).
        """
        self._check_step()
        rows = with_numbers(self.rule, self._usable(), A, y, "A")
        self._update(rows, self.rule.step, rows.X, rows.Y)
        return self

    def _shaped(self, predictions: Array) -> Array:
        return predictions[:, 0] if self._begun().sizes.y_is_1d else predictions
