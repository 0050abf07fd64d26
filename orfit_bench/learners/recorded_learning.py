"""Learning of numbers that also returns results row by row: predictions before each step, and weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from orfit_bench.learners import weight_history
from orfit_bench.learners.numeric_predictions import NumericPredictions
from orfit_bench.learners.targets import with_numbers
from orfit_bench.spec.backend import Array

if TYPE_CHECKING:
    import xarray


class RecordedLearning(NumericPredictions):
    """A learner of numbers that returns predictions or weights of each row while it learns."""

    def prequential(self, X: ArrayLike, y: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Array:
        """Learn rows in order, and predict each of them just before its step.

        Parameters
        ----------
        X : array_like or table, shape (n, d)
            Rows.
        y : array_like, shape (n,) or (n, c)
            Targets.
        sample_weight : array_like, shape (n,), optional
            Weights of the rows, as in `partial_fit`.

        Returns
        -------
        array of the backend, shape (n,) or (n, c)
            For each row, the prediction that `predict` would have returned before the step that learned it.

        Raises
        ------
        TypeError, ValueError, DivergedError, RuntimeError
            As in `partial_fit`.

        Warns
        -----
        AccuracyWarning
            As in `partial_fit`; for `ridge` in host memory, if several rows were learned and the weights after them
            have lost digits.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> lms = ob.create("lms", backend="numpy", step_size=0.5)
        >>> lms.prequential([[1.0], [1.0], [1.0]], [4.0, 4.0, 4.0])
        array([0., 2., 3.])
        """
        state = self._state
        if sample_weight is None and state is not None and (bound := state.bound):
            predictions = bound.learn_rows(state, X, y, True)
            if predictions is not None:
                return predictions
        return self._shaped(self._learn_numbers(X, y, sample_weight, predict=True))

    def weight_history(self, X: ArrayLike, y: ArrayLike, *, every: int = 1) -> xarray.DataArray:
        """Learn rows in order, and return the weights after each `every` rows.

        Parameters
        ----------
        X : array_like or table, shape (n, d)
            Rows.
        y : array_like, shape (n,) or (n, c)
            Targets.
        every : int, default 1
            Rows between two entries. Rows after the last multiple of it are learned without an entry.

        Returns
        -------
        xarray.DataArray, shape (n // every, p, c)
            The weights that `predict` would use, with the dimensions "row" (`n_samples_seen_`), "parameter" and
            "output" (without outputs if y is (n,)), in host memory.

        Raises
        ------
        ValueError
            If the history would exceed 1 GiB, before any row is learned; or as in `partial_fit`.
        TypeError, DivergedError
            As in `partial_fit`.
        RuntimeError
            If another thread is learning, or an exception interrupted a kernel, so that the state cannot be trusted.

        Notes
        -----
        For the errors along a stream use `prequential`, and for the weights of a single state `array("w")`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> lms = ob.create("lms", backend="numpy", step_size=0.5)
        >>> lms.weight_history([[1.0], [1.0], [1.0]], [4.0, 4.0, 4.0]).values.tolist()
        [[2.0], [3.0], [3.5]]
        """
        every = weight_history.validate(self.method, every)
        rows = with_numbers(self.rule, self._usable(), X, y)
        history = self._update(rows, weight_history.learn, self.rule, rows, every)
        first, names = self.n_samples_seen_ - rows.X.shape[0] + every, self._begun().feature_names
        return weight_history.labelled(history, self._begun(), first, every, names if self.rule.is_linear else ())

    def _learn_numbers(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, predict: bool = False
    ) -> Array | None:
        """Learn rows, and with `predict` return the prediction of each before its step."""
        finite = sample_weight is not None or not self.rule.kernel_checks_rows
        rows = with_numbers(self.rule, self._usable(), X, y, finite=finite)
        return self._learn_rows(rows, X, sample_weight, predict)
