"""A learner behind transforms of its rows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from orfit_bench.errors import DivergedError, suggest
from orfit_bench.jobs.files import replace
from orfit_bench.learners import validation
from orfit_bench.learners.learner import Learner
from orfit_bench.learners.pipelines import storage
from orfit_bench.learners.pipelines.transforms import TRANSFORMS, Intercept, Standardizer, Transform
from orfit_bench.tables.columns import read_columns

if TYPE_CHECKING:
    import xarray

Array = np.ndarray[Any, Any]


def pipeline(*steps: str | Standardizer | Intercept | Learner) -> Pipeline:
    """A learner whose rows are transformed on their way, in one pass.

    Parameters
    ----------
    *steps : Standardizer, "standardize" or "intercept", and last a learner
        The transforms in order, each of which gets the rows of the one before; the last step is a learner that has seen
        no row, as `create` returns it.

    Returns
    -------
    Pipeline
        What learns and predicts as the learner does, from rows as they come.

    Raises
    ------
    TypeError
        If the last step is no learner, or another is no transform.
    ValueError
        If a name is unknown, the learner has seen rows, or a standardizer follows an intercept.

    Notes
    -----
    `prequential` predicts each row from the rows before it and the row's own features. Rows keep the scale that they
    were learned with; the moments settle within the first rows.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> p = ob.pipeline("standardize", "intercept", ob.create("rls", backend="numpy", ridge=1e-6))
    >>> p.partial_fit([[1e6], [2e6], [3e6], [4e6]], [10.0, 20.0, 30.0, 40.0]).n_features_in_
    1
    """
    if not steps or not isinstance(steps[-1], Learner):
        raise TypeError(f"pipeline: the last step is {steps[-1] if steps else None!r}, want a learner: ob.create(...)")
    if steps[-1].live_state is not None:
        raise ValueError("pipeline: the learner has seen rows already, which were not transformed: create a new one")
    transforms = tuple(_transform(step) for step in steps[:-1])
    kinds = [type(t) for t in transforms]
    if Intercept in kinds and Standardizer in kinds[kinds.index(Intercept) :]:
        raise ValueError("pipeline: a standardizer behind the intercept would make its ones zeros: put it before")
    return Pipeline(transforms, steps[-1])


def _transform(step: object) -> Transform:
    if isinstance(step, str):
        if step not in TRANSFORMS:
            raise ValueError(f"pipeline: no step {step!r}{suggest(step, TRANSFORMS)}")
        found: Transform = TRANSFORMS[step]()
        return found
    if not isinstance(step, (Standardizer, Intercept)):
        raise TypeError(f"pipeline: got {type(step).__name__}, want ob.Standardizer(), a name, or last a learner")
    return step


class Pipeline:
    """Transforms and a learner, with the learner's verbs. Made by `orfit_bench.pipeline`."""

    def __init__(
        self,
        transforms: tuple[Transform, ...],
        learner: Learner,
        n_features: int | None = None,
        names: Iterable[str] = (),
    ) -> None:
        """The parts, and what is known about the columns of rows."""
        self.transforms: tuple[Transform, ...] = transforms
        self.learner: Any = learner  # its verbs depend on its kind
        self._n_features, self.feature_names = n_features, tuple(names)

    # ------------------------------------------------------------------ learning

    def partial_fit(self, X: ArrayLike, y: ArrayLike | None = None, **given: object) -> Self:
        """Learn rows in order; arguments and errors as those of the learner's `partial_fit`."""
        self._learn("partial_fit", X, *(() if y is None else (y,)), **given)
        return self

    def prequential(self, X: ArrayLike, y: ArrayLike, **given: object) -> Any:
        """Learn rows in order, and predict each of them just before its step."""
        return self._learn("prequential", X, y, **given)

    def learn_one(self, x: ArrayLike, *y: ArrayLike) -> Self:
        """Learn one row x (d,), with its target unless the learner has none."""
        return self.partial_fit(np.asarray(x)[None], *(np.asarray(t)[None] for t in y))

    def _learn(self, verb: str, X: ArrayLike, *targets: ArrayLike, **given: object) -> Any:
        """What a verb of the learner returns; the transforms go on only as far as the learner does."""
        if given.get("sample_weight") is not None and any(isinstance(t, Standardizer) for t in self.transforms):
            raise TypeError("sample_weight: a pipeline with a standardizer has no rule for the weight of a row")
        rows, names = self._rows(X)
        transforms, Z = self._learned(rows)
        try:
            found = getattr(self.learner, verb)(Z, *targets, **given)
        except DivergedError as error:
            self.transforms = self._learned(rows[: error.row])[0]
            raise
        self.transforms, self._n_features, self.feature_names = transforms, rows.shape[1], names
        return found

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

    # ------------------------------------------------------------------ answers

    def predict(self, X: ArrayLike, **given: object) -> Any:
        """What the learner predicts for the rows; arguments and errors as those of its `predict`."""
        return self.learner.predict(self._transformed(X), **given)

    def predict_one(self, x: ArrayLike) -> Any:
        """What the learner predicts for one row x (d,)."""
        return self.predict(np.asarray(x)[None])[0]

    def predict_proba(self, X: ArrayLike) -> Any:
        """The probabilities of the classes of rows."""
        return self.learner.predict_proba(self._transformed(X))

    def decision_function(self, X: ArrayLike) -> Any:
        """The scores of the classes of rows."""
        return self.learner.decision_function(self._transformed(X))

    def transform(self, X: ArrayLike) -> Any:
        """The coordinates of rows along the components of a subspace."""
        return self.learner.transform(self._transformed(X))

    def _transformed(self, X: ArrayLike) -> Array:
        if self._n_features is None:
            raise ValueError("the pipeline has seen no chunk yet: call partial_fit first (a chunk of no rows will do)")
        rows, _ = self._rows(X)
        for step in self.transforms:
            rows = step.transform(rows)
        return rows

    def _rows(self, X: ArrayLike) -> tuple[Array, tuple[str, ...]]:
        """Finite rows (n, d) in host memory, and the names of their columns."""
        values, names = read_columns(X, "X", self.feature_names)
        names = self.feature_names or (tuple(names) if self._n_features is None else ())
        double = np.dtype(complex if self.learner.dtype.kind == "c" else float)
        rows = validation.matrix(values, "X", double, self._n_features, names=names)
        return rows, names

    @property
    def n_features_in_(self) -> int:
        """Number of columns of the rows as they come, once a chunk was seen."""
        if self._n_features is None:
            raise AttributeError("n_features_in_ is known after the first call of partial_fit")
        return self._n_features

    @property
    def feature_names_in_(self) -> Array:
        """The names of the columns, where the rows came as a table."""
        if not self.feature_names:
            raise AttributeError("feature_names_in_ is known where the rows came as a table")
        return np.array(self.feature_names, object)

    @property
    def n_samples_seen_(self) -> int:
        """Rows learned."""
        return int(self.learner.n_samples_seen_)

    if not TYPE_CHECKING:  # types know that there is no such attribute

        def __getattr__(self, name: str) -> Any:
            """Say where an attribute is that the learner or a transform has, and a pipeline lacks."""
            if not name.startswith("_") and not hasattr(type(self), name):
                given = vars(self)
                for i, step in enumerate(given.get("transforms", ())):
                    if hasattr(step, name):
                        raise AttributeError(f"a pipeline has no {name}: it is pipeline.transforms[{i}].{name}")
                if "learner" in given:
                    getattr(given["learner"], name)  # raises where the learner lacks it too
                    raise AttributeError(
                        f"a pipeline has no {name}: it is pipeline.learner.{name}, and rows there are those that the "
                        f"transforms return"
                    )
            return object.__getattribute__(self, name)

    def __repr__(self) -> str:
        return f"<pipeline of {', '.join(t.to_dict()['name'] for t in self.transforms)} and {self.learner!r}>"

    # ------------------------------------------------------------------ its state outside of it

    def copy(self) -> Pipeline:
        """An independent pipeline in the same state."""
        return Pipeline(self.transforms, self.learner.copy(), self._n_features, self.feature_names)

    def merge(self, other: Pipeline) -> Self:
        """Take in what another pipeline learned from other rows, which then follow this one's.

        The moments merge exactly, the learners as their method declares; each learned its rows on the scale of its own.
        """
        kinds = [[type(t) for t in p.transforms] for p in (self, other) if isinstance(p, Pipeline)]
        if len(kinds) < 2 or kinds[0] != kinds[1] or self.feature_names != other.feature_names:
            raise ValueError("merge: the pipelines differ in their steps or in the names of columns")
        merged = tuple(a.merge(b) for a, b in zip(self.transforms, other.transforms, strict=True))
        self.learner.merge(other.learner)
        self.transforms = merged
        return self

    def _header(self) -> dict[str, Any]:
        steps = [t.to_dict() for t in self.transforms]
        return {"steps": steps, "n_features": self._n_features, "names": list(self.feature_names)}

    def to_bytes(self) -> bytes:
        """The state as bytes with a checksum, without pickle; `orfit_bench.from_bytes` reads them."""
        return storage.encode(self._header(), self.learner.to_bytes())

    def save(self, path: str | PathLike[str]) -> None:
        """Write what `to_bytes` returns to a file; `orfit_bench.load` reads it."""
        data = self.to_bytes()

        replace(Path(path), lambda file: file.write(data))

    def state(self) -> xarray.Dataset:
        """The learner's state, with that of the transforms in attrs["pipeline"]; `orfit_bench.restore` reads it."""
        state: xarray.Dataset = self.learner.state()
        return state.assign_attrs(pipeline=json.dumps(self._header()))

    def __reduce__(self) -> tuple[Any, ...]:
        from orfit_bench.learners.restoring import from_bytes

        return from_bytes, (self.to_bytes(),)

    def __copy__(self) -> Pipeline:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, object]) -> Pipeline:
        return self.copy()


def rebuilt(header: dict[str, Any], learner: Learner) -> Any:
    """The pipeline that a header describes, around its learner; ValueError where the header is none."""
    try:
        transforms = tuple(TRANSFORMS[step["name"]].from_dict(step) for step in header["steps"])
        return Pipeline(transforms, learner, header["n_features"], header["names"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"not the header of a pipeline ({type(error).__name__}: {error})") from error
