"""The learner of labels: classes may appear at any row."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from orfit_bench.learners.label_predictions import LabelPredictions
from orfit_bench.learners.named_rows import read_one_row
from orfit_bench.learners.targets import with_labels
from orfit_bench.spec.backend import Array


class Classifier(LabelPredictions):
    """A learner of labels: rows X (n, d) with labels y (n,), whose classes may appear at any row.

    Made by `orfit_bench.create`. Labels are integers, booleans or strings, one type per learner.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> learner = ob.create("class_rls", backend="numpy")
    >>> learner.partial_fit([[1.0, 0.0], [0.0, 1.0]], ["cat", "dog"]).predict([[0.9, 0.1]])
    array(['cat'], dtype='<U3')
    """

    def partial_fit(self, X: ArrayLike, y: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Self:
        """Learn labelled rows in order.

        Parameters
        ----------
        X : array_like or table, shape (n, d)
            Rows; n may be 0 or 1. The first call fixes d and the names of columns.
        y : array_like or list, shape (n,)
            Labels; a new one adds a class, which scores zero before.
        sample_weight : array_like, shape (n,), optional
            Weights of the rows, if the method has a rule for them. Without forgetting, an integer weight k counts as k
            copies of the row. A row of weight 0 changes only `n_samples_seen_` and the known classes.

        Returns
        -------
        Classifier
            The learner itself.

        Raises
        ------
        TypeError
            If X holds anything but real numbers, or the labels are of another type than the earlier ones.
        ValueError
            If a number is not finite or a shape does not fit the earlier rows. The learner is unchanged.
        DivergedError
            If a step would not be finite. Rows before it, and their classes, are learned; the error names the row.
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
        >>> import orfit_bench as ob
        >>> learner = ob.create("class_rls", backend="numpy").partial_fit([[1.0, 0.0]], ["cat"])
        >>> learner.partial_fit([[0.0, 1.0]], ["dog"]).classes_
        array(['cat', 'dog'], dtype='<U3')
        """
        if sample_weight is None and type(X) is type(y) is np.ndarray and X.shape[:1] == y.shape[:1] == (1,):
            state, row = self._state, self._single_row
            if state is not None and (bound := state.bound) and bound.learn_row(state, X[0], y[0]):
                return self
            if row and row.learn_label(state, X[0], y[0]):
                return self
        self._learn_labels(X, y, sample_weight)
        return self

    def learn_one(self, x: ArrayLike, y: ArrayLike, *, sample_weight: float | None = None) -> Self:
        """Learn one row. The result is the same as that of `partial_fit`, with less overhead per call.

        Parameters
        ----------
        x : array_like, mapping or Series, shape (d,)
            The row; a NumPy array of the learner's dtype is fastest.
        y : int, bool or str
            Its label.
        sample_weight : float, optional
            Its weight, as in `partial_fit`.

        Returns
        -------
        Classifier
            The learner itself.

        Raises
        ------
        TypeError, ValueError, DivergedError, RuntimeError
            As in `partial_fit`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> learner = ob.create("class_rls", backend="numpy")
        >>> learner = learner.learn_one([1.0, 0.0], "cat").learn_one([0.0, 1.0], "dog")
        >>> learner.predict_one([0.9, 0.1])
        'cat'
        """
        state = self._state
        if sample_weight is None and state is not None:
            if (bound := state.bound) and bound.learn_row(state, x, y):
                return self
            if (row := self._single_row) and row.learn_label(state, x, y):
                return self
            if short := self._plain_row(x):
                row, plain = short
                if (bound := state.bound_to_names) and bound.learn_row(state, plain, y):
                    return self
                if row.learn_label(state, plain, y):
                    return self
        X = read_one_row(self._usable(), x, self.rule)
        self._learn_labels(X, [y], None if sample_weight is None else [sample_weight])
        return self

    def prequential(self, X: ArrayLike, y: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Array:
        """Learn labelled rows in order, and score each of them just before its step.

        Parameters
        ----------
        X : array_like or table, shape (n, d)
            Rows.
        y : array_like or list, shape (n,)
            Labels.
        sample_weight : array_like, shape (n,), optional
            Weights of the rows, as in `partial_fit`.

        Returns
        -------
        array of the backend, shape (n, classes)
            Scores, with a column for each class known after the call, which is zero until the class was seen. The
            highest score can therefore be that of a class that comes later in these rows: to compare labels, call
            `predict_one` before `learn_one`.

        Raises
        ------
        TypeError, ValueError, DivergedError, RuntimeError
            As in `partial_fit`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> learner = ob.create("class_rls", backend="numpy")
        >>> learner.prequential([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], ["cat", "dog", "cat"])
        array([[0. , 0. ],
               [0. , 0. ],
               [0.5, 0. ]])
        """
        return self._learn_labels(X, y, sample_weight, predict=True)

    def step(self, A: ArrayLike, y: ArrayLike) -> Self:
        """Learn a block of labelled rows as one step.

        Parameters
        ----------
        A : array_like, shape (M, d)
            Rows, at least one.
        y : array_like or list, shape (M,)
            Their labels.

        Returns
        -------
        Classifier
            The learner itself.

        Raises
        ------
        TypeError, ValueError
            As in `partial_fit`; or if rows are pending (call `flush` first), or the method has no rule for a block of
            rows.
        DivergedError
            If the step would not be finite; no row is learned.
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
        >>> A, y = [[1.0], [1.0]], ["cat", "dog"]
        >>> learner = ob.create("class_rls", backend="numpy", forgetting_factor=0.5)
        >>> learner.copy().step(A, y).decision_function([[1.0]]).round(3)
        array([[0.4, 0.4]])
        >>> learner.copy().partial_fit(A, y).decision_function([[1.0]]).round(3)
        array([[0.286, 0.571]])
        """
        self._check_step()
        rows = with_labels(self.rule, self._usable(), A, y, "A")
        self._update(rows, self.rule.step, rows.X, rows.Y)
        return self

    def _learn_labels(
        self, X: ArrayLike, y: object, sample_weight: ArrayLike | None, predict: bool = False
    ) -> Array | None:
        """Learn labelled rows, and with `predict` return the scores of each before its step."""
        return self._learn_rows(with_labels(self.rule, self._usable(), X, y), X, sample_weight, predict)
