"""The learner: a method, its settings, a backend and a state."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.errors import AccuracyWarning, DivergedError
from orfit_bench.host import inputs, snapshot
from orfit_bench.host.params import ParameterMaker, generator
from orfit_bench.host.record import Layout
from orfit_bench.spec.backend import Array, Backend
from orfit_bench.spec.method import Draw, Method
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
        self._interrupted = ""  # what interrupted a kernel, after which the state cannot be trusted
        self._s: Any = None
        self._pending: tuple[Array, Array]
        self._layout_: Layout

    # ------------------------------------------------------------------ what users call

    def partial_fit(self, X: Any, y: Any) -> Learner:
        """Learn the rows of X (n, d) with targets y (n,) or (n, c) in order; n may be 0 or 1. Returns self.

        Raises TypeError or ValueError for input that is no finite number or does not fit the earlier rows (the
        learner is then as before), DivergedError where a step would leave the finite numbers.
        """
        with self._call():
            self._learn(X, y, predict=False)
        return self

    def prequential(self, X: Any, y: Any) -> Array:
        """Learn the rows as `partial_fit` does; returns for each what `predict` would have said before its step."""
        with self._call():
            out = self._learn(X, y, predict=True)
        return self._shaped(out)

    def predict(self, X: Any) -> Array:
        """Predictions for X (n, d): (n,) or (n, c), the shape of y. Changes nothing; ignores rows that wait."""
        if self._features is None:
            raise ValueError(
                f"{self.method.name} has seen no chunk yet: call partial_fit first (a chunk of no rows will do)"
            )
        self._check_usable()
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
        with self._call():
            X, Y, vector = self._checked(A, y, "A")
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
            with self._call():
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

    def _checked(self, X: Any, y: Any, name: str = "X") -> tuple[Array, Array, bool]:
        X = inputs.matrix(X, name, self.dtype, self.backend, self._features)
        Y, vector = inputs.targets(y, name, len(X), self.dtype, self.backend, self._outputs, self._vector)
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
            self._advance(X[:whole], Y[:whole], self._batch_size, None if every is None else every[:whole])
        self._pending = X[whole:].copy(), Y[whole:].copy()
        self._seen += len(X) - waiting
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
        draw = generator(self.random_state, 0).standard_normal  # one generator, so that each call draws anew
        if any(f.name == "w" for f in layout.fields):
            given["w"] = self._first_weights(d, c, layout.shape(("parameter", "output")), draw)
        self._s = layout.start(given, draw)
        self._place(layout, d, c, vector)
        self._pending = self._empty()

    def _layout(self, d: int, c: int) -> Layout:
        p, r = (d, c) if self._linear else (self.model.size(d, c), 1)
        counts = {name: value for name, value in self.settings.items() if type(value) is int}
        sizes = counts | {"feature": d, "parameter": p, "output": r, "gradients": 1 if self._linear else c}
        return Layout(self.method, dict(self.settings), sizes, self.backend, self.dtype)

    def _place(self, layout: Layout, d: int, c: int, vector: bool) -> None:
        self._layout_, self._features, self._outputs, self._vector = layout, d, c, vector

    def _first_weights(self, d: int, c: int, shape: tuple[int, ...], draw: Draw) -> Any:
        name, w = "initial_weights", self.initial_weights
        if w is None:
            name, w = f"start of model {self.model.name!r}", self.model.start(draw, d, c)
        if w is None:
            if self._linear:
                return None
            raise ValueError(f"model {self.model.name!r} draws no start: pass initial_weights of shape {shape}")
        w = inputs.numbers(w, name, self.dtype)
        if w.shape not in (shape, shape[:1] if shape[1] == 1 else shape):
            raise ValueError(f"{name}: got shape {w.shape}, want {shape}")
        return w.reshape(shape)

    def _empty(self) -> tuple[Array, Array]:
        xp = self.backend.namespace()
        return xp.empty((0, self._features), self.dtype), xp.empty((0, self._outputs), self.dtype)

    def _advance(self, X: Array, Y: Array, batch_size: int, out: Array | None) -> None:
        """Learn X in steps of batch_size rows, len(X) a multiple of it."""
        sizes, steps = self._layout_.sizes, len(X) // batch_size
        gradients = batch_size * sizes["gradients"]
        self._s = self._layout_.with_room(self._s, steps * gradients)
        with np.errstate(all="ignore"):  # kernels answer with False instead
            p = self._parameters(self._steps + 1, steps, batch_size, gradients)
            learn = self._kernel.learn if self._linear else self._learn_model
            try:
                learned: int = learn(self._s, X, Y, p, out)
            except BaseException as error:
                self._interrupted = type(error).__name__
                raise
        self._steps += learned // batch_size
        if learned < len(X):
            self._diverged(learned)

    def _learn_model(self, s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
        """Hand the kernel one linearised block a step: gradients (q, p) and errors (q, 1), q = rows x outputs."""
        B, kernel, xp = p.batch_size, self._kernel, self.backend.namespace()
        for i in range(len(X) // B):
            x, here = X[i * B : (i + 1) * B], p.at(i)
            f, J = self._predict(x), self._jacobian(x)
            if out is not None:
                out[i * B : (i + 1) * B] = f
            E = (Y[i * B : (i + 1) * B] - f).reshape(-1, 1)
            if not (xp.isfinite(E).all() and xp.isfinite(J).all() and kernel.update(s, J, E, here)):
                return int(i * B)
            if self.method.fresh:
                kernel.store(s, self._jacobian(x), here)
        return len(X)

    def _jacobian(self, x: Array) -> Array:
        xp, w = self.backend.namespace(), self._s.w[:, 0]
        want = (self._outputs, len(w))
        blocks = [self._returned(self.model.jacobian(w, row), "jacobian(w, x)", want) for row in x]
        return xp.ascontiguousarray(xp.concatenate(blocks))

    def _predict(self, X: Array) -> Array:
        with np.errstate(all="ignore"):  # a prediction may be inf
            if self.method.predict:
                return self.method.predict(self._s, X, self.settings)
            if self._linear:
                return self.model.predict(self._s.w, X)
            return self._returned(self.model.predict(self._s.w[:, 0], X), "predict(w, X)", (len(X), self._outputs))

    def _returned(self, value: Any, what: str, shape: tuple[Any, ...]) -> Array:
        """What a model's function returned, in the learner's dtype; it is a user's code, so its shape is checked."""
        if getattr(value, "shape", None) != shape or value.dtype.kind not in inputs.NUMBERS:
            got = f"shape {value.shape}, dtype {value.dtype}" if hasattr(value, "dtype") else type(value).__name__
            raise ValueError(f"model {self.model.name!r}: {what} returned {got}, want real numbers of shape {shape}")
        return value.astype(self.dtype, copy=False)

    def _shaped(self, predictions: Array) -> Array:
        return predictions[:, 0] if self._vector else predictions

    # ------------------------------------------------------------------ what may go wrong

    @contextmanager
    def _call(self) -> Iterator[None]:
        """Undo the call where it fails, unless a kernel on a linear model failed half-way: then close the learner.

        The state of a nonlinear model is copied beforehand, which costs less than its first row. On a linear model
        this would double the price of a row, and only a broken kernel or Ctrl-C would ever need it.
        """
        self._check_usable()
        fresh, counts = self._features is None, (self._steps, self._seen)
        before = None if fresh or self._linear else (type(self._s)(*(a.copy() for a in self._s)), self._pending)
        try:
            yield
        except DivergedError:
            self._warn_once()
            raise
        except BaseException:
            if fresh:
                self._s = self._features = self._outputs = None
                self._vector, self._interrupted = True, ""
            if before:
                (self._s, self._pending), self._interrupted = before, ""
            self._steps, self._seen = counts
            raise
        self._warn_once()

    def _check_usable(self) -> None:
        if self._interrupted:
            raise RuntimeError(
                f"{self.method.name}: {self._interrupted} interrupted its kernel, so that its state may be half "
                f"written: go on from a copy() or a saved state"
            )

    def _diverged(self, learned: int) -> None:
        """Drop the bad step's rows, also those that had waited for it since earlier calls, and say so."""
        waited = self.pending
        self._seen += learned - waited
        self._pending = self._empty()
        row = max(0, learned - waited)
        raise DivergedError(
            f"{self.method.name} diverged at step {self._steps + 1}, row {row} of this call: it would not "
            f"be finite or lost its sign, so it was not applied; the state before it is kept. Scale the data, or "
            f"choose settings that move less ({', '.join(self.settings) or 'this method has none'})",
            self._steps + 1,
            row,
        )

    def _warn_once(self) -> None:
        """Called last, since a user may have made this warning an error. The stack level is that of the user."""
        if self.method.warns and not self._warned and hasattr(self._s, self.method.warns[0]):
            self._warned = bool(getattr(self._s, self.method.warns[0]))
            if self._warned:
                warnings.warn(f"{self.method.name}: {self.method.warns[1]}", AccuracyWarning, stacklevel=5)
