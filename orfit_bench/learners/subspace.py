"""The learner of a subspace: rows X without targets."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from orfit_bench.learners import weighting
from orfit_bench.learners.learner import Learner
from orfit_bench.learners.named_rows import read_one_row
from orfit_bench.learners.targets import without_targets
from orfit_bench.spec.arrays import contiguous
from orfit_bench.spec.arrays import diagonal as diagonal_of
from orfit_bench.spec.backend import Array


class Subspace(Learner):
    """A learner of the `n_components` directions along which a stream of rows X (n, d) varies most.

    Made by `orfit_bench.create`. Rows are not centred. `ob.pipeline(ob.Standardizer(scale=False), learner)` subtracts
    the running mean, which is `pipeline.transforms[0].mean_`; the estimators of `orfit_bench.sklearn` have `mean_` too.

    Examples
    --------
    >>> import numpy as np
    >>> import orfit_bench as ob
    >>> pca = ob.create("incremental_pca", backend="numpy", n_components=1)
    >>> abs(pca.partial_fit(np.array([[2.0, 0.0], [1.0, 0.0]])).components_).round(3)
    array([[1., 0.]])
    """

    def partial_fit(self, X: ArrayLike, y: object = None, *, sample_weight: object = None) -> Self:
        """Learn rows in order.

        Parameters
        ----------
        X : array_like or table, shape (n, d)
            Rows; n may be 0 or 1. The first call fixes d, at least n_components, and the names of columns.
        y : None
            Ignored, as in scikit-learn.
        sample_weight : None
            Refused: no subspace method has a rule for weights.

        Returns
        -------
        Subspace
            The learner itself.

        Raises
        ------
        TypeError
            If X contains anything but numbers that the learner's dtype can represent.
        ValueError
            If a number is not finite or the shape does not fit the earlier rows. The learner is unchanged.
        DivergedError
            If a step would not be finite. Rows before it are learned; the error names the row.
        RuntimeError
            If another thread is learning, or an exception interrupted a kernel, so that the state cannot be trusted.

        Warns
        -----
        UserWarning
            Once, if X has named columns and the first rows had none, or the reverse.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> pca = ob.create("incremental_pca", backend="numpy", n_components=1)
        >>> abs(pca.partial_fit([[3.0, 4.0]]).partial_fit([[-6.0, -8.0]]).components_).round(3)
        array([[0.6, 0.8]])
        """
        if sample_weight is not None:
            weighting.require(self.method)
        if type(X) is np.ndarray and X.shape[:1] == (1,) and self._learn_at_once(X[0]):
            return self
        rows = without_targets(self.rule, self._usable(), X, finite=not self.rule.kernel_checks_rows)
        self._update(rows, self.rule.learn, rows.X, rows.Y)
        return self

    def learn_one(self, x: ArrayLike) -> Self:
        """Learn one row. The result is the same as that of `partial_fit`, with less overhead per call.

        Parameters
        ----------
        x : array_like, mapping or Series, shape (d,)
            The row; a NumPy array of the learner's dtype is fastest.

        Returns
        -------
        Subspace
            The learner itself.

        Raises
        ------
        TypeError, ValueError, DivergedError, RuntimeError
            As in `partial_fit`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> pca = ob.create("incremental_pca", backend="numpy", n_components=1)
        >>> abs(pca.learn_one([2.0, 0.0]).learn_one([1.0, 0.0]).components_).round(3)
        array([[1., 0.]])
        """
        if self._learn_at_once(x):
            return self
        state = self._usable()
        X = read_one_row(state, x, self.rule)
        rows = without_targets(self.rule, state, X, finite=not self.rule.kernel_checks_rows)
        self._update(rows, self.rule.learn, rows.X, rows.Y)
        return self

    def _learn_at_once(self, x: object) -> bool:
        """Learn x (d,) by the short path for one row; False if the general path has to learn or refuse it."""
        state = self._state
        if state is None:
            return False
        if (bound := state.bound) and bound.learn_row(state, x, None):
            return True
        if (row := self._single_row) and row.learn_row(state, x):
            return True
        if not (short := self._plain_row(x)):
            return False
        row, plain = short
        if (bound := state.bound_to_names) and bound.learn_row(state, plain, None):
            return True
        return row.learn_row(state, plain)

    def step(self, A: ArrayLike) -> Self:
        """Learn a block of rows as one step, whatever `batch_size` is.

        Parameters
        ----------
        A : array_like, shape (M, d)
            Rows, at least one.

        Returns
        -------
        Subspace
            The learner itself.

        Raises
        ------
        ValueError
            If rows are pending (call `flush` first), or as in `partial_fit`.
        DivergedError
            If the step would not be finite; the learner is unchanged.
        RuntimeError
            If another thread is learning, or an exception interrupted a kernel, so that the state cannot be trusted.

        Notes
        -----
        Use it if one step is to use the mean gradient of these rows. For ordinary rows use `partial_fit`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> pca = ob.create("incremental_pca", backend="numpy", n_components=1)
        >>> abs(pca.step([[3.0, 4.0], [-6.0, -8.0]]).components_).round(3)
        array([[0.6, 0.8]])
        """
        self._check_step()
        rows = without_targets(self.rule, self._usable(), A, "A")
        self._update(rows, self.rule.step, rows.X, rows.Y)
        return self

    @property
    def components_(self) -> Array:
        """An orthonormal basis of the subspace as rows (k, d); fewer than k while fewer directions were seen."""
        xp, C = self.rule.namespace, self._begun().arrays.basis
        used = xp.nonzero(xp.any(C != 0, axis=0))[0]
        Q, R = xp.linalg.qr(xp.take(C, used, axis=1))
        diagonal = diagonal_of(R, xp)
        if self.dtype.kind == "c":
            diagonal = diagonal.real  # LAPACK makes it so
        signs = xp.where(xp.signbit(diagonal), -xp.ones_like(diagonal), xp.ones_like(diagonal))
        return contiguous(_conjugate_transpose(Q * signs, self.dtype), xp)

    @property
    def explained_variance_(self) -> Array:
        """The sums of squares along the rows of `components_`, divided by n - 1, of shape (k,), in descending order.

        This is the variance that scikit-learn's PCA reports if the mean of the rows is zero, since rows are not
        centred. Only `incremental_pca` keeps these sums; the estimators of `orfit_bench.sklearn` compute them, and the
        running mean, for all methods.

        Raises
        ------
        AttributeError
            If the method keeps no singular values.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> pca = ob.create("incremental_pca", backend="numpy", n_components=1)
        >>> pca.partial_fit([[-2.0, 0.0], [0.0, 0.0], [2.0, 0.0]]).explained_variance_.round(3)
        array([4.])
        """
        if all(field.name != "singular_values" for field in self.method.state.fields):
            raise AttributeError(
                f"{self.method.name} keeps no variances: orfit_bench.sklearn.ESTIMATORS[{self.method.name!r}] has "
                f"explained_variance_ and mean_"
            )
        values = self._begun().arrays.singular_values[: self.components_.shape[0]].real
        return values**2 / max(self.n_samples_seen_ - self.pending - 1, 1)

    def transform(self, X: ArrayLike) -> Array:
        """Compute the coordinates of rows in the basis `components_`; the learner is unchanged.

        Parameters
        ----------
        X : array_like or table, shape (n, d)
            Rows.

        Returns
        -------
        array of the backend, shape (n, k)
            X components_', or X components_^H for complex rows, where k is the number of rows of `components_`.

        Raises
        ------
        ValueError
            If no chunk was learned yet, or X does not fit the earlier rows.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> pca = ob.create("incremental_pca", backend="numpy", n_components=1).partial_fit([[2.0, 0.0], [1.0, 0.0]])
        >>> abs(pca.transform([[3.0, 4.0], [0.0, 5.0]])).round(3)
        array([[3.],
               [0.]])
        """
        return _multiply(self._rows_to_predict(X), _conjugate_transpose(self.components_, self.dtype))

    def inverse_transform(self, Z: ArrayLike) -> Array:
        """Compute the rows that have these coordinates; the learner is unchanged.

        Parameters
        ----------
        Z : array_like, shape (n, k)
            Coordinates, as `transform` returns them.

        Returns
        -------
        array of the backend, shape (n, d)
            Z components_. After `transform` these are the projections of the rows onto the subspace.

        Raises
        ------
        ValueError
            If no chunk was learned yet, or the number of columns of Z is not that of the rows of `components_`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> pca = ob.create("incremental_pca", backend="numpy", n_components=1).partial_fit([[2.0, 0.0], [1.0, 0.0]])
        >>> pca.inverse_transform(pca.transform([[3.0, 4.0]])).round(3)
        array([[3., 0.]])
        """
        components = self.components_
        if not components.shape[0] and np.shape(Z)[1:] == (0,):  # as transform gives before a direction was seen
            return self.rule.place(np.zeros((np.shape(Z)[0], components.shape[1]), self.dtype))
        rows = self.rule.place_rows(Z, "Z", None)
        if rows.shape[1] != components.shape[0]:
            raise ValueError(
                f"Z: got {rows.shape[1]} columns, want {components.shape[0]}, one for each row of components_"
            )
        return _multiply(rows, components)


def _multiply(A: Array, B: Array) -> Array:
    """The product A B of finite matrices, with a warning if it overflows."""
    with np.errstate(invalid="ignore"):  # which BLAS may raise for numbers in its buffers that it does not return
        return A @ B


def _conjugate_transpose(a: Array, dtype: np.dtype[Any]) -> Array:
    """The transpose of a real matrix, the conjugate transpose of a complex one; not every library has `conj`."""
    return a.conj().T if dtype.kind == "c" else a.T
