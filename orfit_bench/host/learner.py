"""The learner: a method, its settings, a backend and a state."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.errors import AccuracyWarning, DivergedError
from orfit_bench.host import inputs, snapshot
from orfit_bench.host.params import ParameterMaker, generator
from orfit_bench.host.record import Layout
from orfit_bench.spec.backend import Array, Backend
from orfit_bench.spec.method import Method
from orfit_bench.spec.model import LINEAR, Model

if TYPE_CHECKING:
    from os import PathLike

    import xarray


class Learner:
    """Learns a stream of rows X (n, d) with targets y (n,) or (n, c), cut into chunks in any way.

    Made by `orfit_bench.create`. All that decides how it goes on is in its state.
    """

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
        self._batch_size: int = settings.get("batch_size", 1)
        self._steps = 0  # steps done; the next one is number _steps + 1
        self._seen = 0
        self._features: int | None = None
        self._outputs: int | None = None
        self._vector = True
        self._warned = False
        self._s: Any = None
        self._pending: tuple[Array, Array]
        self._layout_: Layout

    # ------------------------------------------------------------------ what users call

    def partial_fit(self, X: Any, y: Any) -> Learner:
        """Learn the rows of X (n, d) with targets y (n,) or (n, c) in order; n may be 0 or 1. Returns self.

        Raises TypeError or ValueError for input that is no finite number or does not fit the earlier rows (the
        learner is then as before), DivergedError where a step would leave the finite numbers.
        """
        self._learn(X, y, predict=False)
        return self

    def prequential(self, X: Any, y: Any) -> Array:
        """Learn the rows as `partial_fit` does; returns for each what `predict` would have said before its step."""
        return self._shaped(self._learn(X, y, predict=True))

    def predict(self, X: Any) -> Array:
        """Predictions for X (n, d): (n,) or (n, c), the shape of y. Changes nothing; ignores rows that wait."""
        if self._features is None:
            raise ValueError(
                f"{self.method.name} has seen no chunk yet: call partial_fit first (a chunk of no rows will do)"
            )
        X = inputs.matrix(X, "X", self.dtype, self.backend, self._features)
        return self._shaped(self._predict(X))

    def step(self, A: Any, y: Any) -> Learner:
        """Learn the rows of A (M, d), M >= 1, as one step whatever batch_size is. Returns self.

        TypeError where the method has no block rule, ValueError while rows wait (call `flush` first).
        """
        if not self.method.blocks:
            raise TypeError(f"{self.method.name} learns row by row and has no rule for a block: use partial_fit")
        if self.pending:
            raise ValueError(
                f"{self.pending} rows wait for a full batch of {self._batch_size}: call flush() before step()"
            )
        X, Y, vector = self._checked(A, y)
        if not len(X):
            raise ValueError("A: got no rows, want at least one")
        self._begin(X, Y, vector, is_step=True)
        self._advance(X, Y, len(X), None)
        self._seen += len(X)
        return self

    def flush(self) -> Learner:
        """Learn the rows that wait for a full batch as one shorter step. Returns self."""
        if self.pending:
            X, Y = self._pending
            self._advance(X, Y, len(X), None)
            self._pending = self._empty()
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of features d, once a chunk was seen."""
        if self._features is None:
            raise AttributeError("n_features_in_ is known after the first call of partial_fit")
        return self._features

    @property
    def n_samples_seen_(self) -> int:
        """Rows taken in, those that wait included."""
        return self._seen

    @property
    def pending(self) -> int:
        """Rows that wait for a full batch."""
        return 0 if self._features is None else len(self._pending[0])

    @property
    def state_bytes(self) -> int:
        """Bytes of the state's arrays as they are used."""
        return 0 if self._features is None else sum(a.nbytes for a in snapshot.arrays(self).values())

    def state(self) -> xarray.Dataset:
        """A copy of the state in host memory, with named dimensions; settings and versions in attrs."""
        return snapshot.to_dataset(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the state to an .npz file with a JSON header; the file is replaced whole or not at all."""
        snapshot.save(self, path)

    def copy(self) -> Learner:
        """An independent learner in the same state."""
        return snapshot.rebuild(self, snapshot.header(self), snapshot.arrays(self))

    def __repr__(self) -> str:
        settings = "".join(f", {k}={v!r}" for k, v in self.settings.items())
        return f"<{self.method.name}{settings}; {self.backend.name}, {self.dtype}, {self._seen} rows seen>"

    # ------------------------------------------------------------------ how a chunk is learned

    def _checked(self, X: Any, y: Any) -> tuple[Array, Array, bool]:
        X = inputs.matrix(X, "X", self.dtype, self.backend, self._features)
        Y, vector = inputs.targets(y, len(X), self.dtype, self.backend, self._outputs, self._vector)
        return X, Y, vector

    def _learn(self, X: Any, y: Any, predict: bool) -> Array | None:
        X, Y, vector = self._checked(X, y)
        self._begin(X, Y, vector, is_step=False)
        rows = len(X)
        out = self.backend.namespace().empty(Y.shape, self.dtype) if predict else None
        if self._batch_size == 1:
            if rows:
                self._advance(X, Y, 1, out)
            self._seen += rows
            return out
        return self._learn_batches(X, Y, out)

    def _learn_batches(self, X: Array, Y: Array, out: Array | None) -> Array | None:
        """Learn whole batches of what waits and what came; keep the rest waiting."""
        xp, waiting = self.backend.namespace(), self.pending
        old_X, old_Y = self._pending
        X, Y = xp.concatenate([old_X, X]), xp.concatenate([old_Y, Y])
        whole = len(X) // self._batch_size * self._batch_size
        every = None if out is None else xp.empty(Y.shape, self.dtype)
        if whole:
            self._seen -= waiting  # counted again with their step
            self._pending = self._empty()
            self._advance(X[:whole], Y[:whole], self._batch_size, None if every is None else every[:whole])
            self._seen += whole
        self._pending = X[whole:].copy(), Y[whole:].copy()
        self._seen += len(X) - max(whole, waiting)
        if every is None:
            return None
        every[whole:] = self._predict(X[whole:])  # their step is the next one, so the weights will be these
        return every[waiting:]

    def _begin(self, X: Array, Y: Array, vector: bool, is_step: bool) -> None:
        """On the first chunk: fix the dimensions and draw the start. Raises before anything changes."""
        if self.method.admit and (is_step or len(X)):
            self.method.admit(self.settings, self._steps, X, is_step)
        if self._features is not None:
            return
        d, c = X.shape[1], Y.shape[1]
        layout, given = self._layout(d, c), {}
        if any(f.name == "w" for f in layout.fields):
            given["w"] = self._first_weights(d, c, layout.shape(("parameter", "output")))
        self._s = layout.start(given)
        self._place(layout, d, c, vector)
        self._pending = self._empty()

    def _layout(self, d: int, c: int) -> Layout:
        p, r = (d, c) if self._linear else (self.model.size(d, c), 1)
        sizes = {"feature": d, "parameter": p, "output": r, "gradients": 1 if self._linear else c}
        return Layout(self.method, dict(self.settings), sizes, self.backend, self.dtype)

    def _place(self, layout: Layout, d: int, c: int, vector: bool) -> None:
        self._layout_, self._features, self._outputs, self._vector = layout, d, c, vector

    def _first_weights(self, d: int, c: int, shape: tuple[int, ...]) -> Any:
        if self.initial_weights is not None:
            w = inputs._convert(self.initial_weights, "initial_weights", self.dtype)
            inputs.check_finite(w, "initial_weights")
            if w.shape not in (shape, shape[:1] if shape[1] == 1 else shape):
                raise ValueError(f"initial_weights: got shape {w.shape}, want {shape}")
            return w.reshape(shape)
        draw = generator(self.random_state, 0).standard_normal
        start = self.model.start(draw, d, c)
        if start is None and not self._linear:
            raise ValueError(f"model {self.model.name!r} draws no start: pass initial_weights of shape {shape}")
        return None if start is None else np.asarray(start).reshape(shape)

    def _empty(self) -> tuple[Array, Array]:
        xp = self.backend.namespace()
        return xp.empty((0, self._features), self.dtype), xp.empty((0, self._outputs), self.dtype)

    def _advance(self, X: Array, Y: Array, batch_size: int, out: Array | None) -> None:
        """Learn X in steps of batch_size rows, len(X) a multiple of it."""
        sizes, steps = self._layout_.sizes, len(X) // batch_size
        gradients = batch_size * sizes["gradients"]
        self._s = self._layout_.with_room(self._s, steps * gradients)
        p = self._parameters(self._steps + 1, steps, batch_size, gradients)
        with np.errstate(all="ignore"):  # kernels answer with False instead
            learn = self._kernel.learn if self._linear else self._learn_model
            learned: int = learn(self._s, X, Y, p, out)
        self._steps += learned // batch_size
        self._after(learned, len(X))

    def _learn_model(self, s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
        """Hand the kernel one linearised block a step: gradients (q, p) and errors (q, 1), q = rows x outputs."""
        B, model, kernel = p.batch_size, self.model, self._kernel
        for i in range(len(X) // B):
            x, here = X[i * B : (i + 1) * B], p.at(i)
            w = s.w[:, 0]
            f = model.predict(w, x)
            if out is not None:
                out[i * B : (i + 1) * B] = f
            E = (Y[i * B : (i + 1) * B] - f).reshape(-1, 1)
            if not kernel.update(s, self._jacobian(x), E, here):
                return int(i * B)
            if self.method.fresh:
                kernel.store(s, self._jacobian(x), here)
        return len(X)

    def _jacobian(self, x: Array) -> Array:
        xp = self.backend.namespace()
        blocks = [self.model.jacobian(self._s.w[:, 0], row) for row in x]
        return xp.ascontiguousarray(xp.concatenate(blocks), dtype=self.dtype)

    def _after(self, learned: int, wanted: int) -> None:
        if self.method.warns and not self._warned and hasattr(self._s, self.method.warns[0]):
            self._warned = bool(getattr(self._s, self.method.warns[0]))
            if self._warned:
                warnings.warn(f"{self.method.name}: {self.method.warns[1]}", AccuracyWarning, stacklevel=5)
        if learned < wanted:
            self._seen += learned
            raise DivergedError(
                f"{self.method.name} diverged at step {self._steps + 1}, row {learned} of this call: it would not "
                f"be finite or lost its sign, so it was not applied; the state before it is kept. Scale the data, or "
                f"choose settings that move less ({', '.join(self.settings) or 'this method has none'})",
                self._steps + 1,
                learned,
            )

    def _predict(self, X: Array) -> Array:
        if self.method.predict:
            return self.method.predict(self._s, X)
        w = self._s.w if self._linear else self._s.w[:, 0]
        return self.model.predict(w, X)

    def _shaped(self, predictions: Array) -> Array:
        return predictions[:, 0] if self._vector else predictions
