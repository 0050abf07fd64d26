"""The learner of numbers: rows X with targets y."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from orfit_bench.learners.named_rows import read_one_row, read_one_target
from orfit_bench.learners.recorded_learning import RecordedLearning
from orfit_bench.learners.targets import with_numbers


class Regressor(RecordedLearning):
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
            Weights of the rows, if the method has a rule for them. Without forgetting, an integer weight k counts as k
            copies of the row; `rls` and `kalman` linearize a nonlinear model once for all copies. A row of
            weight 0 changes only `n_samples_seen_`. With `ridge`, a negative weight unlearns a row: in the
            k-th step after the one that learned it, pass -v forgetting_factor^k for a row of weight v.

        Returns
        -------
        Regressor
            The learner itself.

        Raises
        ------
        TypeError
            If X or y contains anything but numbers that the learner's dtype can represent, or the method has no rule
            for weights.
        ValueError
            If a number is not finite or a shape does not fit the earlier rows. The learner is unchanged.
        DivergedError
            If a step would not be finite. Rows before it are learned; the error names the row.
        RuntimeError
            If another thread is learning, or an exception interrupted a kernel, so that the state cannot be trusted.

        Warns
        -----
        AccuracyWarning
            Once, if half of the digits of the state are lost, for methods that measure it.
        UserWarning
            Once, if X has named columns and the first rows had none, or the reverse.

        Examples
        --------
        Chunks of any length give the same state.

        >>> import orfit_bench as ob
        >>> X, y = [[1.0], [2.0], [3.0]], [2.0, 4.0, 6.0]
        >>> one, two = (ob.create("rls", backend="numpy") for _ in range(2))
        >>> one.partial_fit(X, y).predict([[1.0]]).round(3)
        array([1.867])
        >>> two.partial_fit(X[:1], y[:1]).partial_fit(X[1:], y[1:]).predict([[1.0]]).round(3)
        array([1.867])
        """
        state = self._state
        if sample_weight is None and state is not None and type(X) is type(y) is np.ndarray:
            if (bound := state.bound) and bound.learn_rows(state, X, y, False) is not None:
                return self
            row = self._single_row
            if row and X.shape[:1] == y.shape[:1] == (1,) and row.learn_number(state, X[0], y[0]):
                return self
        self._learn_numbers(X, y, sample_weight)
        return self

    def learn_one(self, x: ArrayLike, y: ArrayLike, *, sample_weight: float | None = None) -> Self:
        """Learn one row. The result is the same as that of `partial_fit`, with less overhead per call.

        Parameters
        ----------
        x : array_like, mapping or Series, shape (d,)
            The row; a NumPy array of the learner's dtype is fastest.
        y : float, or array_like, mapping or Series, shape (c,)
            Its target; names are those of the columns of a table.
        sample_weight : float, optional
            Its weight, as in `partial_fit`.

        Returns
        -------
        Regressor
            The learner itself.

        Raises
        ------
        TypeError, ValueError, DivergedError, RuntimeError
            As in `partial_fit`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> learner = ob.create("rls", backend="numpy", ridge=1e-6)
        >>> for x, y in [([1.0, 0.0], 2.0), ([0.0, 1.0], 4.0)]:
        ...     learner = learner.learn_one(x, y)
        >>> round(float(learner.predict_one([1.0, 1.0])), 3)
        6.0
        """
        state = self._state
        if sample_weight is None and state is not None:
            if (bound := state.bound) and bound.learn_row(state, x, y):
                return self
            if (row := self._single_row) and row.learn_number(state, x, y):
                return self
            if short := self._plain_row(x):
                row, plain = short
                if (bound := state.bound_to_names) and bound.learn_row(state, plain, y):
                    return self
                if row.learn_number(state, plain, y):
                    return self
        X, Y = read_one_row(self._usable(), x, self.rule), read_one_target(self._usable(), y, self.rule)
        self._learn_numbers(X, Y, None if sample_weight is None else [sample_weight])
        return self

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
            If rows are pending (call `flush` first), or as in `partial_fit`.
        DivergedError
            If the step would not be finite; the learner is unchanged.
        RuntimeError
            If another thread is learning, or an exception interrupted a kernel, so that the state cannot be trusted.

        Notes
        -----
        Use it if several observations belong to one time, so that forgetting or a move of the state counts once. For
        ordinary rows use `partial_fit`.

        Examples
        --------
        Forgetting acts once in a step, and once per row in `partial_fit`.

        >>> import orfit_bench as ob
        >>> A, y = [[1.0], [1.0]], [0.0, 4.0]
        >>> rls = ob.create("rls", backend="numpy", forgetting_factor=0.5)
        >>> rls.copy().step(A, y).predict([[1.0]]).round(3)
        array([1.6])
        >>> rls.copy().partial_fit(A, y).predict([[1.0]]).round(3)
        array([2.286])
        """
        self._check_step()
        rows = with_numbers(self.rule, self._usable(), A, y, "A")
        self._update(rows, self.rule.step, rows.X, rows.Y)
        return self
