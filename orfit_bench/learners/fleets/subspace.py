"""Fleets of learners of subspaces."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from orfit_bench.learners.fleets.fleet import Fleet
from orfit_bench.learners.permits import by_one_thread
from orfit_bench.spec.arrays import take, to_host
from orfit_bench.spec.backend import Array
from orfit_bench.state.state import Sizes


class SubspaceFleet(Fleet):
    """A fleet of learners of subspaces.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> fleet = ob.fleet("oja", 2, backend="numpy", n_components=1, step_size=1e6)
    >>> fleet = fleet.partial_fit([[[2.0, 0.0]], [[0.0, 3.0]]])
    >>> abs(fleet[0].components_).round(3), abs(fleet[1].components_).round(3)
    (array([[1., 0.]]), array([[0., 1.]]))
    """

    @by_one_thread
    def partial_fit(self, X: ArrayLike, y: object = None, *, which: ArrayLike | None = None) -> Self:
        """Learn rows, those of each member in order.

        Parameters
        ----------
        X : array_like or table, shape (N, n, d), or (n, d) with which
            Rows of each member. The first call fixes d, at least n_components, and the names of columns.
        y : None
            Ignored, as in scikit-learn.
        which : array_like of int, shape (n,), optional
            The member of each row; a member may have any number of rows, in any order among the others'.

        Returns
        -------
        Fleet
            The fleet itself.

        Raises
        ------
        TypeError, ValueError, DivergedError, RuntimeError
            As in `SupervisedFleet.partial_fit`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> fleet = ob.fleet("oja", 2, backend="numpy", n_components=1)
        >>> fleet.partial_fit([[2.0, 0.0], [0.0, 3.0], [0.0, 1.0]], which=[0, 1, 1]).n_samples_seen_
        array([1, 2])
        """
        state = self._usable()
        rows = self._read_rows(X, which, state, learns=True)
        d, k = rows.X.shape[1], self.members.shared.settings["n_components"]
        if k > d:
            raise ValueError(f"X: got {d} features, want at least n_components={k}")
        self._learn(self._ready(Sizes(d, 0, y_is_1d=False)), rows, rows.X[:, :0], predict=False)
        return self

    def transform(self, X: ArrayLike, *, which: ArrayLike | None = None) -> Array:
        """Compute the coordinates of rows in the basis `components_` of their member; the fleet is unchanged.

        Parameters
        ----------
        X : array_like or table, shape (N, n, d), or (n, d) with which
            Rows.
        which : array_like of int, shape (n,), optional
            The member that transforms each row.

        Returns
        -------
        ndarray, shape (N, n, n_components), or (n, n_components) with which
            Coordinates; the last columns are zero if `components_` of a member has fewer rows.

        Raises
        ------
        TypeError, ValueError
            If no chunk was learned yet, or the rows do not fit.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> fleet = ob.fleet("oja", 2, backend="numpy", n_components=1, step_size=1e6)
        >>> fleet = fleet.partial_fit([[[2.0, 0.0]], [[0.0, 3.0]]])
        >>> abs(fleet.transform([[3.0, 4.0], [3.0, 4.0]], which=[0, 1])).round(3)
        array([[3.],
               [4.]])
        """
        state = self._begun()
        rows = self._read_rows(X, which, state)
        X, Q = to_host(rows.X), orthonormal_columns(to_host(take(state.arrays.basis, rows.members)))
        if len(rows.shape) == 2:
            return X.reshape(*rows.shape, X.shape[1]) @ Q
        return rows.as_called((X[:, None] @ np.repeat(Q, rows.counts, axis=0))[:, 0])


def orthonormal_columns(C: Array) -> Array:
    """The transposes (m, d, k) of the members' `components_`, for C (m, d, k); zero if they have fewer rows."""
    used = (C != 0).any(axis=1)
    first = np.argsort(~used, axis=1, kind="stable")  # columns of zeros are directions that were not seen: to the end
    Q, R = np.linalg.qr(np.take_along_axis(C, first[:, None], axis=2))
    signs = np.where(np.signbit(np.diagonal(R, axis1=1, axis2=2)), -1, 1).astype(C.dtype)
    return np.where(np.take_along_axis(used, first, axis=1)[:, None], Q * signs[:, None], 0)
