"""The kernel of a configured method, and the parameters that it gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orfit_bench.learners.computed_once import ComputedOnce
from orfit_bench.learners.configured_method import ConfiguredMethod
from orfit_bench.learners.linearization import LinearizedKernel
from orfit_bench.learners.parameters import ParameterMaker, SetStep
from orfit_bench.models import network_of
from orfit_bench.state.state import LearnerState, Sizes

StepInputs = Mapping[str, Any]
"""Further inputs of rows: dynamics of a filter by name, or factors that follow from the weights of rows."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ConfiguredKernel(ConfiguredMethod):
    """A configured method that chooses the object that learns rows, and prepares its parameters."""

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
