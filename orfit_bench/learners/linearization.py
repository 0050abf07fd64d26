"""Linearization of nonlinear models: the kernel gets one block of gradients and errors per step."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from orfit_bench.errors import with_place
from orfit_bench.learners import layers
from orfit_bench.learners.conversion import NUMBERS
from orfit_bench.learners.unchanged_arguments import FirstCalls
from orfit_bench.spec import Method, Settings
from orfit_bench.spec.arrays import cast, contiguous, copy_of, host_dtype, native_dtype, to_host
from orfit_bench.spec.backend import Array
from orfit_bench.spec.kernel import Kernel, Params, State
from orfit_bench.spec.model import Model


def is_applied(applied: object, function: Callable[..., Any]) -> bool:
    """Whether a function of a kernel applied a step; TypeError if it returned None."""
    if applied is None:
        raise TypeError(
            f"{with_place(function)} returned None, want True (applied) or False (not finite, state untouched)"
        )
    return bool(applied)


def rows_learned(learned: object, learn: Callable[..., Any]) -> int:
    """The number of rows that `learn` of a kernel returned; TypeError if it is not an integer, or a boolean."""
    is_boolean = isinstance(learned, (bool, np.bool_))
    if not is_boolean:
        with suppress(TypeError):
            return operator.index(learned)  # type: ignore[arg-type]  # which raises TypeError
    got = str(learned) if is_boolean or learned is None else type(learned).__name__
    raise TypeError(f"{with_place(learn)} returned {got}, want the number of rows learned, an integer")


def check_result(value: Any, what: str, shape: tuple[int, ...]) -> Array:
    """The result of a user's function as a plain array; ValueError if it has another kind or shape, or is masked."""
    if type(value) is not np.ndarray and isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray):
            raise ValueError(
                f"{what} returned a masked array, want plain numbers of shape {shape}: fill what is masked"
            )
        value = np.asarray(value)  # a product of np.matrix is another one than that of arrays
    is_array = hasattr(value, "dtype") and getattr(value, "shape", None) == shape
    if not is_array or host_dtype(value).kind not in NUMBERS:
        got = f"shape {value.shape}, dtype {value.dtype}" if hasattr(value, "dtype") else type(value).__name__
        raise ValueError(f"{what} returned {got}, want real numbers of shape {shape}")
    array: Array = value
    return array


def check_predictions(found: Any, predict: Callable[..., Any], shape: tuple[int, ...]) -> Array:
    """The result of `predict` of a method; ValueError, which names it, if the shape is wrong or it holds no numbers."""
    if getattr(found, "shape", None) != shape:
        got = f"shape {tuple(found.shape)}" if hasattr(found, "shape") else type(found).__name__
        raise ValueError(f"{with_place(predict)} returned {got}, want predictions of shape {shape}")
    if isinstance(found, np.ndarray) and found.dtype.kind not in "biufc":
        raise ValueError(f"{with_place(predict)} returned an array of dtype {found.dtype}, want numbers")
    array: Array = found
    return array


