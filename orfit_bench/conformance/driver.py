"""Learners of every kind behind one interface, which all checks use: create, learn, step, predict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from orfit_bench.conformance import rows
from orfit_bench.conformance.inspection import with_kernel
from orfit_bench.conformance.rows import FEATURES, ROWS, Chunk
from orfit_bench.conformance.variants import Variant
from orfit_bench.learners.factory import create
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import LINEAR, Backend, Method
from orfit_bench.spec.law import to_numpy64

Array = NDArray[Any]


@dataclass(frozen=True)
class Driver:
    """Draws rows for a method, and creates and trains learners on a backend in a dtype."""

    method: Method
    backend: Backend
    dtype: str
    seed: int
    variant: Variant
    wrap: Callable[[Any], Any] | None = None
    """Changes the kernel of every learner that is created."""

    def create(self, **overrides: Any) -> Any:
        """Create a learner; `overrides` replace backend, dtype, random_state, model or a setting."""
        given = {"backend": self.backend.name, "dtype": self.dtype, "random_state": self.seed}
        learner = create(self.method.name, **{**given, **self.model, **self.variant.settings, **overrides})
        return with_kernel(learner, self.wrap) if self.wrap else learner

    def train(self, chunk: Chunk, **overrides: Any) -> Any:
        """Create a learner and let it learn the rows."""
        learner = self.create(**overrides)
        self.learn(learner, chunk)
        return learner

    def initialize(self, chunk: Chunk) -> Any:
        """Create a learner that knows the sizes of the rows but has learned nothing."""
        return self.train(chunk.cut(0, 0))

    @property
    def model(self) -> dict[str, Any]:
        """The argument `model` of `create`; empty for the linear model."""
        return {} if self.variant.model is LINEAR else {"model": self.variant.model}

    def rows(self, n: int = ROWS, d: int = FEATURES) -> Chunk:
        """Draw n read-only rows of d features that the method accepts."""
        arguments = (self.method, n, d, self.variant.outputs, self.dtype, self.seed, self.variant.time_varying)
        for targets in get_args(rows.Targets):
            chunk = rows.draw(*arguments, targets=targets)
            if self.accepts(chunk):
                break
        return chunk

    def accepts(self, chunk: Chunk) -> bool:
        """Whether the method learns such rows; a loss can require targets of -1 and 1, or probabilities."""
        if self.method.kernel.validate_rows is None or chunk.y is None:
            return True
        Y = chunk.y.reshape(len(chunk.X), -1)
        try:
            self.method.kernel.validate_rows(self.create().settings, 0, chunk.X, Y, False, self.variant.model is LINEAR)
        except ValueError:
            return False
        return True

    # ------------------------------------------------------------------ one interface for learners of every kind

    def learn(self, learner: Any, chunk: Chunk) -> Array | None:
        """Learn the rows; return the prediction before each step in host memory, None for a subspace."""
        predictions = self.learn_raw(learner, chunk)
        return None if predictions is None else np.asarray(learner.backend.asnumpy(predictions))

    def learn_raw(self, learner: Any, chunk: Chunk) -> Any:
        """Like `learn`, but return the array of the backend."""
        if not self.method.traits.supervised:
            learner.partial_fit(chunk.X)
            return None
        return learner.prequential(chunk.X, chunk.y, **chunk.time_varying)

    def learn_silently(self, learner: Any, chunk: Chunk) -> None:
        """Learn the rows without predictions, passed by keyword; a single row uses the code for one row."""
        if self.method.traits.supervised:
            learner.partial_fit(X=chunk.X, y=chunk.y, **chunk.time_varying)
        else:
            learner.partial_fit(X=chunk.X)

    def step(self, learner: Any, chunk: Chunk) -> None:
        """Learn all the rows as one step."""
        if not self.method.traits.supervised:
            learner.step(chunk.X)
        else:
            learner.step(chunk.X, chunk.y)

    def predict(self, learner: Any, X: Array) -> Array:
        """Predictions, scores of a classifier, or the projection onto a subspace, in host memory."""
        return np.asarray(learner.backend.asnumpy(self.predict_raw(learner, X)))

    def predict_raw(self, learner: Any, X: Array) -> Any:
        """Like `predict`, but return the array of the backend."""
        if not self.method.traits.supervised:
            return learner.inverse_transform(learner.backend.asnumpy(learner.transform(X)))
        return (learner.decision_function if self.method.traits.labels else learner.predict)(X)

    def predict_row(self, learner: Any, row: Chunk) -> Array:
        """The prediction for one row; a filter is given the transition of that row."""
        if "transition" not in row.time_varying:
            return self.predict(learner, row.X)
        transition = row.time_varying["transition"][0]
        return np.asarray(learner.backend.asnumpy(learner.predict(row.X, transition=transition)))

    def flush(self, learner: Any) -> None:
        """Learn the pending rows, if the kernel supports blocks."""
        if learner.pending and self.supports("blocks"):
            learner.flush()

    def concatenate(self, parts: Sequence[Array | None]) -> Array | None:
        """The predictions of several chunks as one array; scores of a class not yet seen are zero."""
        known = [part for part in parts if part is not None]
        if self.method.traits.labels and known:
            n_classes = max(part.shape[1] for part in known)
            known = [np.pad(part, ((0, 0), (0, n_classes - part.shape[1]))) for part in known]
        return np.concatenate(known) if known else None

    def encode_targets(self, learner: Any, chunk: Chunk) -> Array:
        """Y (n, r) as the kernel learned it: labels are one-hot, in order of appearance of the classes."""
        y = np.asarray(chunk.y)
        if self.method.traits.labels:
            return np.asarray(y[:, None] == learner.classes_, float)
        return np.asarray(to_numpy64(y).reshape(len(y), -1))

    def initial_weights(self, learner: Any, chunk: Chunk) -> Array:
        """The weights before the first row, in their current shape (p, r)."""
        if self.method.traits.labels:
            return np.zeros(learner.array(self.method.state.weights).shape)
        return np.asarray(to_numpy64(self.initialize(chunk).array(self.method.state.weights)))

    def supports(self, capability: str) -> bool:
        """Whether the method allows a capability and the kernel supports it."""
        return not registry().capabilities(self.backend.name, self.method.name).get(capability, "not allowed")
