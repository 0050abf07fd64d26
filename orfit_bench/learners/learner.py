"""The learner: a rule and a state behind the verbs that users know."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from orfit_bench.errors import DivergedError
from orfit_bench.learners import validation
from orfit_bench.learners.merging import merged
from orfit_bench.learners.named_rows import read_features, read_one_row
from orfit_bench.learners.rule import Rule
from orfit_bench.learners.single_row import SingleRow
from orfit_bench.learners.targets import Rows, with_classes
from orfit_bench.spec.backend import Array
from orfit_bench.spec.capability import require
from orfit_bench.spec.setting import describe_value
from orfit_bench.state import binary, serialization
from orfit_bench.state.state import LearnerState
from orfit_bench.tables.names import NamedValues

if TYPE_CHECKING:
    from os import PathLike

    import xarray


class Learner:
    """What learners of every kind can do. Made by `orfit_bench.create`.

    All that decides how it goes on is in its state.
    """

    def __init__(self, rule: Rule, state: LearnerState | None = None) -> None:
        """A learner before its first chunk, or one that goes on from a state of this rule."""
        self.rule = rule
        self.method, self.settings, self.backend, self.model = rule.method, rule.settings, rule.backend, rule.model
        self.dtype, self.random_state, self.initial_weights = rule.dtype, rule.random_state, rule.initial_weights
        self._state = state
        self._single_row = self._find_single_row()

    # ------------------------------------------------------------------ what it is

    @property
    def live_state(self) -> LearnerState | None:
        """The state itself, not a copy: for tools that look at arrays where they lie. None before the first chunk."""
        return self._usable()

    @live_state.setter
    def live_state(self, state: LearnerState | None) -> None:
        self._state = state

    @property
    def pending(self) -> int:
        """Rows that wait for a full batch."""
        return self._state.pending.count if self._state else 0

    @property
    def n_features_in_(self) -> int:
        """Number of features d, once a chunk was seen."""
        if self._state is None:
            raise AttributeError("n_features_in_ is known after the first call of partial_fit")
        return self._state.sizes.n_features

    @property
    def feature_names_in_(self) -> np.ndarray[Any, Any]:
        """Names of the columns of X (d,), an array of objects, once rows came as a table.

        Later tables may have the same columns in any order; other columns are refused.
        """
        if self._state is None or not self._state.feature_names:
            raise AttributeError("feature_names_in_ is known once the first rows come as a table with named columns")
        return np.array(self._state.feature_names, object)

    @property
    def n_samples_seen_(self) -> int:
        """Rows taken in, those that wait included."""
        return self._state.n_samples if self._state else 0

    @property
    def state_bytes(self) -> int:
        """Bytes of the state's arrays as they are used."""
        state = self._state
        if state is None:
            return 0
        waiting = self.pending * (state.sizes.n_features + state.sizes.n_outputs) * self.dtype.itemsize
        return self.rule.layout(state.sizes).bytes(state.arrays) + waiting

    def __repr__(self) -> str:
        settings = "".join(f", {k}={describe_value(v)}" for k, v in self.settings.items())
        return f"<{self.method.name}{settings}; {self.backend.name}, {self.dtype}, {self.n_samples_seen_} rows seen>"

    # ------------------------------------------------------------------ its state outside of it

    def state(self) -> xarray.Dataset:
        """A copy of the state in host memory, with named dimensions; settings and versions in attrs."""
        return serialization.to_dataset(self.rule, self._usable())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the state to an .npz file with a JSON header, without pickle; an old file is replaced at once."""
        serialization.save(self.rule, self._usable(), path)

    def to_bytes(self) -> bytes:
        """The state as bytes with a checksum, without pickle: for databases, queues and other processes.

        Returns
        -------
        bytes
            What `orfit_bench.from_bytes` reads.

        Raises
        ------
        RuntimeError
            If an exception interrupted a kernel, so that the state cannot be trusted.

        Notes
        -----
        pickle, joblib and multiprocessing carry a learner this way.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> data = ob.create("lms", backend="numpy").partial_fit([[1.0]], [2.0]).to_bytes()
        >>> ob.from_bytes(data).n_samples_seen_
        1
        """
        return binary.encode(self.rule, self._usable())

    def copy(self) -> Self:
        """An independent learner in the same state."""
        state = self._usable()
        return type(self)(self.rule, self.rule.copy(state) if state else None)

    def merge(self, other: Learner) -> Self:
        """Take in what another learner learned from other rows, which then follow this one's.

        Parameters
        ----------
        other : learner
            Of the same method, settings, model and dtype; it stays as it is.

        Returns
        -------
        learner
            This learner. `n_samples_seen_` adds up; the step count becomes the larger one, or the sum if exact.

        Raises
        ------
        ValueError
            If the two do not fit, rows are pending in one of them, or the method has no rule for merging.

        Notes
        -----
        Exact, averaged or approximate, as `method.combine.merge` declares.
        """
        if not isinstance(other, Learner):
            raise ValueError(f"merge: the learners differ in method: {self.method.name} and {type(other).__name__}")
        self._state = merged(self.rule, self._usable(), other.rule, other.live_state)
        return self

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        from orfit_bench.learners.restoring import from_bytes

        binary.check_portable(self.rule)
        return from_bytes, (self.to_bytes(),)

    # ------------------------------------------------------------------ learning

    def flush(self) -> Self:
        """Learn the rows that wait for a full batch as one shorter step. Returns self."""
        state = self._state
        if state and state.pending.count:
            require("blocks", self.rule.kernel, self.method, self.backend)
            self._usable()
            X, Y = state.pending.concatenate(self.rule.namespace)
            rows = Rows(X, Y, state.sizes, state.classes, (), None, state.feature_names, state.target_names)
            self._update(rows, self.rule.flush)
        return self

    def _update(self, rows: Rows, act: Callable[..., Any], *arguments: Any) -> Any:
        """What act(state, *arguments) returns, the state being ready for these rows. Undone where it fails.

        On a linear model a kernel that fails half-way closes the learner: a copy of the state before each call would
        double the price of a row, and only a broken kernel or Ctrl-C would ever need it. Where functions of the user's
        may fail, the state is copied.
        """
        old = state = self._state
        if state is None:
            state = self.rule.init(rows.sizes, rows.classes)
            state.feature_names, state.target_names = rows.feature_names, rows.target_names
        elif rows.classes != state.classes:
            state = with_classes(self.rule, state, rows.classes)
        backup = self.rule.copy(old) if old and self.rule.runs_user_code(rows.inputs) else None
        steps, seen = (old.n_steps, old.n_samples) if old else (0, 0)
        try:
            result = act(state, *arguments)
        except DivergedError:
            learned = state.n_samples - seen
            known = len(rows.classes) - sum(row >= learned for row in rows.arrivals)
            self._state = with_classes(self.rule, state, rows.classes[:known])
            if self._state:
                self.rule.warn_of_lost_precision(self._state)
            raise
        except BaseException:
            if backup:
                self._state = backup
            elif old:
                old.n_steps, old.n_samples = steps, seen
            raise
        if rows.feature_names or rows.target_names:
            state.feature_names, state.target_names = rows.feature_names, rows.target_names
        self._state = state
        self._single_row = self._find_single_row()
        if self.method.state.warning:
            self.rule.warn_of_lost_precision(state)
        return result

    def _find_single_row(self) -> SingleRow | None:
        """The short path for one row per call; None where a row without names has to be warned of first."""
        state = self._state
        if state is None or (state.feature_names and not state.has_warned_of_names):
            return None
        return self.rule.single_row(state.sizes)

    # ------------------------------------------------------------------ checks of calls

    def _usable(self) -> LearnerState | None:
        """The state; RuntimeError where an interrupted kernel may have left it half written."""
        state = self._state
        if state and state.interrupted:
            raise RuntimeError(
                f"{self.method.name}: {state.interrupted} interrupted its kernel, so that its state may be half "
                f"written: go on from an earlier copy() or a saved state"
            )
        return state

    def _begun(self) -> LearnerState:
        """The state, where a chunk was seen."""
        if self._state is None:
            raise ValueError(
                f"{self.method.name} has seen no chunk yet: call partial_fit first (a chunk of no rows will do)"
            )
        self._usable()
        return self._state

    def _question_about_one(self, x: ArrayLike) -> Array:
        """One row x (d,) as rows (1, d), validated, on the backend."""
        row = self._single_row
        X = row.as_rows(self._state, x) if row else None
        return self._question(read_one_row(self._begun(), x, self.rule.namespace)) if X is None else X

    def _question(self, X: ArrayLike | NamedValues) -> Array:
        """Rows (n, d) that a question is about, checked, on the backend."""
        state = self._begun()
        values, names = read_features(state, X, "X")
        rows = validation.matrix(values, "X", self.dtype, state.sizes.n_features, xp=self.rule.namespace, names=names)
        return self.rule.place(rows)

    def _check_step(self) -> None:
        if not self.method.kernel.blocks:
            raise TypeError(f"{self.method.name} learns row by row and has no rule for a block: use partial_fit")
        require("blocks", self.rule.kernel, self.method, self.backend)
        if self.pending:
            raise ValueError(
                f"{self.pending} rows wait for a full batch of {self.rule.batch_size}: call flush() before step()"
            )
