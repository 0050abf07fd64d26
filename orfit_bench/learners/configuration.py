"""A configured method that makes its initial states, and predicts from states; `Rule` adds learning."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from orfit_bench.errors import AccuracyWarning, warn
from orfit_bench.learners import validation
from orfit_bench.learners.configured_kernel import ConfiguredKernel, StepInputs
from orfit_bench.learners.function_results import check_predictions
from orfit_bench.learners.linearization import prediction_weights
from orfit_bench.learners.parameters import generator
from orfit_bench.learners.unlearning import share_left
from orfit_bench.spec import Draw
from orfit_bench.spec.arrays import to_host
from orfit_bench.spec.backend import Array
from orfit_bench.state.pending import PendingRows
from orfit_bench.state.state import Label, LearnerState, Sizes

CHECKED_THERE = 2**21
"""Size of an array above which a device checks that all numbers are finite in less time than the host."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Configuration(ConfiguredKernel):
    """A configured method that makes its initial states and predicts from states."""

    def place_many(self, a: Array) -> Array:
        """The array, on the backend if it is so large that a device checks it faster than the host."""
        return self.place(a) if not self.on_host and math.prod(a.shape) > CHECKED_THERE else a

    def place_rows(
        self, X: object, name: str, columns: int | None, finite: bool = True, names: Sequence[str] = ()
    ) -> Array:
        """X as rows (n, columns) on the backend, finite with `finite`."""
        rows = self.place_many(validation.matrix(X, name, self.dtype, columns, False, self.namespace, names))
        if finite:
            validation.check_finite(rows, name, names)
        return self.place(rows)

    def predict(self, state: LearnerState, X: Array, inputs: StepInputs | None = None) -> Array:
        """Predictions (n, c) for rows on the backend."""
        with np.errstate(all="ignore"):  # a prediction may be inf
            if predict := self.method.state.predict:
                shape = X.shape[0], state.sizes.n_outputs
                return check_predictions(predict(state.arrays, X, self.settings), predict, shape)
            w = self.prediction_weights(state, inputs)
            return X @ w if self.is_linear else self.model_for(state.sizes).predict(w, X)

    def prediction_weights(self, state: LearnerState, inputs: StepInputs | None = None) -> Array:
        """The weights (p, r) that predictions use."""
        if self.method.state.solution:
            return self.solved_weights(state)
        return prediction_weights(self.method, state.arrays, self.settings)

    def solved_weights(self, state: LearnerState) -> Array:
        """The weights (p, r) of a method whose weights are not a field, solved for once after rows were learned."""
        weights, steps = state.solved_weights, state.n_steps
        if weights is None:
            with np.errstate(all="ignore"):  # a weight may be inf
                weights, precision = self.kernel.solve(state.arrays)
            state.solved = steps, weights  # not valid if another thread has learned meanwhile
            text = self.inaccuracy(weights, precision * share_left(self, state))
            if text and not state.has_warned:
                state.has_warned = True
                warn(f"{self.method.name}: {text}", AccuracyWarning)
        return weights

    def inaccuracy(self, weights: Array, precision: float) -> str:
        """The warning of weights that were solved for with this precision; empty if they are accurate."""
        if not np.isfinite(to_host(weights)).all():
            return f"weights are not finite in {self.dtype}: scale the targets if they are large"
        solution, is_poor = self.method.state.solution, precision <= np.finfo(self.dtype).eps ** 0.5
        return solution.warning if solution and is_poor else ""

    # ------------------------------------------------------------------ initial states

    def init(self, sizes: Sizes, classes: tuple[Label, ...] = ()) -> LearnerState:
        """The state before the first row; ValueError if the settings do not fit the sizes."""
        layout, (d, c, _) = self.layout(sizes), sizes
        draw = _Draws(self.random_state)
        given: dict[str, Any] = {}
        solution, name = self.method.state.solution, self.method.state.weights
        if solution or any(f.name == name for f in layout.fields):
            w = self.first_weights(d, c, layout.shape(("parameter", "output")), draw)
            if not solution:
                given[name] = w
            elif w is not None:
                given = solution.initial_fields(w, self.settings)
        return LearnerState(sizes, layout.start(given, draw), self.no_rows(sizes), classes=classes)

    def copy(self, state: LearnerState) -> LearnerState:
        """An independent state of the same value."""
        return replace(state, arrays=self.layout(state.sizes).copy(state.arrays))

    def no_rows(self, sizes: Sizes) -> PendingRows:
        """No pending rows."""
        d, c = sizes[:2]
        return PendingRows(((self.empty((0, d)), self.empty((0, c))),), self.namespace)

    @property
    def given_weights(self) -> tuple[str, Any]:
        """The name of the argument for the initial weights, and its value."""
        return "initial_weights", self.initial_weights

    def first_weights(self, d: int, c: int, shape: tuple[int, ...], draw: Draw) -> Any:
        """The weights before the first row in host memory; None for zeros."""
        name, w = self.given_weights
        if w is not None:
            return self.check_weights(w, name, shape)
        w = self.model.start(draw, d, c)
        if w is None:
            if not self.is_linear:
                raise ValueError(f"model {self.model.name!r} draws no start: pass {name} of shape {shape}")
            return None
        w = self.check_weights(w, f"start of model {self.model.name!r}", shape)
        if self.method.traits.labels and self.model.with_outputs:
            more = self.model.with_outputs(w[:, 0], d, [-1] * c)  # a class that comes later starts like the first ones
            w = self.check_weights(more, f"model {self.model.name!r}: with_outputs(w, d, source)", shape)
        return w

    def check_weights(self, given: object, name: str, shape: tuple[int, ...]) -> Any:
        """Weights in host memory; ValueError if they have another shape or are not finite."""
        w = validation.numbers(given, name, self.dtype)
        if w.shape not in (shape, shape[:1] if shape[1] == 1 else shape):
            raise ValueError(f"{name}: got shape {w.shape}, want {shape}")
        return w.reshape(shape)


class _Draws:
    """The function draw(shape) for initial values; its generator is made at the first call, and all calls share it."""

    def __init__(self, random_state: int) -> None:
        self._random_state = random_state
        self._generator: np.random.Generator | None = None

    def __call__(self, shape: Any) -> Any:
        if self._generator is None:
            self._generator = generator(self._random_state, 0)
        return self._generator.standard_normal(shape)
