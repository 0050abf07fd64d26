"""Linearization of nonlinear models: the kernel gets one block of gradients and errors per step."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from orfit_bench.learners import layers
from orfit_bench.learners.finite import are_finite, is_finite
from orfit_bench.learners.function_results import check_array, check_result, is_applied
from orfit_bench.learners.unchanged_arguments import FirstCalls
from orfit_bench.learners.vjp_steps import VjpSteps
from orfit_bench.spec import Method, Settings
from orfit_bench.spec.arrays import contiguous, copy_of, native_dtype, row_blocks, to_host
from orfit_bench.spec.backend import Array
from orfit_bench.spec.kernel import Kernel
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench.spec.model import Model


def prediction_weights(method: Method, s: State, settings: Settings) -> Array:
    """The weights (p, r) that predictions use, which can differ from those at which gradients are taken."""
    choose = method.state.prediction_weights
    return choose(s, settings) if choose else getattr(s, method.state.weights)


GRADIENTS = 2**20
"""Largest number of entries of gradients that are held in memory for predictions."""


def blocks_of_rows(X: Array, outputs: int, w: Array) -> list[Array]:
    """The rows in blocks whose gradients, of each output by the weights w (p, 1), have at most `GRADIENTS` entries."""
    return row_blocks(X, outputs * w.shape[0], GRADIENTS)


class LinearizedKernel:
    """A kernel with `learn` and `step` for a nonlinear model, based on the `update` of the method's kernel."""

    def __init__(
        self,
        method: Method,
        settings: Settings,
        model: Model,
        kernel: Kernel,
        sizes: tuple[int, int],
        dtype: np.dtype[Any],
        xp: ModuleType,
    ) -> None:
        """`sizes` are features d and outputs c."""
        self._method, self._settings, self._model, self._kernel = method, settings, model, kernel
        self._outputs, self._dtype, self._xp = sizes[1], dtype, xp
        self._shapes = layers.shapes(model, *sizes) if method.state.layered else ()
        self._layers_agree = False  # whether a row has shown that `layers` agrees with `jacobian`
        self._jacobians_agree = False  # whether a row has shown that `jacobians` agrees with `jacobian`
        has_vjp = model.vjp is not None and hasattr(kernel, "slopes")
        self._first = FirstCalls(model.name, xp, dtype)
        self._vjp = VjpSteps(model, kernel, dtype, self._first) if has_vjp else None

    def learn(self, s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
        """Hand the kernel gradients (q, p) and errors (q, 1) of each step, q = rows x outputs."""
        B, xp, method = p.batch_size, self._xp, self._method
        space = None  # for the gradients: allocating a large array in each step takes longer than filling it
        for i in range(0, X.shape[0], B):
            x, y, here = X[i : i + B, ...], Y[i : i + B, ...], p.at(i // B)
            w = self._kernel.ahead(s, here) if method.kernel.lookahead else getattr(s, method.state.weights)
            f = self.predict(w, x)
            if out is not None:
                out[i : i + B, ...] = (
                    f if w is (shown := prediction_weights(method, s, self._settings)) else self.predict(shown, x)
                )
            E = xp.reshape(y - f, (-1, 1))
            if self._vjp and p.row_scale is None:
                here = here._replace(targets=xp.reshape(y, (-1, 1))) if method.kernel.needs_targets else here
                if not (is_finite(E, xp) and self._vjp.step(s, w, x, E, here)):
                    return i
                continue
            J = space = self.jacobian(w, x, space)
            if p.row_scale is not None:
                scale = self._xp.repeat(p.row_scale[i : i + B, ...], self._outputs, axis=0)
                E, J = scale * E, scale * J
            inputs = self._inputs(w, x) if self._shapes else ()
            if not are_finite((E, J, *inputs), xp):
                return i
            here = self._with_more(here, y, J, inputs)
            apply = self._apply_and_store if method.kernel.needs_post_step_gradients else self._apply
            if not apply(s, x, J, E, here):
                return i
        return int(X.shape[0])

    def _apply(self, s: State, x: Array, J: Array, E: Array, p: Params) -> bool:
        return is_applied(self._kernel.update(s, J, E, p), self._kernel.update)

    def _apply_and_store(self, s: State, x: Array, J: Array, E: Array, p: Params) -> bool:
        """Apply a step and store the gradients after it; if these are not finite, undo the step."""
        w, xp = getattr(s, self._method.state.weights), self._xp
        before = copy_of(w, xp)
        if not self._apply(s, x, J, E, p):
            return False
        inputs = self._inputs(w, x) if self._shapes else ()
        fresh = None if self._shapes else self.jacobian(w, x)
        if not are_finite(inputs if fresh is None else (fresh,), xp):
            w[...] = before
            return False
        self._kernel.store(s, fresh, p._replace(inputs=inputs) if self._shapes else p)
        return True

    def step(self, s: State, A: Array, Y: Array, p: Params) -> bool:
        """Learn all rows of A as one block."""
        return self.learn(s, A, Y, p, None) == int(A.shape[0])

    def predict(self, w: Array, X: Array) -> Array:
        """The model's predictions (n, c) at w (p, 1)."""
        if not self._outputs:  # of a learner of labels, before the first
            return self._xp.empty((X.shape[0], 0), dtype=native_dtype(self._xp, self._dtype))
        what = "predict(w, X)"
        found = self._first.call(what, self._model.predict, w[:, 0], X)
        return self._checked(found, what, (X.shape[0], self._outputs))

    def jacobian(self, w: Array, x: Array, space: Array | None = None) -> Array:
        """The model's gradients (q, p) at w (p, 1) for the rows of x; written to `space` if it has their shape."""
        if self._model.jacobians is not None and x.shape[0] > 1:
            return self._several_jacobians(self._model.jacobians, w, x)
        want, what = (self._outputs, w.shape[0]), "jacobian(w, x)"
        named, find = f"model {self._model.name!r}: {what}", self._model.jacobian
        blocks = (check_result(self._first.call(what, find, w[:, 0], x[i, :]), named, want) for i in range(x.shape[0]))
        if w.__class__ is np.ndarray:  # one copy of each block, which may be the largest array of all
            shape = (x.shape[0] * self._outputs, w.shape[0])
            J = space if space is not None and space.shape == shape else np.empty(shape, self._dtype)
            for i, block in enumerate(blocks):
                J[i * self._outputs : (i + 1) * self._outputs] = block
            return J
        xp, dtype = self._xp, native_dtype(self._xp, self._dtype)
        return contiguous(xp.concat([xp.astype(block, dtype, copy=True) for block in blocks]), xp)

    def _several_jacobians(self, find: Callable[[Array, Array], Array], w: Array, x: Array) -> Array:
        """The gradients by the model's `jacobians`; ValueError if they differ from its `jacobian` in the first row."""
        xp, what, shape = self._xp, "jacobians(w, X)", (x.shape[0], self._outputs, w.shape[0])
        found = check_result(self._first.call(what, find, w[:, 0], x), f"model {self._model.name!r}: {what}", shape)
        J = xp.astype(found, native_dtype(xp, self._dtype), copy=False)  # used in this step only
        if not self._jacobians_agree:
            one = self.jacobian(w, x[:1, ...])
            off, size = (float(xp.max(xp.abs(a))) for a in (J[0, ...] - one, one))
            if off > self._first.tolerance(what, "jacobian(w, x)") * size:
                raise ValueError(f"model {self._model.name!r}: {what} and jacobian(w, x) do not agree in the first row")
            self._jacobians_agree = size > 0
        return contiguous(xp.reshape(J, (-1, w.shape[0])), xp)

    def _with_more(self, p: Params, y: Array, J: Array, inputs: tuple[Array, ...]) -> Any:
        """p with the further arguments that the method declares."""
        if self._method.kernel.needs_targets:
            p = p._replace(targets=self._xp.reshape(y, (-1, 1)))
        if self._shapes:
            p = p._replace(shapes=self._shapes, inputs=inputs)
            if not self._layers_agree:  # until a row shows it for every layer, which nearly always is the first
                cut = self._first.tolerance("layers(w, x)", "jacobian(w, x)")
                row = [to_host(a[0, :]) for a in inputs]
                self._layers_agree = layers.check(self._model, to_host(J[: self._outputs, :]), self._shapes, row, cut)
        return p

    def _inputs(self, w: Array, x: Array) -> tuple[Array, ...]:
        """The inputs of each layer (rows, inputs)."""
        find = partial(layers.inputs, self._model, layers=len(self._shapes))
        rows = [self._first.call("layers(w, x)", find, w[:, 0], x[i, :]) for i in range(x.shape[0])]
        checked = [
            [self._checked(found[k], f"layers(w, x)[{k}]", (n,)) for found in rows]
            for k, (n, _) in enumerate(self._shapes)
        ]
        return tuple(parts[0][None, ...] if len(parts) == 1 else self._xp.stack(parts) for parts in checked)

    def _checked(self, value: object, what: str, shape: tuple[int, ...]) -> Array:
        return check_array(value, f"model {self._model.name!r}: {what}", shape, self._dtype)
