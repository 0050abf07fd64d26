"""The context of a check: a method on a backend in a dtype with one variant of its settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from orfit_bench.conformance import rows
from orfit_bench.conformance.check import MAX_USEFUL_BOUND, Deviation, Violation
from orfit_bench.conformance.comparison import comparable_state, max_deviation
from orfit_bench.conformance.inspection import with_kernel
from orfit_bench.conformance.result import LACKS
from orfit_bench.conformance.rows import Chunk
from orfit_bench.conformance.tolerance import LearnFunction, learn_rows, tolerance
from orfit_bench.conformance.variants import Variant
from orfit_bench.errors import LackingError
from orfit_bench.learners.factory import create
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import LINEAR, REFERENCE, Backend, Method
from orfit_bench.spec.capability import lacking_setting
from orfit_bench.spec.law import to_numpy64
from orfit_bench.spec.setting import check_settings

Array = NDArray[Any]
ROWS, FEATURES = 24, 5
"""Long enough to fill every memory, wide enough for two components and their complement."""


@dataclass(frozen=True)
class CheckContext:
    """What a check is given: it creates learners, draws rows and compares results."""

    method: Method
    backend: Backend
    dtype: str
    seed: int
    variant: Variant
    wrap: Callable[[Any], Any] | None = None
    """Changes the kernel of every learner that is created."""

    # ------------------------------------------------------------------ learners and rows

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
        """Create a learner that knows the sizes of the rows and has learned nothing."""
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
        """Whether the method learns such rows; a loss may require targets of -1 and 1, or probabilities."""
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
        """As `learn`, with the array of the backend."""
        if not self.method.traits.supervised:
            learner.partial_fit(chunk.X)
            return None
        return learner.prequential(chunk.X, chunk.y, **chunk.time_varying)

    def learn_silently(self, learner: Any, chunk: Chunk) -> None:
        """Learn the rows without predictions: a single one by the short path for it."""
        if self.method.traits.supervised:
            learner.partial_fit(chunk.X, chunk.y, **chunk.time_varying)
        else:
            learner.partial_fit(chunk.X)

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
        """As `predict`, with the array of the backend."""
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
        """Y (n, r) as the kernel learned it: labels one-hot, in the order in which the classes appeared."""
        y = np.asarray(chunk.y)
        if self.method.traits.labels:
            return np.asarray(y[:, None] == learner.classes_, float)
        return np.asarray(to_numpy64(y).reshape(len(y), -1))

    def initial_weights(self, learner: Any, chunk: Chunk) -> Array:
        """The weights before the first row, (p, r) like those of the learner now."""
        if self.method.traits.labels:
            return np.zeros(learner.array(self.method.state.weights).shape)
        return np.asarray(to_numpy64(self.initialize(chunk).array(self.method.state.weights)))

    # ------------------------------------------------------------------ capabilities and the reference

    def supports(self, capability: str) -> bool:
        """Whether the method allows a capability, and the kernel offers it."""
        return not registry().capabilities(self.backend.name, self.method.name).get(capability, "not allowed")

    def allows(self, capability: str) -> bool:
        """Whether the method allows a capability; LackingError, with the reason, if it does and the kernel lacks it."""
        capabilities = registry().capabilities(self.backend.name, self.method.name)
        if reason := capabilities.get(capability):
            raise LackingError(f"{LACKS} {capability}: {reason}")
        return capability in capabilities

    @cached_property
    def lacking(self) -> str:
        """What the kernel says it lacks of what the variant needs, with its reason; empty if it has all."""
        settings = check_settings(self.method.name, self.method.settings, self.variant.settings)
        kernel = registry().kernel(self.backend.name, self.method.name)
        key, reason = lacking_setting(kernel, self.method, settings)
        if key:
            return f"{LACKS} {key}: {reason}"
        try:
            for capability in self._needed(settings):
                self.allows(capability)
        except LackingError as error:
            return str(error)
        return ""

    def _needed(self, settings: Mapping[str, Any]) -> Iterator[str]:
        """The capabilities that the variant needs."""
        if self.variant.model is not LINEAR and not self.method.state.layered:
            yield "models"
        if (settings.get("batch_size") or 1) > 1:
            yield "blocks"

    @cached_property
    def batch_size(self) -> int:
        """Rows of one step."""
        return int(self.create().settings.get("batch_size", 1))

    @property
    def is_reference(self) -> bool:
        """Whether the backend is the reference."""
        return self.backend.name == REFERENCE

    @property
    def is_exact(self) -> bool:
        """Whether states do not depend on the division into calls, bit by bit: on the reference, which goes row by row.

        A method whose weights are solved when they are needed sums the rows of a call in one product, and a model whose
        classes are known later computes fewer outputs by then.
        """
        grows = self.method.traits.labels and self.variant.model is not LINEAR
        return self.is_reference and not (self.method.state.solution or grows)

    @cached_property
    def reference_missing(self) -> str:
        """Why there is no reference to compare with; empty if there is one."""
        if self.is_reference:
            return "it is the reference"
        if REFERENCE not in registry().backends:
            return f"the reference backend {REFERENCE} is not installed"
        return registry().absence(REFERENCE, self.method.name)

    @cached_property
    def reference(self) -> CheckContext:
        """The same context on the reference backend; this one if there is no reference."""
        return self if self.reference_missing else replace(self, backend=registry().backends[REFERENCE])

    # ------------------------------------------------------------------ comparison

    def compare(
        self,
        chunk: Chunk,
        *pairs: tuple[Any, Any],
        of: str = "",
        exact: bool = False,
        learn: LearnFunction = learn_rows,
    ) -> Deviation:
        """Compare pairs of learners, or of arrays, that should agree after these rows.

        Parameters
        ----------
        chunk : Chunk
            The rows that were learned, for which the bound holds.
        *pairs : tuple
            (result, expected): learners, or arrays in host memory.
        of : str
            What is compared; with a colon at its end, after which rows.
        exact : bool
            Whether the states of learners must be equal bit by bit; arrays are compared up to the bound.
        learn : callable
            How the rows were learned, if not with `context.learn`: the condition number is measured with it.

        Returns
        -------
        Deviation
            The largest deviation and the bound.

        Raises
        ------
        Violation
            If `exact`, and two states differ.
        """
        value, name = 0.0, of
        if exact:
            for got, want in (pair for pair in pairs if hasattr(pair[0], "state")):
                self.ensure_identical(got, want, "not equal bit by bit")
        for got, want in pairs:
            found, what = max_deviation(comparable_state(got), comparable_state(want))
            if found > value or not found >= 0:
                value, name = found, of if of and not of.endswith(":") else f"{of} {what}".strip()
        bound = tolerance(self, chunk, value, learn)
        useless = bound > MAX_USEFUL_BOUND and isfinite(value)
        return Deviation(value, bound, name, "the problem is too ill-conditioned" if useless else "")

    def ensure_identical(self, got: Any, want: Any, message: str) -> None:
        """Raise Violation unless the states of two learners are equal bit by bit."""
        if got.to_bytes() == want.to_bytes():  # twenty times faster than the comparison by names
            return
        one, other = got.state(), want.state()
        if not one.identical(other):
            parts = [name for name in other if name not in one or not np.array_equal(one[name], other[name])]
            raise Violation(f"{message}: {', '.join(map(str, parts)) or 'its attributes'} differ")
