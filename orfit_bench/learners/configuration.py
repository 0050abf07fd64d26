"""The immutable part of a learner: a method with its settings on a backend, and its initial states."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orfit_bench.errors import AccuracyWarning, warn
from orfit_bench.learners import validation
from orfit_bench.learners.computed_once import ComputedOnce
from orfit_bench.learners.function_results import check_predictions
from orfit_bench.learners.initial_states import InitialStates
from orfit_bench.learners.linearization import LinearizedKernel, prediction_weights
from orfit_bench.learners.parameters import ParameterMaker, SetStep
from orfit_bench.learners.unlearning import share_left
from orfit_bench.models import network_of
from orfit_bench.spec.arrays import to_host
from orfit_bench.spec.backend import Array
from orfit_bench.state.state import LearnerState, Sizes

StepInputs = Mapping[str, Any]
"""Further inputs of rows: dynamics of a filter by name, or factors that follow from the weights of rows."""
CHECKED_THERE = 2**21
"""Size of an array above which a device checks that all numbers are finite in less time than the host."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Configuration(InitialStates):
    """A configured method that makes states, predicts from them, and prepares the parameters of kernels."""

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

    # ------------------------------------------------------------------ predictions

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
        if state.solved_weights is None:
            with np.errstate(all="ignore"):  # a weight may be inf
                state.solved_weights, precision = self.kernel.solve(state.arrays)
            if not np.isfinite(to_host(state.solved_weights)).all():
                self._warn_once(state, f"weights are not finite in {self.dtype}: scale the targets if they are large")
            elif precision * share_left(self, state) <= np.finfo(self.dtype).eps ** 0.5 and self.method.state.solution:
                self._warn_once(state, self.method.state.solution.warning)
        return state.solved_weights

    def _warn_once(self, state: LearnerState, text: str) -> None:
        """Warn of the accuracy of a state, unless it or an earlier state has already warned."""
        if not state.has_warned:
            state.has_warned = True
            warn(f"{self.method.name}: {text}", AccuracyWarning)

    # ------------------------------------------------------------------ what the kernel gets

    @ComputedOnce
    def _make_parameters(self) -> ParameterMaker:
        return ParameterMaker(self.method, dict(self.settings), self.dtype, self.random_state)

    def step_parameters(
        self, state: LearnerState, steps: int, batch_size: int, gradients: int, inputs: StepInputs | None
    ) -> Any:
        """The kernel's p for the next steps."""
        p = self._make_parameters(state.n_steps + 1, steps, batch_size, gradients)
        if inputs and "step_size" in inputs:
            p = p._replace(step_size=p.step_size * inputs["step_size"])
        return p._replace(row_scale=inputs["row_scale"]) if inputs and "row_scale" in inputs else p

    def constant_parameters(self, sizes: Sizes) -> Any:
        """The kernel's p for a step of one row, if it differs between steps by p.t only; otherwise None."""
        return self._make_parameters.constant(self.layout(sizes).sizes["gradients"])

    def changing_parameters(self, sizes: Sizes) -> tuple[Any, SetStep] | None:
        """p for a step of one row, and a function that sets its arrays to a step; None if steps draw numbers."""
        return self._make_parameters.changing(self.layout(sizes).sizes["gradients"])

    def kernel_for(self, sizes: Sizes, inputs: StepInputs | None, in_blocks: bool = False) -> Any:
        """The object that learns rows by `learn`, or a block by `step`; for a linear model, the kernel."""
        if self.is_linear:
            return self.kernel
        own = None if in_blocks or (inputs and "row_scale" in inputs) else self.network_kernel(sizes)
        return own or self.linearized(sizes)

    def model_for(self, sizes: Sizes) -> Any:
        """The object whose `predict` makes the predictions of a nonlinear model."""
        own = self.network_kernel(sizes)
        return own if hasattr(own, "predict") else self.linearized(sizes)

    @ComputedOnce
    def _network_kernels(self) -> dict[tuple[int, int], Any]:
        return {}

    def network_kernel(self, sizes: Sizes) -> Any:
        """The kernel's own rule for rows of a network, one row per step; None if it has none."""
        d, c = sizes[:2]
        if (d, c) not in self._network_kernels:
            network, make = network_of(self.model), getattr(self.kernel, "for_network", None)
            rule = make(network, d, c, self.settings) if network and make and self.batch_size == 1 else None
            self._network_kernels[d, c] = rule
        return self._network_kernels[d, c]

    @ComputedOnce
    def _linearized(self) -> dict[tuple[int, int], LinearizedKernel]:
        return {}

    def linearized(self, sizes: Sizes) -> LinearizedKernel:
        """The kernel with linearization for these sizes."""
        d, c = sizes[:2]
        if (d, c) not in self._linearized:
            self._linearized[d, c] = self.new_linearized(d, c)
        return self._linearized[d, c]

    def new_linearized(self, d: int, c: int) -> LinearizedKernel:
        """A linearized kernel for d features and c outputs."""
        parts = self.method, self.settings, self.model, self.kernel
        return LinearizedKernel(*parts, (d, c), self.dtype, self.namespace)

    def runs_user_code(self, inputs: StepInputs | None) -> bool:
        """Whether a step runs functions of the user, which may fail halfway."""
        return not self.is_linear
