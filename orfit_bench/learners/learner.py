"""The base class of learners of all kinds: merging and learning."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self

from numpy.typing import ArrayLike

from orfit_bench.errors import DivergedError
from orfit_bench.learners import sparse, weighting
from orfit_bench.learners.merging import merged
from orfit_bench.learners.named_rows import read_features, read_one_row
from orfit_bench.learners.permits import BUSY, by_one_thread, take
from orfit_bench.learners.plain_rows import plain_row
from orfit_bench.learners.single_row import SingleRow
from orfit_bench.learners.storing import Stored
from orfit_bench.learners.targets import EncodedRows, with_classes
from orfit_bench.spec.backend import Array
from orfit_bench.spec.capability import require
from orfit_bench.tables.names import NamedValues


class Learner(Stored):
    """The base class of all learners. Made by `orfit_bench.create`.

    A learner is a rule, which never changes, and a state, which contains everything that determines how it continues.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> isinstance(ob.create("rls", backend="numpy"), ob.Learner)
    True
    """

    # ------------------------------------------------------------------ merging

    @by_one_thread
    def merge(self, other: Learner) -> Self:
        """Merge the state of another learner into this one, as if its rows had followed those of this learner.

        Parameters
        ----------
        other : learner
            A learner of the same method, settings, model and dtype; it is not changed.

        Returns
        -------
        learner
            This learner. `n_samples_seen_` is the sum; the number of steps is the larger one, or the sum if exact.

        Raises
        ------
        ValueError
            If the two differ, rows are pending in one of them, the method has no rule for merging, or too few digits
            would be left: an exact merge subtracts the prior of one learner.
        RuntimeError
            If another thread is learning, or an exception interrupted a kernel, so that a state cannot be trusted.

        Warns
        -----
        AccuracyWarning
            If half of the digits are lost.

        Notes
        -----
        Whether a merge is exact, an average or an approximation depends on the method: see `orfit-bench list METHOD`.
        Do not merge a learner with a copy of itself: the rows that both have learned would count twice.

        Examples
        --------
        The merge of RLS is exact: two learners of one row each give the learner of both rows.

        >>> import orfit_bench as ob
        >>> X, y = [[1.0, 0.0], [1.0, 1.0]], [2.0, 4.0]
        >>> a, b, both = (ob.create("rls", backend="numpy") for _ in range(3))
        >>> a.partial_fit(X[:1], y[:1]).merge(b.partial_fit(X[1:], y[1:])).predict(X).round(3)
        array([1.6, 2.8])
        >>> both.partial_fit(X, y).predict(X).round(3)
        array([1.6, 2.8])
        """
        if not isinstance(other, Learner):
            kind = type(other).__name__
            raise ValueError(
                f"merge: the learners differ in method: {self.method.name} and {kind}, which is not a learner"
            )
        self._replace_state(merged(self.rule, self._usable(), other.rule, other.live_state))
        if self._state:
            self.rule.warn_of_lost_precision(self._state)
        return self

    # ------------------------------------------------------------------ learning

    def flush(self) -> Self:
        """Learn the pending rows as one shorter step; without pending rows nothing changes.

        Call it at the end of a stream, before `predict`, `merge` or `step`. Do not call it between chunks: the result
        would then depend on their size.

        Returns
        -------
        learner
            The learner itself.

        Raises
        ------
        DivergedError
            If the step would not be finite.
        UnavailableError
            If the backend cannot learn blocks of rows with this method.
        RuntimeError
            If another thread is learning, or an exception interrupted a kernel, so that the state cannot be trusted.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> sgd = ob.create("sgd", backend="numpy", batch_size=4, step_size=0.5).partial_fit([[1.0]], [2.0])
        >>> sgd.pending, sgd.predict([[1.0]])
        (1, array([0.]))
        >>> sgd.flush().pending, sgd.predict([[1.0]])
        (0, array([1.]))
        """
        state = self._state
        if state and state.pending.count:
            require("blocks", self.rule.kernel, self.method, self.backend)
            self._usable()
            X, Y = state.pending.concatenate()
            rows = EncodedRows(X, Y, state.sizes, state.classes, (), None, state.feature_names, state.target_names)
            self._update(rows, self.rule.flush)
        return self

    def _learn_rows(self, rows: EncodedRows, X: object, sample_weight: ArrayLike | None, predict: bool) -> Array | None:
        """Learn rows with their targets, and with `predict` return the prediction of each before its step."""
        given: tuple[object, ...] = ()
        if sample_weight is None:
            learn = partial(sparse.learn, self.rule) if sparse.is_sparse(rows.X) else self.rule.learn
        elif sparse.is_sparse(rows.X):
            raise TypeError("sample_weight: sparse rows have no weights: pass X.toarray()")
        else:
            given = (weighting.validate(sample_weight, self.rule, rows.X.shape[:1], X),)
            learn = partial(weighting.learn, self.rule)
        found: Array | None = self._update(rows, learn, rows.X, rows.Y, *given, predict)
        if predict and self.method.state.solution and self.rule.on_host and rows.X.shape[0] > 1:
            self.rule.solved_weights(self._begun())  # warns of lost digits: for a single row it would double the time
        return found

    def _update(self, rows: EncodedRows, act: Callable[..., Any], *arguments: object) -> Any:
        """Return act(state, *arguments), with a state of the sizes of these rows; undo the change if it fails.

        The state is copied first if functions of the user may fail. Otherwise it is not, since that would double the
        cost of a row, and a learner whose kernel fails halfway or is interrupted refuses further calls.
        """
        permit = self.permit
        take(permit)
        try:
            if not rows.fits(self._state):  # they were read before another thread learned
                raise RuntimeError(BUSY)
            return self._change(rows, act, *arguments)
        finally:
            permit.append(None)

    def _change(self, rows: EncodedRows, act: Callable[..., Any], *arguments: object) -> Any:
        """Do the work of `_update`; the caller holds the permit. A change that fails is undone."""
        old = state = self._state
        if state is None:
            state = self.rule.init(rows.sizes, rows.classes)
            state.feature_names, state.target_names = rows.feature_names, rows.target_names
        elif rows.classes != state.classes:
            state = with_classes(self.rule, state, rows.classes)
        state.permit = self.permit
        backup = self.rule.copy(old) if old and self.rule.runs_user_code(rows.inputs) else None
        steps, seen = (old.n_steps, old.n_samples) if old else (0, 0)
        try:
            result = act(state, *arguments)
        except DivergedError:
            learned = state.n_samples - seen
            known = len(rows.classes) - sum(row >= learned for row in rows.arrivals)
            self._replace_state(with_classes(self.rule, state, rows.classes[:known]))
            if self._state:
                self.rule.warn_of_lost_precision(self._state)
            raise
        except BaseException as error:
            if backup:
                self._replace_state(backup)
            elif old:
                old.n_steps, old.n_samples = steps, seen
                if isinstance(error, KeyboardInterrupt):  # which may come after the kernel as well
                    old.interrupted = old.interrupted or type(error).__name__
            raise
        if rows.feature_names or rows.target_names:
            state.feature_names, state.target_names = rows.feature_names, rows.target_names
        self._set_state(state)
        self._single_row = self._find_single_row()
        if state.n_steps and (row := self.rule.single_row(state.sizes)):
            row.bind(state)
        if self.method.state.warning or state.notice:
            self.rule.warn_of_lost_precision(state)
        return result

    # ------------------------------------------------------------------ checks of calls

    def _row_to_predict(self, x: ArrayLike) -> Array:
        """One row x (d,) to predict, as rows (1, d), validated, on the backend."""
        row = self._single_row
        X = row.as_rows(self._state, x) if row else None
        if X is None and (short := self._plain_row(x)):
            row, plain = short
            X = row.as_rows(self._state, plain)
        return self._rows_to_predict(read_one_row(self._begun(), x, self.rule)) if X is None else X

    def _plain_row(self, x: object) -> tuple[SingleRow, Array] | None:
        """The short path, and x (d,) in the form that it accepts; None if the general path must convert or refuse x."""
        state = self._state
        row = self.rule.single_row(state.sizes) if state else None
        if row is None or state is None:
            return None
        plain = plain_row(x, state.feature_names, state.needs_names, self.dtype)
        return None if plain is None else (row, plain)

    def _rows_to_predict(self, X: ArrayLike | NamedValues) -> Array:
        """Rows (n, d) to predict, validated, on the backend."""
        state = self._begun()
        values, names = read_features(state, X, "X", self.rule.dtype)
        if sparse.is_sparse(values):
            return sparse.validate(values, "X", self.rule, state.sizes.n_features)
        return self.rule.place_rows(values, "X", state.sizes.n_features, names=names)

    def _check_step(self) -> None:
        self._usable()
        if not self.method.kernel.blocks:
            raise TypeError(f"{self.method.name} learns row by row and has no rule for a block: use partial_fit")
        require("blocks", self.rule.kernel, self.method, self.backend)
        if self.pending:
            raise ValueError(
                f"{self.pending} rows are pending for a batch of {self.rule.batch_size}: call flush() before step()"
            )
