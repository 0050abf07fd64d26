"""Predictions of a learner of numbers, with their uncertainty and probabilities."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from orfit_bench.learners import uncertainty
from orfit_bench.learners.learner import Learner
from orfit_bench.learners.probabilities import class_probabilities
from orfit_bench.learners.targets import with_numbers
from orfit_bench.spec.backend import Array
from orfit_bench.tables.integers import DOUBLE


class NumericPredictions(Learner):
    """A learner that predicts numbers; none of these methods changes it."""

    @overload
    def predict(self, X: ArrayLike, *, return_std: Literal[False] = False) -> Array: ...
    @overload
    def predict(
        self, X: ArrayLike, *, return_std: Literal[True], noise_variance: float = 1.0
    ) -> tuple[Array, Array]: ...
    def predict(
        self, X: ArrayLike, *, return_std: bool = False, noise_variance: float = 1.0
    ) -> Array | tuple[Array, Array]:
        """Predict the targets of rows; the learner is unchanged.

        Parameters
        ----------
        X : array_like or table, shape (n, d)
            Rows.
        return_std : bool, default False
            Whether the standard deviations of the targets, noise included, are returned too (`rls`, `ridge`, `kalman`).
        noise_variance : float, default 1.0
            For `rls` and `ridge`: the variance v of the observation noise, the prior being N(w0, v / ridge I).

        Returns
        -------
        array of the backend, shape (n,) or (n, c)
            Predictions, in the shape that y had. Pending rows are ignored. With `return_std` a pair of arrays of this
            shape: sqrt(v (1 + x'P x / ff)) is the deviation of the next row, for P = (X'X + ridge I)^-1 if nothing is
            forgotten.

        Raises
        ------
        TypeError
            If standard deviations are asked for and the method has none.
        ValueError
            If no chunk was learned yet, or X does not fit the earlier rows.

        Warns
        -----
        AccuracyWarning
            With `return_std`, if rounding in a root of P^-1 may change a variance by more than 10 %.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> rls = ob.create("rls", backend="numpy").partial_fit([[1.0], [2.0]], [1.0, 2.0])
        >>> mean, std = rls.predict([[0.0], [6.0]], return_std=True)
        >>> mean, std.round(3)
        (array([0., 5.]), array([1.   , 2.646]))
        """
        X = self._rows_to_predict(X)
        mean = self._shaped(self.rule.predict(self._begun(), X))
        noise = uncertainty.validate_noise(noise_variance, self.dtype if return_std else DOUBLE)
        if not return_std:
            return mean
        uncertainty.require(self.method, self.dtype)
        return mean, self._shaped(uncertainty.standard_deviations(self.rule, self._begun(), X, noise))

    def predict_one(self, x: ArrayLike) -> Any:
        """Predict the target of one row, as `predict` does; the learner is unchanged.

        Parameters
        ----------
        x : array_like, shape (d,)
            The row.

        Returns
        -------
        number, or array of the backend, shape (c,)
            The prediction, in the shape of one target.

        Raises
        ------
        ValueError
            If no row was learned yet, or x does not fit the earlier rows.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> rls = ob.create("rls", backend="numpy").partial_fit([[1.0], [2.0]], [1.0, 2.0])
        >>> round(float(rls.predict_one([6.0])), 3)
        5.0
        """
        row = self._single_row
        if row and (prediction := row.predict_number(self._state, x)) is not None:
            return prediction
        if row and not row.sizes.y_is_1d and (outputs := row.predict_outputs(self._state, x)) is not None:
            return outputs[0]
        if short := self._plain_row(x):
            row, plain = short
            if (prediction := row.predict_number(self._state, plain)) is not None:
                return prediction
        X = self._row_to_predict(x)
        found = self._shaped(self.rule.predict(self._begun(), X))
        return found[0] if found.ndim == 1 else found[0, ...]  # as the array API standard wants it

    def predict_proba(self, X: ArrayLike) -> np.ndarray[Any, Any]:
        """Probabilities of classes, for `sgd` with the logistic loss or the cross-entropy.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows.

        Returns
        -------
        ndarray, shape (n, 2) or (n, c)
            With the logistic loss P(y = -1) and P(y = 1) = 1 / (1 + exp(-f)) for the margin f that `predict` returns;
            with the cross-entropy exp(f_k) / sum_j exp(f_j) for the scores f of the columns of y.

        Raises
        ------
        TypeError
            If the method or its loss defines no probabilities.
        ValueError
            If y had several columns with the logistic loss, or as in `predict`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> sgd = ob.create("sgd", backend="numpy", loss="logistic", step_size=1.0).partial_fit([[1.0]], [1.0])
        >>> sgd.predict_proba([[0.0], [2.0]]).round(2)
        array([[0.5 , 0.5 ],
               [0.27, 0.73]])
        """
        predictions = self.backend.asnumpy(self.rule.predict(self._begun(), self._rows_to_predict(X)))
        return class_probabilities(self.rule, predictions)

    def log_likelihood(self, X: ArrayLike, y: ArrayLike, *, noise_variance: float = 1.0) -> float:
        """The logarithm of the density of y given X and the rows learned so far; the learner is unchanged.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows.
        y : array_like, shape (n,) or (n, c)
            Their targets.
        noise_variance : float, default 1.0
            The variance of the observation noise, as in `predict`.

        Returns
        -------
        float
            The sum of the log densities of all rows, each given those before it. For a learner that has seen no row, it
            is the log evidence of its settings.

        Raises
        ------
        TypeError
            If the method predicts no distribution; `rls`, `ridge` and `kalman` do.
        ValueError
            As in `partial_fit`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> rls = ob.create("rls", backend="numpy")
        >>> round(rls.log_likelihood([[1.0], [2.0]], [1.0, 2.0]), 3)
        -3.15
        """
        uncertainty.require(self.method, self.dtype)
        noise, rows = uncertainty.validate_noise(noise_variance), with_numbers(self.rule, self._usable(), X, y)
        state = self._state or self.rule.init(rows.sizes)
        return uncertainty.log_likelihood(self.rule, state, rows.X, rows.Y, noise)

    def _shaped(self, predictions: Array) -> Array:
        return predictions[:, 0] if self._begun().sizes.y_is_1d else predictions
