"""The rule of a filter: between the rows its state moves, as the settings or what comes with the rows say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from orfit_bench.learners import validation
from orfit_bench.learners.filtering import smoother
from orfit_bench.learners.filtering.dynamics import VARYING, Entries, Motion, Moving, whole
from orfit_bench.learners.filtering.extended import Extended, moved
from orfit_bench.learners.rule import Rule
from orfit_bench.spec.backend import Array
from orfit_bench.spec.method import Draw
from orfit_bench.spec.model import Transition
from orfit_bench.state.layout import StateLayout
from orfit_bench.state.state import LearnerState, Sizes

StepInputs = Mapping[str, Entries]
"""What came with the rows: transition, process_noise, observation_noise, as far as they were given."""


@dataclass(frozen=True, eq=False, kw_only=True)
class FilterRule(Rule):
    """A rule with a prediction step before each correction."""

    @cached_property
    def _motions(self) -> dict[tuple[int, int], Motion]:
        return {}

    def motion(self, sizes: Sizes) -> Motion:
        """How the settings move a state of these sizes; ValueError where they do not fit it."""
        d, c = sizes[:2]
        if (d, c) not in self._motions:
            p = d if self.is_linear else self.model.size(d, c)
            self._motions[d, c] = Motion(self.settings, p, c, self.is_linear, self._to_backend)
        return self._motions[d, c]

    def _to_backend(self, host: Any, name: str) -> Array:
        return self.backend.asarray(validation.numbers(host, name, self.dtype))

    def step_inputs(self, sizes: Sizes, varying: tuple[Any, ...], rows: int, block: bool = False) -> StepInputs:
        """What comes with so many rows, in the order of VARYING, checked and placed on the backend."""
        if all(value is None for value in varying):
            return {}
        return self.motion(sizes).given(dict(zip(VARYING, varying, strict=False)), rows, block)

    def new_layout(self, d: int, c: int) -> StateLayout:
        """One for d features and c outputs; ValueError where settings do not fit them."""
        self.motion(Sizes(d, c))
        return super().new_layout(d, c)

    @property
    def given_weights(self) -> tuple[str, Any]:
        """The mean that the user asked for, and the name of the setting."""
        return "initial_mean", self.settings["initial_mean"]

    def first_weights(self, d: int, c: int, shape: tuple[int, ...], draw: Draw) -> Any:
        """The first mean: one number, one vector for all outputs, or all of it."""
        mean = self.settings["initial_mean"]
        if mean is not None and mean.shape in ((), shape[:1]):
            return np.broadcast_to(mean[..., None] if mean.ndim else mean, shape)
        return super().first_weights(d, c, shape, draw)

    def runs_user_code(self, inputs: StepInputs | None) -> bool:
        """Whether functions of the user's run inside a step: those of a model, or a nonlinear transition."""
        transition = inputs["transition"].value if inputs and "transition" in inputs else self.settings["transition"]
        return not self.is_linear or isinstance(transition, Transition)

    def step_parameters(
        self, state: LearnerState, steps: int, batch_size: int, gradients: int, inputs: StepInputs | None
    ) -> Moving:
        """The kernel's p for the next steps."""
        return self.motion(state.sizes).parameters(inputs or {}, state.n_steps + 1, batch_size)

    def kernel_for(self, sizes: Sizes, inputs: StepInputs | None) -> Any:
        """The kernel itself where nothing is to be linearised."""
        return self.linearised(sizes) if self.runs_user_code(inputs) else self.kernel

    def new_linearised(self, d: int, c: int) -> Extended:
        """What linearises model and transition at every step."""
        parts = self.method, self.settings, self.model, self.kernel
        return Extended(*parts, (d, c), self.dtype, self.namespace)

    def advance(
        self,
        state: LearnerState,
        X: Array,
        Y: Array,
        batch_size: int,
        out: Array | None,
        inputs: StepInputs | None = None,
        block: bool = False,
    ) -> None:
        """Learn rows, and note whether the state moved before one of the steps done (never before the first of all)."""
        moves, first = self.motion(state.sizes).moves(inputs or {}).any(axis=1), state.n_steps
        try:
            super().advance(state, X, Y, batch_size, out, inputs, block)
        finally:
            done = np.broadcast_to(moves, len(X) // batch_size)[: state.n_steps - first]
            if done[0 if first else 1 :].any():
                state.arrays.moved[...] = 1

    def answering_weights(self, state: LearnerState, inputs: StepInputs | None = None) -> Array:
        """The mean after the next transition."""
        mean = getattr(state.arrays, self.method.weights)
        F = self.motion(state.sizes).parameters(inputs or {}, 1, 1).transition if state.n_steps else None
        if isinstance(F, Transition):
            return moved(mean, F)
        return mean if F is None else whole(F[0], len(mean)) @ mean

    def smooth(self, state: LearnerState, X: Array, Y: Array, inputs: StepInputs) -> tuple[Array, Array]:
        """Means and covariances after each row, given all rows; the state becomes that after the last one."""
        extended = self.new_linearised(*state.sizes[:2])
        p, xp = self.motion(state.sizes).parameters(inputs, state.n_steps + 1, 1), self.namespace
        with np.errstate(all="ignore"):
            passed = smoother.forward(extended, state.arrays, X, Y, p, xp)
            learned = len(passed.transitions)
            state.n_steps += learned
            if learned < len(X):
                raise self.diverged(state, learned)
            known = smoother.variances(passed.corrected, xp).copy()
            self.kernel.rts(passed.transitions, *passed.predicted, *passed.corrected)
            lost = learned and smoother.impossible(known, smoother.variances(passed.corrected, xp), xp)
        if lost and self.method.warns:
            getattr(state.arrays, self.method.warns[0])[...] = 1
        return passed.corrected
