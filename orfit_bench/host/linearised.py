"""A model's way to a kernel: one linearised block a step."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.host.inputs import NUMBERS
from orfit_bench.spec.backend import Array
from orfit_bench.spec.model import Model


def answered(applied: Any) -> bool:
    """What a kernel said of a step; TypeError where it said nothing."""
    if applied is None:
        raise TypeError("the kernel returned None, want True (applied) or False (not finite, state untouched)")
    return bool(applied)


class Linearised:
    """Does for a nonlinear model what a kernel's `learn` does for a linear one."""

    def __init__(self, model: Model, kernel: Any, fresh: bool, outputs: int, dtype: np.dtype[Any], xp: Any) -> None:
        self._model, self._kernel, self._fresh = model, kernel, fresh
        self._outputs, self._dtype, self._xp = outputs, dtype, xp

    def learn(self, s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
        """Hand the kernel gradients (q, p) and errors (q, 1) of each step, q = rows x outputs."""
        B, xp = p.batch_size, self._xp
        for i in range(0, len(X), B):
            x, here = X[i : i + B], p.at(i // B)
            f, J = self.predict(s, x), self._jacobian(s, x)
            if out is not None:
                out[i : i + B] = f
            E = (Y[i : i + B] - f).reshape(-1, 1)
            if not (xp.isfinite(E).all() and xp.isfinite(J).all() and answered(self._kernel.update(s, J, E, here))):
                return i
            if self._fresh:
                self._kernel.store(s, self._jacobian(s, x), here)
        return len(X)

    def step(self, s: Any, A: Array, Y: Array, p: Any) -> bool:
        """All rows of A as one block."""
        return self.learn(s, A, Y, p, None) == len(A)

    def predict(self, s: Any, X: Array) -> Array:
        """The model's predictions (n, c) at s.w."""
        return self._checked(self._model.predict(s.w[:, 0], X), "predict(w, X)", (len(X), self._outputs))

    def _jacobian(self, s: Any, x: Array) -> Array:
        w = s.w[:, 0]
        want = (self._outputs, len(w))
        blocks = [self._checked(self._model.jacobian(w, row), "jacobian(w, x)", want) for row in x]
        return self._xp.ascontiguousarray(self._xp.concatenate(blocks))

    def _checked(self, value: Any, what: str, shape: tuple[int, ...]) -> Array:
        """What the user's function returned, in the learner's dtype."""
        if getattr(value, "shape", None) != shape or value.dtype.kind not in NUMBERS:
            got = f"shape {value.shape}, dtype {value.dtype}" if hasattr(value, "dtype") else type(value).__name__
            raise ValueError(f"model {self._model.name!r}: {what} returned {got}, want real numbers of shape {shape}")
        return value.astype(self._dtype, copy=False)