def check_array(value: Any, what: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """The result of a user's function as a new array in the learner's dtype; ValueError as `check_result`."""
    array = check_result(value, what, shape)
    return cast(array, dtype)  # a copy: the function may return the same array again, filled anew


def _is_finite(a: Array, xp: ModuleType) -> bool:
    """Whether all entries are finite; in host memory by their sum, without a temporary, unless it overflows.

    For 10,000 entries, a product of BLAS would use two threads, which wait for each other if another program runs.
    """
    if type(a) is np.ndarray:
        with np.errstate(all="ignore"):
            if math.isfinite(a.sum()):
                return True
    return bool(xp.all(xp.isfinite(a)))


def _are_finite(arrays: Sequence[Array], xp: ModuleType) -> bool:
    """Whether all entries of arrays are finite. It waits for a device only once."""
    if len(arrays) < 2 or type(arrays[0]) is np.ndarray:
        return all(_is_finite(a, xp) for a in arrays)
    return bool(xp.all(xp.stack([xp.all(xp.isfinite(a)) for a in arrays])))


def prediction_weights(method: Method, s: State, settings: Settings) -> Array:
    """The weights (p, r) that predictions use, which can differ from those at which gradients are taken."""
    choose = method.state.prediction_weights
    return choose(s, settings) if choose else getattr(s, method.state.weights)


class VjpSteps:
    """Steps that get the sum of the gradients of a model from its `vjp`, without its Jacobian."""

    def __init__(self, model: Model, kernel: Kernel, dtype: np.dtype[Any], first: FirstCalls) -> None:
        self._model, self._kernel, self._dtype, self._first = model, kernel, dtype, first
        self._proven = False  # whether it was seen to agree with the Jacobian

    def step(self, s: State, w: Array, x: Array, E: Array, p: Params) -> bool:
        """One step of the rows x with errors E at w (p, 1); False if it would not be finite."""
        assert self._model.vjp is not None
        xp, what = x.__array_namespace__(), "vjp(w, X, E)"
        S = xp.reshape(self._kernel.slopes(s, E, p), (x.shape[0], -1))
        g = self._first.call(what, self._model.vjp, w[:, 0], x, S)
        g = check_result(g, f"model {self._model.name!r}: {what}", (w.shape[0],))
        g = contiguous(xp.astype(g, native_dtype(xp, self._dtype), copy=False), xp)  # compiled kernels accept no other
        if not _is_finite(g, xp):
            return False
        if not self._proven:  # until a row shows it, which nearly always is the first
            self._proven = self._agrees(w, x, S, g, xp)
        return is_applied(self._kernel.move(s, g[:, None], p), self._kernel.move)

    def _agrees(self, w: Array, x: Array, S: Array, g: Array, xp: ModuleType) -> bool:
        """Whether g equals the sum by the Jacobian, which is finite and not zero; ValueError if it differs."""
        J = partial(self._first.call, "jacobian(w, x)", self._model.jacobian, w[:, 0])
        want = sum(J(x[i, :]).T @ S[i, :] for i in range(x.shape[0]))
        if not (_is_finite(want, xp) and _is_finite(x * x, xp)):  # huge inputs: what overflows depends on the order
            return False
        size, cut = float(xp.max(xp.abs(want))), self._first.tolerance("vjp(w, X, E)", "jacobian(w, x)")
        if not float(xp.max(xp.abs(g - want))) <= cut * size:
            raise ValueError(
                f"model {self._model.name!r}: vjp(w, X, E) and jacobian(w, x) do not agree: want the sum of "
                f"jacobian(w, x).T @ s over the rows"
            )
        return size > 0


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
        self._proven = False  # whether its gradients and layers were seen to agree
        self._is_alike = False  # whether its two functions for Jacobians were, too
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
                if not (_is_finite(E, xp) and self._vjp.step(s, w, x, E, here)):
                    return i
                continue
            J = space = self.jacobian(w, x, space)
            if p.row_scale is not None:
                scale = self._xp.repeat(p.row_scale[i : i + B, ...], self._outputs, axis=0)
                E, J = scale * E, scale * J
            inputs = self._inputs(w, x) if self._shapes else ()
            if not _are_finite((E, J, *inputs), xp):
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
        if not _are_finite(inputs if fresh is None else (fresh,), xp):
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
        if not self._is_alike:
            one = self.jacobian(w, x[:1, ...])
            off, size = (float(xp.max(xp.abs(a))) for a in (J[0, ...] - one, one))
            if off > self._first.tolerance(what, "jacobian(w, x)") * size:
                raise ValueError(f"model {self._model.name!r}: {what} and jacobian(w, x) do not agree in the first row")
            self._is_alike = size > 0
        return contiguous(xp.reshape(J, (-1, w.shape[0])), xp)

    def _with_more(self, p: Params, y: Array, J: Array, inputs: tuple[Array, ...]) -> Any:
        """p with the further arguments that the method declares."""
        if self._method.kernel.needs_targets:
            p = p._replace(targets=self._xp.reshape(y, (-1, 1)))
        if self._shapes:
            p = p._replace(shapes=self._shapes, inputs=inputs)
            if not self._proven:  # until a row shows it for every layer, which nearly always is the first
                cut = self._first.tolerance("layers(w, x)", "jacobian(w, x)")
                row = [to_host(a[0, :]) for a in inputs]
                self._proven = layers.check(self._model, to_host(J[: self._outputs, :]), self._shapes, row, cut)
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
