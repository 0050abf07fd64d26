"""A learner whose rows are transformed first."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from orfit_bench.errors import DivergedError
from orfit_bench.learners.permits import by_one_thread
from orfit_bench.learners.pipelines import weight_history
from orfit_bench.learners.pipelines.learning import learn
from orfit_bench.learners.pipelines.merging import Merging
from orfit_bench.learners.pipelines.position import standardizer_of
from orfit_bench.learners.pipelines.single_rows import next_row
from orfit_bench.learners.pipelines.transforms import Transform
from orfit_bench.tables.names import NamedValues
from orfit_bench.tables.plain_values import refuse_masked
from orfit_bench.tables.row_labels import check_rows_agree

if TYPE_CHECKING:
    import xarray

Array = np.ndarray[Any, Any]


class Pipeline(Merging):
    """Transforms and a learner, with the learner's methods. Made by `orfit_bench.pipeline`.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> p = ob.pipeline("standardize", "intercept", ob.create("rls", backend="numpy", ridge=1e-6))
    >>> p.partial_fit([[100.0], [200.0], [300.0]], [3.0, 5.0, 7.0]).predict([[400.0]]).round(3)
    array([9.])
    """

    # ------------------------------------------------------------------ learning

    def partial_fit(self, X: ArrayLike, y: ArrayLike | None = None, **given: object) -> Self:
        """Learn rows in order, as the learner's `partial_fit` does.

        Parameters
        ----------
        X : array_like or table, shape (n, d)
            Rows before the transforms. The first call fixes d and the names of columns.
        y : array_like, shape (n,) or (n, c), optional
            Targets or labels; none for a subspace.
        **given
            Further arguments of the learner's `partial_fit`, such as `sample_weight`, with one entry per row.

        Returns
        -------
        Pipeline
            The pipeline itself.

        Raises
        ------
        TypeError, ValueError, DivergedError, RuntimeError
            As in the learner's `partial_fit`. The transforms then know the rows that the learner has learned, and no
            others but pending rows of earlier calls, if they belong to the refused step. TypeError also for
            `sample_weight`, if the learner does not follow the moments of a standardizer.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> p = ob.pipeline("standardize", "intercept", ob.create("rls", backend="numpy", ridge=1e-6))
        >>> X, y = [[100.0], [200.0], [300.0]], [3.0, 5.0, 0.0]
        >>> p.partial_fit(X, y, sample_weight=[1.0, 1.0, 0.0]).predict([[300.0]]).round(3)
        array([7.])
        """
        self._learn("partial_fit", X, *(() if y is None else (y,)), **given)
        return self

    def prequential(self, X: ArrayLike, y: ArrayLike, **given: object) -> Any:
        """Learn rows in order, and predict each of them just before its step.

        Parameters
        ----------
        X : array_like or table, shape (n, d)
            Rows before the transforms.
        y : array_like, shape (n,) or (n, c)
            Targets or labels.
        **given
            Further arguments of the learner's `prequential`, such as `sample_weight`, with one entry per row.

        Returns
        -------
        array of the backend, shape (n,) or (n, c)
            What the learner's `prequential` returns, computed from the rows before each row and the row's own features.

        Raises
        ------
        TypeError, ValueError, DivergedError, RuntimeError
            As in `partial_fit`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> p = ob.pipeline("standardize", "intercept", ob.create("rls", backend="numpy", ridge=1e-6))
        >>> p.prequential([[100.0], [200.0], [300.0], [400.0]], [3.0, 5.0, 7.0, 9.0]).round(3)
        array([0., 3., 7., 9.])
        """
        return self._learn("prequential", X, y, **given)

    def learn_one(self, x: ArrayLike, *y: ArrayLike, sample_weight: float | None = None) -> Self:
        """Learn one row; the result is that of `partial_fit` with this row.

        Parameters
        ----------
        x : array_like, mapping or Series, shape (d,)
            The row before the transforms.
        *y : number, label, or array_like of shape (c,)
            Its target; none for a subspace.
        sample_weight : float, optional
            Its weight, as in `partial_fit`.

        Returns
        -------
        Pipeline
            The pipeline itself.

        Raises
        ------
        TypeError, ValueError, DivergedError, RuntimeError
            As in `partial_fit`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> p = ob.pipeline("standardize", "intercept", ob.create("rls", backend="numpy", ridge=1e-6))
        >>> p.learn_one([100.0], 3.0).learn_one([200.0], 5.0).predict([[300.0]]).round(3)
        array([7.])
        """
        if sample_weight is None and self._learn_row(x, y):
            return self
        given = {} if sample_weight is None else {"sample_weight": [sample_weight]}
        self._learn("partial_fit", self._one_row(x), *(_one_target(t) for t in y), **given)
        return self

    @by_one_thread
    def weight_history(self, X: ArrayLike, y: ArrayLike, *, every: int = 1) -> xarray.DataArray:
        """Learn rows in order, and return the weights after each `every` of them, for rows before the transforms.

        Parameters
        ----------
        X : array_like or table, shape (n, d)
            Rows before the transforms.
        y : array_like, shape (n,) or (n, c)
            Targets.
        every : int, default 1
            As in the learner's `weight_history`.

        Returns
        -------
        xarray.DataArray, shape (n // every, d + 1, c)
            As returned by the learner's `weight_history`; the last parameter is the intercept.

        Raises
        ------
        TypeError
            If the learner does not follow the moments, so that no weights for rows before the transforms exist.
        ValueError, DivergedError
            As in the learner's `weight_history`.
        RuntimeError
            If another thread is learning, or an exception interrupted a kernel, so that the state cannot be trusted.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> p = ob.pipeline("standardize", "intercept", ob.create("rls", backend="numpy", ridge=1e-6))
        >>> p.weight_history([[100.0], [200.0], [300.0], [400.0]], [3.0, 5.0, 7.0, 9.0], every=2).values.round(3)
        array([[0.02, 1.  ],
               [0.02, 1.  ]])
        """
        if not hasattr(self.learner, "weight_history"):
            raise TypeError(f"weight_history: learners of {self.learner.method.name} have none")
        if self.position is None:
            raise TypeError(f"weight_history: {self._refusal or 'no step standardizes: use pipeline.learner'}")
        rows = NamedValues(*self._rows(X))
        work = self.copy()
        try:
            history = weight_history.record(work, rows, y, every)
        except DivergedError:
            self._adopt(work)
            raise
        self._adopt(work)
        return history

    def _adopt(self, other: Pipeline) -> None:
        """Take over the state of a copy that has learned rows."""
        self.learner.live_state = other.learner.live_state
        self.transforms, self.position = other.transforms, other.position
        self.n_features, self.feature_names = other.n_features, other.feature_names
        self.has_warned_of_names = other.has_warned_of_names

    @by_one_thread
    def _learn_row(self, x: Any, targets: tuple[Any, ...]) -> bool:
        """Learn a row in the coordinates of the rows before it; False, and nothing is changed, if it needs a chunk."""
        plain = self._plain_row(x)
        if plain is None or self.position is None or self.learner.rule.batch_size > 1:
            return False
        found = next_row(standardizer_of(self.transforms), self.position, plain)
        if found is None:
            return False
        before, seen = self._advancing(), self.n_samples_seen_
        try:
            self.learner.learn_one(found.row, *targets)
            self.position, self.transforms = found.position, (found.standardizer, *self.transforms[1:])
        except KeyboardInterrupt as error:
            self._mark_if_behind(before, seen, error)
            raise
        except Exception as error:
            if self.n_samples_seen_ != seen:  # a warning that is an error came after the row
                self.position, self.transforms = found.position, (found.standardizer, *self.transforms[1:])
            elif isinstance(error, (DivergedError, TypeError, ValueError)):
                return False  # learning it as a chunk raises the full error
            raise
        return True

    @by_one_thread
    def _learn(self, verb: str, X: Any, *targets: Any, **given: Any) -> Any:
        """The result of a method (`verb`) of the learner; the transforms advance only as far as the learner."""
        before, seen = self._advancing(), self.n_samples_seen_
        try:
            return self._learn_rows(verb, X, targets, given)
        except KeyboardInterrupt as error:
            self._mark_if_behind(before, seen, error)
            raise

    def _advancing(self) -> tuple[object, object]:
        """What must change together with the learner."""
        return self.transforms, self.position

    def _mark_if_behind(self, before: tuple[object, object], seen: int, error: KeyboardInterrupt) -> None:
        """Mark the state as interrupted if the learner has learned rows that the transforms do not know yet."""
        is_old = [now is old for now, old in zip(self._advancing(), before, strict=True) if old is not None]
        with suppress(RuntimeError):  # the learner has marked its state
            if self.n_samples_seen_ != seen and any(is_old) and (state := self.learner.live_state):
                state.interrupted = type(error).__name__

    def _learn_rows(self, verb: str, X: Any, targets: tuple[Any, ...], given: dict[str, Any]) -> Any:
        for y in targets:
            check_rows_agree(X, y, "y")
        check_rows_agree(X, given.get("sample_weight"), "sample_weight")
        rows, names = self._rows(X)
        if self.position is not None:
            learned = learn(self.learner, standardizer_of(self.transforms), self.position, verb, rows, targets, given)
            self.position = learned.position
            self._go_on((learned.standardizer, *self.transforms[1:]), rows, names)
            if learned.error is not None:
                raise learned.error
            return learned.found
        if given.get("sample_weight") is not None and self._refusal:
            raise TypeError(f"sample_weight: this pipeline has no rule for the weight of a row: {self._refusal}")
        transforms, Z = self._learned(rows)
        seen = self.n_samples_seen_
        try:
            found = getattr(self.learner, verb)(Z, *targets, **given)
        except DivergedError as error:
            self._go_on(self._learned(rows[: error.row])[0], rows, names)
            raise
        except BaseException:
            if self.n_samples_seen_ != seen:  # a warning that is an error comes after all rows
                self._go_on(transforms, rows, names)
            raise
        self._go_on(transforms, rows, names)
        return found

    def _go_on(self, transforms: tuple[Transform, ...], X: Array, names: tuple[str, ...]) -> None:
        """Keep these transforms, and the number and names of the columns of X."""
        self.transforms, self.n_features, self.feature_names = transforms, X.shape[1], names

    def _learned(self, X: Array) -> tuple[tuple[Transform, ...], Array]:
        after = []
        for step in self.transforms:
            step, X = step.learn(X)
            after.append(step)
        return tuple(after), X

    @by_one_thread
    def flush(self) -> Self:
        """Learn the pending rows of the learner as one shorter step.

        Returns
        -------
        Pipeline
            The pipeline itself.

        Raises
        ------
        DivergedError, UnavailableError, RuntimeError
            As in `Learner.flush`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> p = ob.pipeline("standardize", ob.create("sgd", backend="numpy", batch_size=4))
        >>> p.partial_fit([[1.0], [2.0], [3.0]], [3.0, 5.0, 7.0]).pending, p.flush().pending
        (3, 0)
        """
        self.learner.flush()
        return self


def _one_target(value: Any) -> Any:
    """The target of one row, a number, a label or (c,), as targets."""
    refuse_masked(value, "y")
    return [value] if isinstance(value, str) else np.asarray(value)[None]
