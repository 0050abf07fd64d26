"""The learner of numbers: rows X with targets y."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike

from orfit_bench.learners import sparse, uncertainty, validation, weight_history, weighting
from orfit_bench.learners.learner import Learner
from orfit_bench.learners.named_rows import read_one_row
from orfit_bench.learners.probabilities import class_probabilities
from orfit_bench.learners.targets import with_numbers
from orfit_bench.spec.backend import Array

if TYPE_CHECKING:
    import xarray


class Regressor(Learner):
    """A learner of numbers: rows X (n, d) with targets y (n,) or (n, c), in chunks of any length.

    Made by `orfit_bench.create`. However a stream is cut into chunks, the state after it is the same.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> rls = ob.create("rls", backend="numpy", ridge=1e-6)
    >>> rls.partial_fit([[1.0, 0.0], [0.0, 1.0]], [2.0, 3.0]).predict([[1.0, 1.0]]).round(3)
    array([5.])
    """

    def partial_fit(self, X: ArrayLike, y: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Self:
        """Learn rows in order.

        Parameters
        ----------
        X : array_like or table, shape (n, d)
            Rows; n may be 0 or 1. The first call fixes d and the names of columns.
        y : array_like, column or table, shape (n,) or (n, c)
            Targets. The first call fixes c, and whether predictions have shape (n,) or (n, c).
        sample_weight : array_like, shape (n,), optional
            Weights of the rows, where the method has a rule for them. A whole weight equals as many repetitions of the
            row, where nothing is forgotten; a row of weight 0 changes nothing. With `ridge` a negative weight unlearns.

        Returns
        -------
        Regressor
            The learner itself.

        Raises
        ------
        TypeError
            If X or y holds anything but real numbers, or the method has no rule for weights.
        ValueError
            If a number is not finite or a shape does not fit the earlier rows. The learner is unchanged.
        DivergedError
            If a step would not be finite. Rows before it are learned; the error names the row.
        """
        row = self._single_row
        if (
            row
            and sample_weight is None
            and type(X) is np.ndarray
            and type(y) is np.ndarray
            and X.shape[:1] == y.shape[:1] == (1,)
            and row.learn_number(self._state, X[0], y[0])
        ):
            return self
        self._learn_numbers(X, y, sample_weight)
        return self

    def learn_one(self, x: ArrayLike, y: ArrayLike, *, sample_weight: float | None = None) -> Self:
        """Learn one row. The result is that of `partial_fit` with this row, at the least overhead per call.

        Parameters
        ----------
        x : array_like, mapping or Series, shape (d,)
            The row; a NumPy array of the learner's dtype is fastest.
        y : float, or array_like, shape (c,)
            Its target.
        sample_weight : float, optional
            Its weight, as in `partial_fit`.

        Returns
        -------
        Regressor
            The learner itself.

        Raises
        ------
        TypeError, ValueError, DivergedError
            As `partial_fit`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> learner = ob.create("rls", backend="numpy", ridge=1e-6)
        >>> for x, y in [([1.0, 0.0], 2.0), ([0.0, 1.0], 4.0)]:
        ...     learner = learner.learn_one(x, y)
        >>> round(float(learner.predict_one([1.0, 1.0])), 3)
        6.0
        """
        row = self._single_row
        if row and sample_weight is None and row.learn_number(self._state, x, y):
            return self
        xp = self.rule.namespace
        X, Y = read_one_row(self._usable(), x, xp), validation.one_target(y, xp)
        self._learn_numbers(X, Y, None if sample_weight is None else [sample_weight])
        return self

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
            For each row what `predict` would have returned before the step that learned it.

        Raises
        ------
        TypeError, ValueError, DivergedError
            As `partial_fit`.
        """
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
            The weights by which `predict` would answer, with the dimensions "row" (`n_samples_seen_`), "parameter" and
            "output" (without outputs where y is (n,)), in host memory.

        Raises
        ------
        ValueError
            If the history would exceed 1 GiB, before any row is learned; or as `partial_fit`.
        TypeError, DivergedError
            As `partial_fit`.

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
        return weight_history.labelled(history, self._begun(), every, len(rows.X))

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

        Examples
        --------
        >>> import orfit_bench as ob
        >>> rls = ob.create("rls", backend="numpy").partial_fit([[1.0], [2.0]], [1.0, 2.0])
        >>> mean, std = rls.predict([[0.0], [6.0]], return_std=True)
        >>> mean, std.round(3)
        (array([0., 5.]), array([1.   , 2.646]))
        """
        X = self._question(X)
        mean = self._shaped(self.rule.predict(self._begun(), X))
        if not return_std:
            return mean
        uncertainty.require(self.method, self.dtype)
        noise = uncertainty.validate_noise(noise_variance)
        return mean, self._shaped(uncertainty.standard_deviations(self.rule, self._begun(), X, noise))

    def predict_proba(self, X: ArrayLike) -> np.ndarray[Any, Any]:
        """Probabilities of y = -1 and y = 1, for `sgd` with the logistic loss.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows.

        Returns
        -------
        ndarray, shape (n, 2)
            P(y = -1) and P(y = 1) = 1 / (1 + exp(-f)) for the margin f that `predict` returns.

        Raises
        ------
        TypeError
            If the method or its loss defines no probabilities.
        ValueError
            If y had several columns, or as `predict`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> sgd = ob.create("sgd", backend="numpy", loss="logistic", step_size=1.0).partial_fit([[1.0]], [1.0])
        >>> sgd.predict_proba([[0.0], [2.0]]).round(2)
        array([[0.5 , 0.5 ],
               [0.27, 0.73]])
        """
        margins = self.backend.asnumpy(self.rule.predict(self._begun(), self._question(X)))
        if margins.shape[1] > 1:
            raise ValueError(f"predict_proba: y had {margins.shape[1]} columns, want one; create a learner for each")
        return class_probabilities(self.rule, margins)

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
            The sum of the log densities of all rows, each given those before it; for a learner that has seen no row the
            log evidence of its settings.

        Raises
        ------
        TypeError
            If the method predicts no distribution; `rls`, `ridge` and `kalman` do.
        ValueError
            As `partial_fit`.

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
        """
        row = self._single_row
        if row and (prediction := row.predict_number(self._state, x)) is not None:
            return prediction
        X = self._question_about_one(x)
        return self._shaped(self.rule.predict(self._begun(), X))[0]

    def step(self, A: ArrayLike, y: ArrayLike) -> Self:
        """Learn a block of rows as one step, whatever `batch_size` is.

        Parameters
        ----------
        A : array_like, shape (M, d)
            Rows, at least one.
        y : array_like, shape (M,) or (M, c)
            Their targets.

        Returns
        -------
        Regressor
            The learner itself.

        Raises
        ------
        TypeError
            If the method has no rule for a block of rows.
        ValueError
            If rows are pending (call `flush` first), or as `partial_fit`.
        DivergedError
            If the step would not be finite; the learner is unchanged.
        """
        self._check_step()
        rows = with_numbers(self.rule, self._usable(), A, y, "A")
        self._update(rows, self.rule.step, rows.X, rows.Y)
        return self

    def _learn_numbers(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, predict: bool = False
    ) -> Array | None:
        """Learn rows, and with `predict` return what was predicted for each before its step."""
        if sample_weight is None:
            rows = with_numbers(self.rule, self._usable(), X, y, look=not self.rule.kernel_checks_rows)
            learn = partial(sparse.learn, self.rule) if sparse.is_sparse(rows.X) else self.rule.learn
            return self._update(rows, learn, rows.X, rows.Y, predict)
        rows = with_numbers(self.rule, self._usable(), X, y)
        if sparse.is_sparse(rows.X):
            raise TypeError("sample_weight: sparse rows have no weights: pass X.toarray()")
        weights = weighting.validate(sample_weight, self.rule, len(rows.X))
        return self._update(rows, partial(weighting.learn, self.rule), rows.X, rows.Y, weights, predict)

    def _shaped(self, predictions: Array) -> Array:
        return predictions[:, 0] if self._begun().sizes.y_is_1d else predictions
