"""A method with its settings on a backend, the arrays of that backend, and the layout of its states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from orfit_bench.learners import layers
from orfit_bench.learners.computed_once import ComputedOnce
from orfit_bench.spec import Method
from orfit_bench.spec.arrays import array_type, native_dtype
from orfit_bench.spec.backend import Array, Backend
from orfit_bench.spec.kernel import Kernel
from orfit_bench.spec.model import LINEAR, Model
from orfit_bench.state.layout import StateLayout
from orfit_bench.state.state import Sizes


@dataclass(frozen=True, eq=False, kw_only=True)
class ConfiguredMethod:
    """A method with its settings on a backend, in a dtype, with a model and a seed."""

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
