"""The states of a configured method before the first row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from orfit_bench.learners import layers, validation
from orfit_bench.learners.computed_once import ComputedOnce
from orfit_bench.learners.configured_method import ConfiguredMethod
from orfit_bench.learners.parameters import generator
from orfit_bench.spec import Draw
from orfit_bench.state.layout import StateLayout
from orfit_bench.state.pending import PendingRows
from orfit_bench.state.state import Label, LearnerState, Sizes


@dataclass(frozen=True, eq=False, kw_only=True)
class InitialStates(ConfiguredMethod):
    """A configured method that makes the states before the first row."""

    @ComputedOnce
    def _layouts(self) -> dict[Sizes, StateLayout]:
        return {}

    def layout(self, sizes: Sizes) -> StateLayout:
        """The shapes of the state's arrays."""
        found = self._layouts.get(sizes)
        if found is None:
            found = self._layouts[sizes] = self.new_layout(sizes.n_features, sizes.n_outputs)
        return found

    def new_layout(self, d: int, c: int) -> StateLayout:
        """The layout for d features and c outputs; ValueError if the settings do not fit them."""
        p, r = (d, c) if self.is_linear else (self.model.size(d, c), 1)
        counts = {name: value for name, value in self.settings.items() if type(value) is int}
        sizes = counts | {"feature": d, "parameter": p, "output": r, "class": c}
        sizes["gradients"] = 1 if self.is_linear else c
        inputs = [n for n, _ in layers.shapes(self.model, d, c)] if self.method.state.layered else ()
        return StateLayout(self.method, dict(self.settings), sizes, self.backend, self.dtype, inputs)

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
