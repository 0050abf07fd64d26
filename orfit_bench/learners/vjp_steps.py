"""Steps of a nonlinear model that need the sum of the gradients of its rows, not each of them."""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from orfit_bench.learners.finite import is_finite
from orfit_bench.learners.function_results import check_result, is_applied
from orfit_bench.learners.unchanged_arguments import FirstCalls
from orfit_bench.spec.arrays import contiguous, native_dtype
from orfit_bench.spec.backend import Array
from orfit_bench.spec.kernel import Kernel
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench.spec.model import Model

CHECKS = 20
"""The largest number of steps for which `vjp` is compared with the Jacobian; nearly always one is enough."""


class VjpSteps:
    """Steps that get the sum of the gradients of a model from its `vjp`, without its Jacobian."""

    def __init__(self, model: Model, kernel: Kernel, dtype: np.dtype[Any], first: FirstCalls) -> None:
        self._model, self._kernel, self._dtype, self._first = model, kernel, dtype, first
        self._checks = CHECKS  # steps that may still be compared with the Jacobian; 0 once one has shown agreement

    def step(self, s: State, w: Array, x: Array, E: Array, p: Params) -> bool:
        """One step of the rows x with errors E at w (p, 1); False if it would not be finite."""
        assert self._model.vjp is not None
        xp, what = x.__array_namespace__(), "vjp(w, X, E)"
        S = xp.reshape(self._kernel.slopes(s, E, p), (x.shape[0], -1))
        g = self._first.call(what, self._model.vjp, w[:, 0], x, S)
        g = check_result(g, f"model {self._model.name!r}: {what}", (w.shape[0],))
        g = contiguous(xp.astype(g, native_dtype(xp, self._dtype), copy=False), xp)  # compiled kernels accept no other
        if not is_finite(g, xp):
            return False
        if self._checks and bool(xp.any(S != 0)):
            self._checks = 0 if self._agrees(w, x, S, g, xp) else self._checks - 1
        return is_applied(self._kernel.move(s, g[:, None], p), self._kernel.move)

    def _agrees(self, w: Array, x: Array, S: Array, g: Array, xp: ModuleType) -> bool:
        """Whether g has been shown to equal the sum by the Jacobian; ValueError if it differs.

        Nothing is shown if a number overflows, or if the terms of the sum cancel, as at a minimum of the loss.
        """
        J = partial(self._first.call, "jacobian(w, x)", self._model.jacobian, w[:, 0])
        want, terms = xp.zeros_like(g), xp.zeros_like(g)
        for i in range(x.shape[0]):
            gradients = J(x[i, :]).T
            want, terms = want + gradients @ S[i, :], terms + xp.abs(gradients) @ xp.abs(S[i, :])
        if not (is_finite(terms, xp) and is_finite(x * x, xp)):  # huge inputs: what overflows depends on the order
            return False
        size, cut = float(xp.max(terms)), self._first.tolerance("vjp(w, X, E)", "jacobian(w, x)")
        if not float(xp.max(xp.abs(g - want))) <= cut * size:
            raise ValueError(
                f"model {self._model.name!r}: vjp(w, X, E) and jacobian(w, x) do not agree: want the sum of "
                f"jacobian(w, x).T @ s over the rows"
            )
        return float(xp.max(xp.abs(want))) > cut * size
