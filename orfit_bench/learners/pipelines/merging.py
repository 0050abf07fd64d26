"""Merges of two pipelines, whose rows were learned with different moments."""

from __future__ import annotations

from typing import Self

from orfit_bench.learners.permits import by_one_thread
from orfit_bench.learners.pipelines.position import standardizer_of
from orfit_bench.learners.pipelines.saving import Saving
from orfit_bench.learners.pipelines.transforms import Transform


class Merging(Saving):
    """A pipeline that takes over the rows of another one."""

    @by_one_thread
    def merge(self, other: Merging) -> Self:
        """Merge another pipeline into this one, as if its rows had followed the rows of this pipeline.

        Parameters
        ----------
        other : Pipeline
            A pipeline of the same steps; it is not changed.

        Returns
        -------
        Pipeline
            This pipeline. The moments are those of the rows of both. Both learners are expressed in the coordinates of
            these moments and merged as their method declares; the prior remains that of this pipeline.

        Raises
        ------
        ValueError
            If the pipelines differ, the method has no rule for merging, or the learners cannot follow the moments.
        RuntimeError
            If another thread is learning, or an exception interrupted a kernel, so that a state cannot be trusted.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> a = ob.pipeline("standardize", "intercept", ob.create("rls", backend="numpy", ridge=1e-6))
        >>> b = a.copy().partial_fit([[300.0], [400.0]], [7.0, 9.0])
        >>> a.partial_fit([[100.0], [200.0]], [3.0, 5.0]).merge(b).predict([[500.0]]).round(3)
        array([11.])
        """
        check_alike(self, other)
        merged = tuple(a.merge(b) for a, b in zip(self.transforms, other.transforms, strict=True))
        without_rows = [one for one in (self, other) if not one.has_rows]
        if self._refusal and len(without_rows) < 2 and all(standardizer_of(p.transforms).count for p in without_rows):
            raise ValueError(f"merge: each pipeline learned its rows with its own moments, and {self._refusal}")
        if without_rows:
            return self._with_the_rows_of(other, merged)
        if self.position is None or other.position is None:
            self.learner.merge(other.learner)
        else:
            to = standardizer_of(merged).coordinates()
            self.position = self.position.merged(self.learner, other.learner, other.position, to)
        self.transforms, self.feature_names = merged, self.feature_names or other.feature_names
        return self

    def _with_the_rows_of(self, other: Merging, merged: tuple[Transform, ...]) -> Self:
        """This pipeline with merged transforms, and the rows of the other, of which at most one has rows."""
        self.learner.merge(other.learner)
        if self.n_features is None or other.has_rows:
            self.n_features, self.feature_names = other.n_features, other.feature_names or self.feature_names
        if other.has_rows:
            self.position = other.position
        self.transforms = merged
        return self


def check_alike(one: Merging, other: object) -> None:
    """Raise ValueError unless `other` is a pipeline with the same steps, columns and names."""
    if not isinstance(other, Merging):
        raise ValueError(f"merge: got {type(other).__name__}, want a pipeline")
    if [type(t) for t in one.transforms] != [type(t) for t in other.transforms]:
        raise ValueError(f"merge: the pipelines differ in their steps: {one!r} and {other!r}")
    known = [p for p in (one, other) if p.has_rows]
    a, b = one.feature_names, other.feature_names
    if a and b and a != b:
        remedy = "; one must have learned its columns in the order of the other" if {*a} == {*b} else ""
        raise ValueError(f"merge: the pipelines differ in the names of columns: {a} and {b}{remedy}")
    if len(known) == 2 and one.n_features_in_ != other.n_features_in_:
        raise ValueError(f"merge: the pipelines have {one.n_features_in_} and {other.n_features_in_} columns")
