"""A trial: a method on a backend in a dtype under one variant of its settings, and what a check may ask of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.conformance import rows
from orfit_bench.conformance.check import Gap, Violation
from orfit_bench.conformance.rows import Chunk
from orfit_bench.conformance.tolerance import Act, apart, learning, look, tolerance
from orfit_bench.conformance.variants import Variant
from orfit_bench.learners.factory import create
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import LINEAR, Backend, Method

Array = NDArray[Any]
REFERENCE = "numpy"
"""The backend that the others must agree with."""
ROWS, FEATURES = 24, 5
"""A stream long enough for every memory to fill, wide enough for two components and their complement."""


@dataclass(frozen=True)
class Trial:
    """What a check is given."""

    method: Method
    backend: Backend
    dtype: str
    seed: int
    variant: Variant

    def create(self, **more: Any) -> Any:
        """A new learner; `more` overrides backend, dtype, random_state, model or a setting."""
        given = {"backend": self.backend.name, "dtype": self.dtype, "random_state": self.seed}
        return create(self.method.name, **{**given, **self.model, **self.variant.settings, **more})

    @property
    def model(self) -> dict[str, Any]:
        """The argument that names the variant's model, where it is another than the linear one."""
        return {} if self.variant.model is LINEAR else {"model": self.variant.model}

    def rows(self, n: int = ROWS, d: int = FEATURES) -> Chunk:
        """Rows that the method admits, which nobody may write to."""
        made = (self.method, n, d, self.variant.outputs, self.dtype, self.seed, self.variant.along)
        chunk = rows.draw(*made)
        return chunk if self._admits(chunk) else rows.draw(*made, sign=True)

    def _admits(self, chunk: Chunk) -> bool:
        if self.method.kernel.validate_rows is None or chunk.y is None:
            return True
        Y = chunk.y.reshape(len(chunk.X), -1)
        try:
            self.method.kernel.validate_rows(self.create().settings, 0, chunk.X, Y, False, self.variant.model is LINEAR)
        except ValueError:
            return False
        return True

    def learn(self, learner: Any, chunk: Chunk) -> Array | None:
        """Learn the rows; returns what was predicted before each step, where the learner predicts."""
        told = self.learn_raw(learner, chunk)
        return None if told is None else self.backend_of(learner).asnumpy(told)

    def step(self, learner: Any, chunk: Chunk) -> None:
        """Learn all the rows as one step."""
        if not self.method.traits.supervised:
            learner.step(chunk.X)
        else:
            learner.step(chunk.X, chunk.y)

    def ask(self, learner: Any, X: Array) -> Array:
        """What the learner answers for rows: numbers, scores, or the rows projected onto its subspace."""
        return self.backend_of(learner).asnumpy(self.ask_raw(learner, X))

    def learned(self, chunk: Chunk, **more: Any) -> Any:
        """A new learner that has learned the rows."""
        learner = self.create(**more)
        self.learn(learner, chunk)
        return learner

    def begun(self, chunk: Chunk) -> Any:
        """A new learner that knows the sizes and has learned nothing."""
        return self.learned(chunk.cut(0, 0))

    def can(self, capability: str) -> bool:
        """Whether the method allows this, and the kernel offers it."""
        return not registry().capabilities(self.backend.name, self.method.name).get(capability, "not allowed")

    def learn_raw(self, learner: Any, chunk: Chunk) -> Any:
        """As `learn`, returning the backend's own array."""
        if not self.method.traits.supervised:
            learner.partial_fit(chunk.X)
            return None
        return learner.prequential(chunk.X, chunk.y, **chunk.along)

    def ask_raw(self, learner: Any, X: Array) -> Any:
        """As `ask`, returning the backend's own array."""
        if not self.method.traits.supervised:
            return learner.inverse_transform(self.backend_of(learner).asnumpy(learner.transform(X)))
        return (learner.decision_function if self.method.traits.labels else learner.predict)(X)

    def forecast(self, learner: Any, row: Chunk) -> Array:
        """What is predicted for one row; a filter is told of the transition that comes with it."""
        if "transition" not in row.along:
            return self.ask(learner, row.X)
        return self.backend_of(learner).asnumpy(learner.predict(row.X, transition=row.along["transition"][0]))

    def flushed(self, learner: Any) -> Any:
        """The learner, with what waited learned where it can be."""
        return learner.flush() if learner.pending and self.can("blocks") else learner

    def joined(self, parts: Sequence[Array | None]) -> Array | None:
        """Predictions of chunks as of one: scores of a classifier are zero in columns of classes unseen by then."""
        known = [part for part in parts if part is not None]
        if self.method.traits.labels and known:
            most = max(part.shape[1] for part in known)
            known = [np.pad(part, ((0, 0), (0, most - part.shape[1]))) for part in known]
        return np.concatenate(known) if known else None

    def targets(self, learner: Any, chunk: Chunk) -> Array:
        """Y (n, r) as the kernel learned it: labels one-hot, in the order in which the classes appeared."""
        y = np.asarray(chunk.y)
        if self.method.traits.labels:
            return np.asarray(y[:, None] == learner.classes_, float)
        return np.asarray(y, float).reshape(len(y), -1)

    def first_weights(self, learner: Any, chunk: Chunk) -> Array:
        """The weights before the first row, (p, r) like the learner's now."""
        if self.method.traits.labels:
            return np.zeros(learner.state()[self.method.state.weights].shape)
        return np.asarray(self.begun(chunk).state()[self.method.state.weights].values, float)

    @staticmethod
    def backend_of(learner: Any) -> Backend:
        """The backend that a learner computes on."""
        backend: Backend = learner.backend
        return backend

    @cached_property
    def batch_size(self) -> int:
        """Rows of one step."""
        return int(self.create().settings.get("batch_size", 1))

    @cached_property
    def reference_lacks(self) -> str:
        """Why there is no reference to compare with; empty where there is one."""
        if self.backend.name == REFERENCE:
            return "it is the reference"
        if REFERENCE not in registry().backends:
            return f"the reference backend {REFERENCE} is not installed"
        return registry().absence(REFERENCE, self.method.name)

    @cached_property
    def truth(self) -> Trial:
        """The same trial on the reference, or here where there is none: the truth, and what conditions are taken of."""
        return self if self.reference_lacks else replace(self, backend=registry().backends[REFERENCE])

    def gap(self, chunk: Chunk, *pairs: tuple[Any, Any], of: str = "", act: Act = learning) -> Gap:
        """How far learners or arrays that should be alike after these rows are apart, and how far they may be.

        of says of what, or, with a colon at its end, where; act what was done with the rows.
        """
        found, where = 0.0, of
        for got, want in pairs:
            deviation, what = apart(look(got), look(want))
            if deviation > found or not deviation >= 0:
                found, where = deviation, of if of and not of.endswith(":") else f"{of} {what}".strip()
        return Gap(found, tolerance(self, chunk, found, act), where)

    def same(self, got: Any, want: Any, said: str) -> None:
        """Violation, with what is said, unless two learners are alike to the bit."""
        one, other = got.state(), want.state()
        if not one.identical(other):
            parts = [name for name in other if name not in one or not np.array_equal(one[name], other[name])]
            raise Violation(f"{said}: {', '.join(map(str, parts)) or 'its attributes'} differ")
