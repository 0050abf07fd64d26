"""The ground a learner stands on: its parts, and what the first chunk of rows fixes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from orfit_bench.learners import layers, validation
from orfit_bench.learners.linearization import Linearised, answering
from orfit_bench.learners.parameters import ParameterMaker, generator
from orfit_bench.spec.backend import Array, Backend
from orfit_bench.spec.method import Draw, Method
from orfit_bench.spec.model import LINEAR, Model
from orfit_bench.state.layout import Layout
from orfit_bench.state.pending import Waiting


class Start:
    """Method, settings, backend and, from the first chunk on, the record s of the state's arrays."""

    def __init__(
        self,
        method: Method,
        settings: dict[str, Any],
        backend: Backend,
        kernel: Any,
        dtype: str = "float64",
        random_state: int = 0,
        model: Model = LINEAR,
        initial_weights: Any = None,
    ) -> None:
        self.method, self.backend, self.model = method, backend, model
        self.settings: Mapping[str, Any] = MappingProxyType(settings)
        self.dtype, self.random_state, self.initial_weights = np.dtype(dtype), random_state, initial_weights
        self._kernel = kernel
        self._parameters = ParameterMaker(method, settings, self.dtype, random_state)
        self._linear = model is LINEAR
        self._xp = backend.namespace()
        self._on_host = self._xp is np  # then rows go to the kernel as they are
        self._batch_size: int = settings.get("batch_size", 1)
        self._kernel_looks = self._linear and self._batch_size == 1 and getattr(kernel, "CHECKS_ROWS", False)
        self._steps = 0  # steps done; the next one is number _steps + 1
        self._seen = 0
        self._features: int | None = None
        self._outputs: int | None = None
        self._vector = True
        self._warned = False
        self._interrupted = ""  # what interrupted a kernel, after which the state cannot be trusted
        self._s: Any = None
        self._waiting: Waiting
        self._layout_: Layout
        self._learner: Any = None  # the kernel, or what stands between it and a nonlinear model

    @property
    def pending(self) -> int:
        """Rows that wait for a full batch."""
        return 0 if self._features is None else self._waiting.count

    def _begin(self, X: Array, Y: Array, vector: bool, is_step: bool) -> None:
        """On the first chunk: fix the dimensions and draw the start. Raises before anything changes."""
        if self.method.admit and (is_step or len(X)):
            self.method.admit(self.settings, self._steps, X, Y, is_step, self._linear)
        if self._features is not None:
            return
        d, c = X.shape[1], Y.shape[1]
        layout = self._layout(d, c)
        self._s = self._start(layout, d, c)
        self._place(layout, d, c, vector)

    def _start(self, layout: Layout, d: int, c: int) -> Any:
        """The record before the first row."""
        draw, given = generator(self.random_state, 0).standard_normal, {}  # one generator: each call draws anew
        if any(f.name == self.method.weights for f in layout.fields):
            shape = layout.shape(("parameter", "output"))
            given[self.method.weights] = self._first_weights(d, c, shape, draw)
        return layout.start(given, draw)

    def _layout(self, d: int, c: int) -> Layout:
        p, r = (d, c) if self._linear else (self.model.size(d, c), 1)
        counts = {name: value for name, value in self.settings.items() if type(value) is int}
        sizes = counts | {"feature": d, "parameter": p, "output": r, "gradients": 1 if self._linear else c}
        inputs = [n for n, _ in layers.shapes(self.model, d, c)] if self.method.layered else ()
        return Layout(self.method, dict(self.settings), sizes, self.backend, self.dtype, inputs)

    def _place(self, layout: Layout, d: int, c: int, vector: bool) -> None:
        self._layout_, self._features, self._outputs, self._vector = layout, d, c, vector
        empty = self._xp.empty((0, d), self.dtype)
        self._waiting = Waiting((empty, self._xp.empty((0, c), self.dtype)), self._xp)
        self._learner = self._walker((d, c), empty, self._xp)

    def _walker(self, sizes: tuple[int, int], like: Array, xp: Any) -> Any:
        """What takes rows to the kernel: on a linear model the kernel itself."""
        if self._linear:
            return self._kernel
        return Linearised(self.method, self.settings, self.model, self._kernel, sizes, like, xp)

    def _given_weights(self) -> tuple[str, Any]:
        """The start that the user asked for, and by what name."""
        return "initial_weights", self.initial_weights

    def _first_weights(self, d: int, c: int, shape: tuple[int, ...], draw: Draw) -> Any:
        name, w = self._given_weights()
        if w is None:
            w = self.model.start(draw, d, c)
            if w is None and not self._linear:
                raise ValueError(f"model {self.model.name!r} draws no start: pass {name} of shape {shape}")
            name = f"start of model {self.model.name!r}"
        if w is None:
            return None
        w = validation.numbers(w, name, self.dtype)
        if w.shape not in (shape, shape[:1] if shape[1] == 1 else shape):
            raise ValueError(f"{name}: got shape {w.shape}, want {shape}")
        return w.reshape(shape)

    def _predict(self, X: Array) -> Array:
        with np.errstate(all="ignore"):  # a prediction may be inf
            if self.method.predict:
                return self.method.predict(self._s, X, self.settings)
            w = self._answering()
            return X @ w if self._linear else self._learner.predict(w, X)

    def _answering(self) -> Array:
        """The weights (p, r) that predictions use."""
        return answering(self.method, self._s, self.settings)

    def _weights(self) -> Array:
        return getattr(self._s, self.method.weights)
