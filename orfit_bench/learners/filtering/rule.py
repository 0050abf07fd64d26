"""The rule of a filter: a prediction step before each correction, by the settings or by inputs given with rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from orfit_bench.learners import validation
from orfit_bench.learners.computed_once import ComputedOnce
from orfit_bench.learners.configured_kernel import StepInputs
from orfit_bench.learners.filtering import likelihood, smoother
from orfit_bench.learners.filtering.dynamics import (
    NO_INPUTS,
    Dynamics,
    FilterParameters,
    GivenWithRows,
    refuse_lost_noise,
)
from orfit_bench.learners.filtering.extended import ExtendedFilter, Moments, apply_transition, variances_along
from orfit_bench.learners.filtering.in_float64 import Pass, can_compute_in_float64, finite_in, in_float64
from orfit_bench.learners.filtering.rounding import most_deviations
from orfit_bench.learners.linearization import blocks_of_rows
from orfit_bench.learners.rule import Rule
from orfit_bench.spec import Draw
from orfit_bench.spec.arrays import contiguous, diagonal, native_dtype
from orfit_bench.spec.backend import Array
from orfit_bench.spec.matrix_types import as_matrix
from orfit_bench.spec.model import Transition
from orfit_bench.state.layout import StateLayout
from orfit_bench.state.state import LearnerState, Sizes


@dataclass(frozen=True, eq=False, kw_only=True)
class FilterRule(Rule):
    """A rule with a prediction step before each correction."""

    @ComputedOnce
    def _dynamics(self) -> dict[tuple[int, int], Dynamics]:
        return {}

    def dynamics(self, sizes: Sizes) -> Dynamics:
        """The dynamics of states of these sizes; ValueError if the settings do not fit them."""
        d, c = sizes[:2]
        if (d, c) not in self._dynamics:
            p = d if self.is_linear else self.model.size(d, c)
            self._dynamics[d, c] = Dynamics(self.settings, p, c, self.is_linear, self._to_backend)
        return self._dynamics[d, c]

    def _to_backend(self, host: np.ndarray[Any, Any], name: str) -> Array:
        numbers = validation.numbers(host, name, self.dtype)
        if name == "observation_noise":
            refuse_lost_noise(host, numbers)
        return self.backend.asarray(numbers)

    def step_inputs(self, sizes: Sizes, given: GivenWithRows, rows: int, block: bool = False) -> StepInputs:
        """Validate the inputs given with the rows, and copy them to the backend."""
        return NO_INPUTS if given.is_empty else self.dynamics(sizes).validate_inputs(given, rows, block)

    def new_layout(self, d: int, c: int) -> StateLayout:
        """The layout for d features and c outputs; ValueError if the settings do not fit them."""
        self.dynamics(Sizes(d, c))
        return super().new_layout(d, c)

    @property
    def given_weights(self) -> tuple[str, Any]:
        """The name of the setting with the initial mean, and its value."""
        return "initial_mean", self.settings["initial_mean"]

    def first_weights(self, d: int, c: int, shape: tuple[int, ...], draw: Draw) -> Any:
        """The initial mean, from a number, a vector for all outputs, or an array of full shape."""
        mean = self.settings["initial_mean"]
        if mean is not None and mean.shape in ((), shape[:1]):
            return np.broadcast_to(mean[..., None] if mean.ndim else mean, shape)
        return super().first_weights(d, c, shape, draw)

    def runs_user_code(self, inputs: StepInputs | None) -> bool:
        """Whether a step calls functions of the user: a model's, or a nonlinear transition."""
        transition = inputs["transition"].value if inputs and "transition" in inputs else self.settings["transition"]
        return not self.is_linear or isinstance(transition, Transition)

    def step_parameters(
        self, state: LearnerState, steps: int, batch_size: int, gradients: int, inputs: StepInputs | None
    ) -> FilterParameters:
        """The kernel's p for the next steps."""
        return self.dynamics(state.sizes).parameters(inputs or NO_INPUTS, state.n_steps + 1, batch_size)

    def constant_parameters(self, sizes: Sizes) -> FilterParameters:
        """The kernel's p for a step of one row without inputs."""
        return self.dynamics(sizes).parameters(NO_INPUTS, 1, 1)

    def is_dynamic(self, sizes: Sizes) -> bool:
        """Whether the settings change the state between rows."""
        return bool(self.constant_parameters(sizes).is_dynamic.any())

    def moves_weights(self, sizes: Sizes) -> bool:
        """Whether the settings change the mean between rows."""
        p = self.constant_parameters(sizes)
        return p.transition is not None or p.control is not None

    def kernel_for(self, sizes: Sizes, inputs: StepInputs | None, in_blocks: bool = False) -> Any:
        """The kernel itself, unless model or transition are nonlinear."""
        return self.linearized(sizes) if self.runs_user_code(inputs) else self.kernel

    def network_kernel(self, sizes: Sizes) -> None:
        """None, since networks are linearized like other models."""

    def new_linearized(self, d: int, c: int) -> ExtendedFilter:
        """Make the kernel that linearizes model and transition at every step."""
        parts = self.method, self.settings, self.model, self.kernel
        return ExtendedFilter(*parts, (d, c), self.dtype, self.namespace)

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
        """Learn rows, and set `moved` if the state moved before one of these steps (never before the very first)."""
        first = state.n_steps
        try:
            super().advance(state, X, Y, batch_size, out, inputs, block)
        finally:
            model = self.dynamics(state.sizes).parameters(inputs or NO_INPUTS, 1, batch_size if block else 1)
            moves = model.is_dynamic.any(axis=1)
            if inputs and "control" in inputs:
                moves = moves | inputs["control"].is_dynamic
            done = np.broadcast_to(moves, X.shape[0] // batch_size)[: state.n_steps - first]
            if done[0 if first else 1 :].any():
                state.arrays.moved[...] = 1

    def prediction_weights(self, state: LearnerState, inputs: StepInputs | None = None) -> Array:
        """The mean after the next transition."""
        mean = getattr(state.arrays, self.method.state.weights)
        if not state.n_steps:
            return mean
        model = self.dynamics(state.sizes).parameters(inputs or NO_INPUTS, 1, 1)
        F = model.transition
        if isinstance(F, Transition):
            mean = apply_transition(mean, F)
        elif F is not None:
            mean = as_matrix(F[0, ...], mean.shape[0]) @ mean
        return mean if model.control is None else mean + model.control[0, ...]

    def forecast_deviations(self, state: LearnerState, X: Array, inputs: StepInputs) -> Array:
        """Standard deviations (n, c) of the observations of rows X (n, d), if each were the next row.

        NaN if the state cannot move there, in which case the row could not be learned either.
        """
        xp, shape = self.namespace, (X.shape[0], state.sizes.n_outputs)
        if not X.shape[0]:
            return xp.empty(shape, dtype=native_dtype(xp, self.dtype))
        extended, s = self.new_linearized(*state.sizes[:2]), self.copy(state).arrays
        p = self.dynamics(state.sizes).parameters(inputs, state.n_steps + 1, 1).at(0)
        with np.errstate(all="ignore"):
            moved, _ = extended.predict_step(s, p)
            if not moved:
                return xp.full(shape, xp.nan, dtype=native_dtype(xp, self.dtype))
            if self.is_linear:
                along = variances_along(s, X, xp)
            else:
                parts = blocks_of_rows(X, state.sizes.n_outputs, s.mean)
                along = xp.concat([variances_along(s, extended.jacobian(s.mean, part), xp) for part in parts])
            variances = xp.reshape(along, (X.shape[0], -1))
            variances = variances + diagonal(p.observation_noise, xp)[None, :]
            found = xp.sqrt(xp.where(variances < 0, 0.0, variances))  # rounding may make a variance of zero negative
        return contiguous(xp.broadcast_to(found, shape), xp)

    def log_likelihood(self, state: LearnerState, X: Array, Y: Array, inputs: StepInputs) -> float:
        """The log density of rows; the state counts them and records whether digits were lost."""
        extended, rows = self.new_linearized(*state.sizes[:2]), self._rows_to_filter(state, X, Y, inputs)
        most = most_deviations(self.dtype)
        with np.errstate(all="ignore"):
            found = likelihood.log_likelihood(extended, *rows, self._record(inputs), most)
        self._end_pass(state, rows.s, found.learned, X.shape[0], not found.is_within(most))
        return found.total

    def smooth(self, state: LearnerState, X: Array, Y: Array, inputs: StepInputs) -> Moments:
        """Means and covariances given all rows; the state counts them and records whether digits were lost."""
        extended, rows = self.new_linearized(*state.sizes[:2]), self._rows_to_filter(state, X, Y, inputs)
        linear = not self.runs_user_code(inputs)
        with np.errstate(all="ignore"):
            steps = smoother.run_filter(extended, *rows, self._record(inputs))
            learned = len(steps.transitions)
            is_inaccurate = learned == X.shape[0] and smoother.smooth(self.kernel, steps, rows, linear, self.dtype)
            found, finite = finite_in(self.dtype, steps.corrected)
        self._end_pass(state, rows.s, min(learned, finite), X.shape[0], is_inaccurate)
        return found

    def _rows_to_filter(self, state: LearnerState, X: Array, Y: Array, inputs: StepInputs) -> Pass:
        """The inputs of a pass of the filter for a smoother or a likelihood, in float64 if float32 is too coarse."""
        p = self.dynamics(state.sizes).parameters(inputs, state.n_steps + 1, 1)
        rows = Pass(state.arrays, X, Y, p)
        if self.dtype != np.float32 or self.runs_user_code(inputs) or not can_compute_in_float64(rows):
            return rows
        return in_float64(rows)

    def _end_pass(self, state: LearnerState, s: Any, learned: int, n: int, is_inaccurate: bool) -> None:
        """Count the rows that a pass in s learned, and record lost digits; DivergedError if rows are left."""
        state.n_steps += learned
        if learned < n:
            raise self.discard_refused_step(state, learned)
        warning = self.method.state.warning
        if warning and hasattr(s, warning.field):
            getattr(state.arrays, warning.field)[...] = is_inaccurate or getattr(s, warning.field)

    def _record(self, inputs: StepInputs) -> Any:
        """The kernel's function that filters rows and records their moments; None if it cannot be used."""
        return None if self.runs_user_code(inputs) else getattr(self.kernel, "record_rows", None)
