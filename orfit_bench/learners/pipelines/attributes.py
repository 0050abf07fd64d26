"""The parts of a pipeline, and its public attributes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.learners.advice import FIXED, OF_WEIGHTS, refuse_assignment
from orfit_bench.learners.learner import Learner
from orfit_bench.learners.pipelines.position import Position, refusal
from orfit_bench.learners.pipelines.standardizer import Standardizer
from orfit_bench.learners.pipelines.transforms import Transform

Array = np.ndarray[Any, Any]


class Attributes:
    """Transforms and a learner, with the coordinates of its state."""

    def __init__(
        self,
        transforms: tuple[Transform, ...],
        learner: Learner,
        n_features: int | None = None,
        names: Iterable[str] = (),
        position: Position | None = None,
    ) -> None:
        """Take the parts, the known columns of rows, and the coordinates of the state."""
        self.permit: list[None] = [None]
        """Empty while a thread changes the pipeline."""
        self.transforms: tuple[Transform, ...] = transforms
        self.learner: Any = learner  # its methods depend on its kind
        self.n_features, self.feature_names = n_features, tuple(names)
        self.has_warned_of_names = False
        """Whether the user was warned that rows came without names where the first ones had names, or the reverse."""
        standardizes = any(isinstance(t, Standardizer) for t in transforms)
        self._refusal: str = refusal(transforms, learner)
        self.position = (position or Position()) if standardizes and not self._refusal else None

    @property
    def classes_(self) -> Array:
        """The labels seen so far, if the learner classifies."""
        known: Array = self.learner.classes_
        return known

    @property
    def pending(self) -> int:
        """Number of rows that wait for a full batch."""
        return int(self.learner.pending)

    @property
    def n_features_in_(self) -> int:
        """Number of columns of the rows before the transforms, once a chunk was seen."""
        if self.n_features is None:
            raise AttributeError("n_features_in_ is known after the first call of partial_fit")
        return self.n_features

    @property
    def feature_names_in_(self) -> Array:
        """The names of the columns, if the rows came as a table."""
        if not self.feature_names:
            raise AttributeError("feature_names_in_ is known only if the rows came as a table")
        return np.array(self.feature_names, object)

    @property
    def n_samples_seen_(self) -> int:
        """Rows learned."""
        return int(self.learner.n_samples_seen_)

    @property
    def has_rows(self) -> bool:
        """Whether a row was learned."""
        return self.n_samples_seen_ > 0

    if not TYPE_CHECKING:  # type checkers are to report unknown attributes

        def __getattr__(self, name: str) -> Any:
            """Say where to find an attribute that the learner or a transform has and a pipeline lacks."""
            if not name.startswith("_") and not hasattr(type(self), name):
                given = vars(self)
                if name in OF_WEIGHTS and given.get("position") is not None:
                    raise AttributeError(
                        f"a pipeline has no {name}: weights() returns the weights of rows as they come"
                    )
                for i, step in enumerate(given.get("transforms", ())):
                    if hasattr(step, name):
                        raise AttributeError(f"a pipeline has no {name}: it is pipeline.transforms[{i}].{name}")
                if "learner" in given:
                    getattr(given["learner"], name)  # raises if the learner lacks it too
                    raise AttributeError(
                        f"a pipeline has no {name}: it is pipeline.learner.{name}, and rows there are those that the "
                        f"transforms return"
                    )
            return object.__getattribute__(self, name)

        def __setattr__(self, name: str, value: object) -> None:
            """Refuse settings of the learner and attributes that follow from them: its rule would not change."""
            learner = vars(self).get("learner")
            if learner is not None and (name in FIXED or name in learner.settings):
                refuse_assignment(learner, name, learner.method)
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"<pipeline of {', '.join(t.to_dict()['name'] for t in self.transforms)} and {self.learner!r}>"
