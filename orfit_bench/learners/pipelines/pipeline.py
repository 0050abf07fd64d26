"""A learner behind transforms of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from orfit_bench.errors import DivergedError
from orfit_bench.learners.pipelines import weight_history
from orfit_bench.learners.pipelines.learning import learn
from orfit_bench.learners.pipelines.position import standardizer_of
from orfit_bench.learners.pipelines.saving import Saving
from orfit_bench.learners.pipelines.transforms import Transform
from orfit_bench.tables.names import NamedValues
from orfit_bench.tables.row_labels import check_rows_agree

if TYPE_CHECKING:
    import xarray

Array = np.ndarray[Any, Any]


class Pipeline(Saving):
    """Transforms and a learner, with the learner's verbs. Made by `orfit_bench.pipeline`."""

    # ------------------------------------------------------------------ learning

    def partial_fit(self, X: ArrayLike, y: ArrayLike | None = None, **given: object) -> Self:
        """Learn rows in order; arguments and errors as those of the learner's `partial_fit`."""
        self._learn("partial_fit", X, *(() if y is None else (y,)), **given)
        return self

    def prequential(self, X: ArrayLike, y: ArrayLike, **given: object) -> Any:
        """Learn rows in order, and predict each of them just before its step."""
        return self._learn("prequential", X, y, **given)

    def learn_one(self, x: ArrayLike, *y: ArrayLike, sample_weight: float | None = None) -> Self:
        """Learn one row x (d,), with its target unless the learner has none."""
        given = {} if sample_weight is None else {"sample_weight": [sample_weight]}
        self._learn("partial_fit", self._one_row(x), *(_one_target(t) for t in y), **given)
        return self

    def weight_history(self, X: ArrayLike, y: ArrayLike, *, every: int = 1) -> xarray.DataArray:
        """Learn rows in order, and return the weights after each `every` of them, for rows as they come.

        As the learner's `weight_history`, with the weight of the intercept behind those of the columns. TypeError if
        the learner does not follow the moments, whose weights belong to no rows as they come.
        """
        if not hasattr(self.learner, "weight_history"):
            raise TypeError(f"weight_history: learners of {self.learner.method.name} have none")
        if self.position is None:
            raise TypeError(f"weight_history: {self._refusal or 'no step standardizes: use pipeline.learner'}")
        work = self.copy()
        try:
            history = weight_history.record(work, NamedValues(*self._rows(X)), y, every)
        except DivergedError:
            self._adopt(work)
            raise
        self._adopt(work)
        return history

    def _adopt(self, other: Pipeline) -> None:
        """Be in the state of a copy that has learned rows."""
        self.learner.live_state = other.learner.live_state
        self.transforms, self.position = other.transforms, other.position
        self.n_features, self.feature_names = other.n_features, other.feature_names

    def _learn(self, verb: str, X: Any, *targets: Any, **given: Any) -> Any:
        """What a verb of the learner returns; the transforms go on only as far as the learner does."""
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
        """Have these transforms, and know the columns of the rows X."""
        self.transforms, self.n_features, self.feature_names = transforms, X.shape[1], names

    def _learned(self, X: Array) -> tuple[tuple[Transform, ...], Array]:
        after = []
        for step in self.transforms:
            step, X = step.learn(X)
            after.append(step)
        return tuple(after), X

    def flush(self) -> Self:
        """Learn the rows that wait for a full batch as one shorter step."""
        self.learner.flush()
        return self

    def merge(self, other: Pipeline) -> Self:
        """Take in what another pipeline learned from other rows, which then follow this one's.

        Parameters
        ----------
        other : Pipeline
            A pipeline of the same steps; it is not changed.

        Returns
        -------
        Pipeline
            This pipeline. The moments are those of the rows of both. Both learners are expressed in the coordinates by
            these moments, and merged as their method declares, exactly where it does; the prior stays this one's.

        Raises
        ------
        ValueError
            If the pipelines differ, the method has no rule for merging, or the learners cannot follow the moments.
        """
        check_alike(self, other)
        if not (self.n_samples_seen_ and other.n_samples_seen_):
            return self._with_the_rows_of(other)
        if self._refusal:
            raise ValueError(f"merge: each pipeline learned its rows by moments of its own, and {self._refusal}")
        merged = tuple(a.merge(b) for a, b in zip(self.transforms, other.transforms, strict=True))
        if self.position is None or other.position is None:
            self.learner.merge(other.learner)
        else:
            to = standardizer_of(merged).coordinates()
            self.position = self.position.merged(self.learner, other.learner, other.position, to)
        self.transforms = merged
        return self

    def _with_the_rows_of(self, other: Pipeline) -> Self:
        """This pipeline, which has no rows, with those of the other, or as it is where the other has none."""
        self.learner.merge(other.learner)
        if self.n_features is None:
            self.n_features, self.feature_names = other.n_features, other.feature_names
        if other.n_samples_seen_:
            self.transforms, self.position = other.transforms, other.position
        return self


def check_alike(one: Pipeline, other: object) -> None:
    """Raise ValueError if what a pipeline shall be merged with has other steps, columns or names."""
    if not isinstance(other, Pipeline):
        raise ValueError(f"merge: got {type(other).__name__}, want a pipeline")
    if [type(t) for t in one.transforms] != [type(t) for t in other.transforms]:
        raise ValueError(f"merge: the pipelines differ in their steps: {one!r} and {other!r}")
    known = [p for p in (one, other) if p.n_samples_seen_]
    if len(known) == 2 and one.feature_names != other.feature_names:
        raise ValueError("merge: the pipelines differ in the names of columns")
    if len(known) == 2 and one.n_features_in_ != other.n_features_in_:
        raise ValueError(f"merge: the pipelines have {one.n_features_in_} and {other.n_features_in_} columns")


def _one_target(value: Any) -> Any:
    """The target of one row, a number, a label or (c,), as targets."""
    return [value] if isinstance(value, str) else np.asarray(value)[None]
