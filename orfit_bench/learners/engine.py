"""The engine of a learner: how a chunk of rows changes its state."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from orfit_bench.errors import AccuracyWarning, DivergedError
from orfit_bench.learners import validation
from orfit_bench.learners.linearization import answered
from orfit_bench.learners.start import Start
from orfit_bench.spec.backend import Array


class Engine(Start):
    """Cuts checked rows into steps and hands them to a kernel; knows what was learned and what waits."""

    _gaps = False  # whether NaN in y says that nothing was seen

    def _checked(self, X: Any, y: Any, name: str = "X", look: bool = True) -> tuple[Array, Array, bool]:
        X = validation.matrix(X, name, self.dtype, self._features, look, self._xp)
        Y, vector = validation.targets(y, name, len(X), self.dtype, self._outputs, self._vector, self._gaps, self._xp)
        return self._placed(X), self._placed(Y), vector

    def _placed(self, a: Array) -> Array:
        """An array on the backend: itself where it lies there."""
        return a if self._on_host or isinstance(a, self._xp.ndarray) else self.backend.asarray(a)

    def _learn(self, X: Any, y: Any, predict: bool) -> Array | None:
        X, Y, vector = self._checked(X, y, look=not self._kernel_looks)
        self._begin(X, Y, vector, is_step=False)
        if self._batch_size > 1:
            return self._learn_batches(X, Y, predict)
        out = self._xp.empty(Y.shape, self.dtype) if predict else None
        if len(X):
            self._advance(X, Y, 1, out)
        self._seen += len(X)
        return out

    def _learn_batches(self, X: Array, Y: Array, predict: bool) -> Array | None:
        """Learn whole batches of what waits and what came; keep the rest waiting."""
        waited, rows = self._waiting.count, len(X)
        if waited + rows < self._batch_size:
            self._waiting.add(X, Y)
            self._seen += rows
            return self._predict(X) if predict else None
        X, Y = self._waiting.joined(X, Y)
        whole = len(X) // self._batch_size * self._batch_size
        out = self._xp.empty(Y.shape, self.dtype) if predict else None
        self._advance(X[:whole], Y[:whole], self._batch_size, None if out is None else out[:whole])
        self._waiting.clear()
        self._waiting.add(X[whole:], Y[whole:])
        self._seen += rows
        if out is None:
            return None
        out[whole:] = self._predict(X[whole:])  # their step is the next one, so the weights will be these
        return out[waited:]

    def _learn_block(self, A: Any, y: Any) -> None:
        X, Y, vector = self._checked(A, y, "A")
        if not len(X):
            raise ValueError("A: got no rows, want at least one")
        self._begin(X, Y, vector, is_step=True)
        self._advance(X, Y, len(X), None, block=True)
        self._seen += len(X)

    def _learn_waiting(self) -> None:
        X, Y = self._waiting.joined()
        self._advance(X, Y, len(X), None, block=True)
        self._waiting.clear()

    def _parameters_of(self, steps: int, batch_size: int, gradients: int) -> Any:
        """The kernel's p for the next steps."""
        return self._parameters(self._steps + 1, steps, batch_size, gradients)

    def _advance(self, X: Array, Y: Array, batch_size: int, out: Array | None, block: bool = False) -> None:
        """Learn X in steps of batch_size rows, len(X) a multiple of it; or all of X as one block."""
        sizes, steps = self._layout_.sizes, len(X) // batch_size
        gradients = batch_size * sizes["gradients"]
        self._s = self._layout_.with_room(self._s, steps * gradients)
        with np.errstate(all="ignore"):  # kernels answer with False instead
            p = self._parameters_of(steps, batch_size, gradients)
            try:
                if block:
                    learned = len(X) if answered(self._learner.step(self._s, X, Y, p)) else 0
                else:
                    learned = int(self._learner.learn(self._s, X, Y, p, out))
            except BaseException as error:
                self._interrupted = type(error).__name__
                raise
        if learned < 0:
            validation.check_finite(X, "X")
            raise TypeError(f"the kernel's learn returned {learned}, but all of X is finite")
        self._steps += learned // batch_size
        if learned < len(X):
            self._diverged(learned)

    # ------------------------------------------------------------------ what may go wrong

    def _guarded(self, act: Callable[..., Any], *arguments: Any) -> Any:
        """What the act returns; where digits are being lost the user is told, whatever became of it."""
        try:
            result = self._attempted(act, *arguments)
        except DivergedError:
            self._warn_once()
            raise
        self._warn_once()
        return result

    def _attempted(self, act: Callable[..., Any], *arguments: Any) -> Any:
        """Undo the call where it fails, unless a kernel on a linear model failed half-way: then close the learner.

        Where functions of the user's may fail, the state is copied beforehand, which costs less than the first row.
        On a linear model this would double the price of a row, and only a broken kernel or Ctrl-C would ever need it.
        """
        self._check_usable()
        fresh, steps, seen = self._features is None, self._steps, self._seen
        kept = not fresh and self._foreign()
        before = (type(self._s)(*(a.copy() for a in self._s)), self._waiting.kept()) if kept else None
        try:
            return act(*arguments)
        except DivergedError:
            raise
        except BaseException:
            if fresh:
                self._s = self._features = self._outputs = None
                self._vector, self._interrupted = True, ""
            if before:
                (self._s, self._waiting), self._interrupted = before, ""
            self._steps, self._seen = steps, seen
            raise

    def _foreign(self) -> bool:
        """Whether functions of the user's run inside a step."""
        return not self._linear

    def _check_usable(self) -> None:
        if self._interrupted:
            raise RuntimeError(
                f"{self.method.name}: {self._interrupted} interrupted its kernel, so that its state may be half "
                f"written: go on from an earlier copy() or a saved state"
            )

    def _diverged(self, learned: int) -> None:
        """Drop the bad step's rows, also those that had waited for it since earlier calls, and say so."""
        waited = self.pending
        self._seen += learned - waited
        self._waiting.clear()
        row = max(0, learned - waited)
        raise DivergedError(
            f"{self.method.name} diverged at step {self._steps + 1}, row {row} of this call: the step would not be "
            f"finite, or its numbers have too few digits left, so it was not applied; the state before it is kept. "
            f"Scale the data, or choose other settings ({', '.join(self.settings) or 'this method has none'})",
            self._steps + 1,
            row,
        )

    def _warn_once(self) -> None:
        """Called last, since a user may have made this warning an error. The stack level is that of the user."""
        if self.method.warns and not self._warned and hasattr(self._s, self.method.warns[0]):
            self._warned = bool(getattr(self._s, self.method.warns[0]))
            if self._warned:
                warnings.warn(f"{self.method.name}: {self.method.warns[1]}", AccuracyWarning, stacklevel=4)
