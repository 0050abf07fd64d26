"""Common base of all models: a learner that grows with the features."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np

from orfit_bench.errors import DivergedError
from orfit_bench.learners.factory import create
from orfit_bench.learners.widening import widened
from orfit_bench.river.features import Features, check_frame, is_finite, is_real, named_columns, refuse_rounded
from orfit_bench.spec import Method, NumberOrSchedule

OWN = ("fit_intercept", "backend", "seed")
"""Parameters of models that are not settings of their methods."""


class StreamingModel:
    """A model around a learner; classes for the methods are generated from their declarations."""

    method: ClassVar[Method]

    def begin(self) -> None:
        """Forget everything; called by the constructor."""
        settings = {name: value for name, value in vars(self).items() if name not in OWN}
        self._leading: list[Any] = []  # the targets of rows before the first feature
        self._features = Features(constant=getattr(self, "fit_intercept", False))
        self._learner = create(
            self.method.name, backend=vars(self)["backend"], random_state=vars(self)["seed"], **settings
        )

    @property
    def learner(self) -> Any:
        """The underlying learner; see `orfit_bench.create`."""
        return self._learner

    def __copy__(self) -> Any:
        """A copy that does not share the learner."""
        return deepcopy(self)

    def _learn_row(self, x: Mapping[Any, Any], row: Any, target: Any) -> None:
        """Learn the row of x with its target, None for methods without targets."""
        raise NotImplementedError

    def _learn_rows(self, rows: Any, targets: Any) -> None:
        """Learn rows with their targets."""
        raise NotImplementedError

    def _checked_target(self, target: Any) -> Any:
        """The target as it is learned; TypeError or ValueError for one that cannot be learned."""

    def _learn_one(self, x: Mapping[Any, Any], target: Any = None) -> None:
        """Learn a row; if it is refused, its new features are forgotten."""
        row = self._features.known_row(x)
        if row is not None:
            self._learn_row(x, row, target)
            return
        with self._as_before_if_refused():
            self._add_features(x)
            row = self._features.row(x)
            if len(row):
                self._learn_row(x, row, target)
            else:
                self._leading.append(self._checked_target(target))

    def _learn_many(self, X: Any, targets: Any = None) -> None:
        """Learn the rows of a table; if no row was learned, the new features are forgotten."""
        check_frame(X)
        with self._as_before_if_refused(), named_columns(X):
            self._add_features(X.columns)
            rows = self._features.rows(X)
            if rows.shape[1]:
                self._learn_rows(rows, targets)
            else:
                leading = [None] * len(X) if targets is None else list(targets)
                if len(leading) != len(X):
                    raise ValueError(f"y: got {len(leading)} rows, want {len(X)}, one for each row of X")
                self._leading = [*self._leading, *map(self._checked_target, leading)]

    @contextmanager
    def _as_before_if_refused(self) -> Iterator[None]:
        """Context that restores features and learner after an error, unless rows before a diverged one are learned."""
        before = self._features, self._learner, self._leading
        try:
            yield
        except BaseException as error:
            if not (isinstance(error, DivergedError) and error.row):
                self._features, self._learner, self._leading = before
            raise

    def _add_features(self, names: Iterable[Any]) -> None:
        """Widen the learner by new features. Rows that came before the first feature are learned as rows of zeros."""
        new = self._features.new(names)
        if not new:
            return
        wider = widened(self._learner, len(new))
        self._learner = wider.copy() if wider is self._learner else wider  # needed as it is if the row is refused
        self._features = self._features.with_new(new)
        if self._leading:
            self._learn_rows(np.zeros((len(self._leading), self._features.width)), self._leading)
            self._leading = []

    def _has_begun(self) -> bool:
        return self._learner.live_state is not None

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        """Step sizes for River's checks, whose unscaled features reach 10^6."""
        yield {
            s.name: 1e-14 for s in cls.method.settings if isinstance(s.type, NumberOrSchedule) and s.name == "step_size"
        }


def check_target(value: Any) -> None:
    """Raise ValueError or TypeError unless a target is a finite number."""
    if not is_real(value):
        raise TypeError(f"the target is {value!r}, of type {type(value).__name__}, want a number")
    if not is_finite(value):
        shown = "an integer beyond the range of float64" if isinstance(value, int) else value
        raise ValueError(f"the target is {shown}: want a finite number; leave out the row")
    refuse_rounded(value, "the target")


def check_series(y: Any) -> None:
    """Raise TypeError for targets of a table that are no series, array (n,) or list."""
    if isinstance(y, (str, bytes)) or not (isinstance(y, Sequence) or getattr(y, "ndim", 0) == 1):
        got = f"{type(y).__name__} of shape {y.shape}" if hasattr(y, "shape") else type(y).__name__
        raise TypeError(f"y: got {got}, want a Series, a one-dimensional array or a list")
