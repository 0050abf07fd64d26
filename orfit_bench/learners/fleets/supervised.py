"""The base class of fleets with targets."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

from orfit_bench.learners.fleets.fleet import Fleet
from orfit_bench.spec.backend import Array


class SupervisedFleet(Fleet):
    """A fleet whose rows have targets: the methods that learn them."""

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, *, which: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn rows, those of each member in order.

        Parameters
        ----------
        X : array_like or table, shape (N, n, d), or (n, d) with which
            Rows of each member. The first call fixes d and the names of columns, which all members share.
        y : array_like, shape (N, n) or (N, n, c); or (n,) or (n, c) with which
            Targets, or labels (N, n) or (n,). The first call fixes c.
        which : array_like of int, shape (n,), optional
            The member of each row; a member may have any number of rows, in any order among the others'.
        sample_weight : array_like, shape (N, n), or (n,) with which, optional
            Weights >= 0 of the rows, as in `partial_fit` of a learner; for `rls`, `ridge`, `class_rls`, `sgd` and
            `softmax`.

        Returns
        -------
        Fleet
            The fleet itself.

        Raises
        ------
        TypeError, ValueError
            If the rows or weights do not fit, or the fleet does not learn weights; no member has changed.
        DivergedError
            If a step of some members would not be finite. These keep the state before it, and all others have learned
            their rows. `members` of the error has the numbers of those that diverged.
        RuntimeError
            If another thread is learning, or an exception interrupted a kernel, so that the state cannot be trusted.

        Warns
        -----
        AccuracyWarning
            If half of the digits of the state of a member are lost, for methods that measure it: for the first such
            member, and whenever there are twice as many. The field `precision_lost` of `state()` marks all of them.
        UserWarning
            Once, if X has named columns and the first rows had none, or the reverse.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> fleet = ob.fleet("lms", 3, backend="numpy", step_size=0.5)
        >>> fleet.partial_fit([[1.0], [1.0], [1.0]], [4.0, 8.0, 4.0], which=[0, 2, 0]).n_samples_seen_
        array([2, 0, 1])
        """
        self._learn_rows(X, y, which, sample_weight, predict=False)
        return self

    def prequential(
        self, X: ArrayLike, y: ArrayLike, *, which: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Array:
        """Learn rows as `partial_fit` does, and predict each of them just before its step.

        Parameters
        ----------
        X : array_like or table, shape (N, n, d), or (n, d) with which
            Rows of each member.
        y : array_like, shape (N, n) or (N, n, c); or (n,) or (n, c) with which
            Targets, or labels (N, n) or (n,).
        which : array_like of int, shape (n,), optional
            The member of each row.
        sample_weight : array_like, shape (N, n), or (n,) with which, optional
            Weights > 0 of the rows, as in `partial_fit`.

        Returns
        -------
        ndarray, shape (N, n) or (N, n, c); or (n,) or (n, c) with which
            Predictions, in the shape of y. For labels scores, (N, n, classes) or (n, classes), with columns as in
            `classes_` after the call.

        Raises
        ------
        TypeError, ValueError, DivergedError, RuntimeError
            As in `partial_fit`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> fleet = ob.fleet("lms", 2, backend="numpy", step_size=0.5)
        >>> fleet.prequential([[[1.0], [1.0]], [[1.0], [1.0]]], [[4.0, 4.0], [8.0, 8.0]])
        array([[0., 2.],
               [0., 4.]])
        """
        return self._learn_rows(X, y, which, sample_weight, predict=True)

    def _learn_rows(
        self, X: ArrayLike, y: ArrayLike, which: ArrayLike | None, sample_weight: ArrayLike | None, predict: bool
    ) -> Any:
        raise NotImplementedError
