"""Common base of all models: a learner that grows with the features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from orfit_bench.learners.factory import create
from orfit_bench.learners.widening import widened
from orfit_bench.river.features import Features, check_finite, check_finite_columns, check_frame
from orfit_bench.spec import Method, NumberOrSchedule

OWN = ("fit_intercept", "backend", "seed")
"""Parameters of models that are not settings of their methods."""


class StreamingModel:
    """A model around a learner; classes for the methods are generated from their declarations."""

    method: ClassVar[Method]

    def begin(self) -> None:
        """Forget everything; called by the constructor."""
        settings = {name: value for name, value in vars(self).items() if name not in OWN}
        self._features = Features(constant=getattr(self, "fit_intercept", False))
        self._learner = create(
            self.method.name, backend=vars(self)["backend"], random_state=vars(self)["seed"], **settings
        )

    @property
    def learner(self) -> Any:
        """The underlying learner; see `orfit_bench.create`."""
        return self._learner

    def _row(self, x: Mapping[Any, Any]) -> Any:
        """The row of x, after adding its new features."""
        row = self._features.known_row(x)
        if row is None:
            if not isinstance(x, Mapping):
                raise TypeError(f"got {type(x).__name__}, want a row as a dictionary of features, {{name: number}}")
            if new := self._features.new(x):
                check_finite({name: x[name] for name in new})  # before the learner grows
                self._widen(new)
            row = self._features.row(x)
        return row

    def _rows(self, X: Any) -> Any:
        check_frame(X)
        if new := self._features.new(X.columns):
            check_finite_columns(X[new])
            self._widen(new)
        return self._features.rows(X)

    def _widen(self, names: Any) -> None:
        if new := self._features.new(names):
            self._learner = widened(self._learner, len(new))
            self._features.add(new)

    def _has_begun(self) -> bool:
        return self._learner.live_state is not None

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        """Step sizes for River's checks, whose unscaled features reach 10^6."""
        yield {
            s.name: 1e-14 for s in cls.method.settings if isinstance(s.type, NumberOrSchedule) and s.name == "step_size"
        }


REAL = (int, float, np.integer, np.floating, np.bool_)
"""The types of a target of regression."""


def check_target(value: Any) -> None:
    """Raise ValueError or TypeError unless a target is a finite number."""
    if not isinstance(value, REAL):
        raise TypeError(f"the target is {value!r}, of type {type(value).__name__}, want a number")
    if not np.isfinite(value):
        raise ValueError(f"the target is {value}: want a finite number; leave out the row")


def as_float(value: Any) -> float:
    """A target as a float."""
    if type(value) is float:
        return value
    return float(value) if isinstance(value, REAL) else value
