"""The immutable part of a learner: a method with its settings on a backend, and its initial states."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from orfit_bench.errors import AccuracyWarning, warn
from orfit_bench.learners import layers, validation
from orfit_bench.learners.computed_once import ComputedOnce
from orfit_bench.learners.function_results import check_predictions
from orfit_bench.learners.linearization import LinearizedKernel, prediction_weights
from orfit_bench.learners.parameters import ParameterMaker, SetStep, generator
from orfit_bench.learners.unlearning import share_left
from orfit_bench.models import network_of
from orfit_bench.spec import Draw, Method
from orfit_bench.spec.arrays import array_type, native_dtype, to_host
from orfit_bench.spec.backend import Array, Backend
from orfit_bench.spec.kernel import Kernel
from orfit_bench.spec.model import LINEAR, Model
from orfit_bench.state.layout import StateLayout
from orfit_bench.state.pending import PendingRows
from orfit_bench.state.state import Label, LearnerState, Sizes

StepInputs = Mapping[str, Any]
"""Further inputs of rows: dynamics of a filter by name, or factors that follow from the weights of rows."""
CHECKED_THERE = 2**21
"""Size of an array above which a device checks that all numbers are finite in less time than the host."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Configuration:
    """A method with its settings on a backend, in a dtype, with a model and a seed.

    It makes the state before the first row, predicts from a state, and prepares the parameters of kernels.
    """

    method: Method
    settings: Mapping[str, Any]
    backend: Backend
    kernel: Kernel
    dtype: np.dtype[Any]
    random_state: int = 0
    model: Model = LINEAR
    initial_weights: Array | None = None

    @ComputedOnce
    def namespace(self) -> Any:
        """The backend's array functions."""
        return self.backend.namespace()

    @ComputedOnce
    def on_host(self) -> bool:
        """Whether the backend computes with NumPy's arrays, so that rows go to the kernel as they are."""
        return self.namespace is np

    @ComputedOnce
    def allows_gaps(self) -> bool:
        """Whether NaN in the targets is a missing value."""
        return self.method.traits.gaps

    @ComputedOnce
    def is_linear(self) -> bool:
        """Whether the model is the linear one."""
        return self.model is LINEAR

    @ComputedOnce
    def batch_size(self) -> int:
        """Rows of a step."""
        return int(self.settings.get("batch_size", 1))

    @ComputedOnce
    def kernel_checks_rows(self) -> bool:
        """Whether the kernel itself checks that rows are finite."""
        return self.is_linear and self.batch_size == 1 and bool(getattr(self.kernel, "CHECKS_ROWS", False))

    def empty(self, shape: tuple[int, ...]) -> Array:
        """A new array on the backend in the learner's dtype."""
        return self.namespace.empty(shape, dtype=native_dtype(self.namespace, self.dtype))

    def place(self, a: Array) -> Array:
        """The array on the backend; it is returned unchanged if it is already there."""
        return a if self.on_host or isinstance(a, array_type(self.namespace)) else self.backend.asarray(a)

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

    # ------------------------------------------------------------------ the state before the first row

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


class _Draws:
    """The function draw(shape) for initial values; its generator is made at the first call, and all calls share it."""

    def __init__(self, random_state: int) -> None:
        self._random_state = random_state
        self._generator: np.random.Generator | None = None

    def __call__(self, shape: Any) -> Any:
        if self._generator is None:
            self._generator = generator(self._random_state, 0)
        return self._generator.standard_normal(shape)
