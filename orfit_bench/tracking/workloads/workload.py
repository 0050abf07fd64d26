"""Time, memory and exactness of a method on a backend."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from . import device
from .exactness import relative
from .names import QUICK_SIZE, Missing
from .rows import Array, rows, targets
from .times import Stopwatch, best_of, is_device, time_kernel

SETTINGS: dict[str, dict[str, Any]] = {
    **{method: {"memory": 16} for method in ("icl", "ogd", "orfit")},
    **{m: {"n_components": 8} for m in ("oja", "krasulina", "sanger", "implicit_krasulina", "incremental_pca")},
}
"""Settings of timed learners. Without a memory limit, a basis would be full after d rows and cost nothing."""
ROWS = {"numpy": 256}
MANY_ROWS, LAYERED_ROWS = 4096, 32
"""Rows per chunk, so that the overhead of the call is negligible; fewer for layered methods, which are slower."""
SMALL, LONG = (48, 6, 12), (600, 20, 600)
"""Rows, features and rows between recorded states of the streams of trajectories."""
RENAMED = {"digits_lost": "precision_lost"}
"""Fields of the state that have other names in earlier commits."""


class Workload:
    """A method on a backend with d features."""

    def __init__(self, method: str, backend: str, d: int = QUICK_SIZE) -> None:
        import orfit_bench as ob

        if method not in ob.methods() or backend not in ob.backends():
            raise Missing(f"{method} on {backend} is not in this commit")
        if not ob.backends()[backend].available:
            raise Missing(f"{backend}: {ob.backends()[backend].reason}")
        self.method, self.backend, self.d = method, backend, d
        self.on_device = is_device(ob.backends()[backend])
        self.declared = ob.methods()[method]
        self.kind: str = getattr(self.declared, "kind", "regression")  # the oldest commits have no other kind
        self.state = getattr(self.declared, "state", self.declared)  # earlier commits declare all on the method
        self.layered = bool(getattr(self.state, "layered", False))

    def create(self, **settings: Any) -> Any:
        """Create a learner."""
        import orfit_bench as ob

        if self.layered:
            settings = {"model": ob.MLP(hidden=(8,)), **settings}
        try:
            return ob.create(self.method, backend=self.backend, **settings)
        except ob.UnavailableError as error:
            if error.__cause__:  # the kernel exists but cannot be loaded
                raise
            raise Missing(str(error)) from error

    def initialized(self) -> Any:
        """Create a learner and initialize it with an empty chunk."""
        import orfit_bench as ob

        X, y = self.data(1)
        layered: dict[str, Any] = {"model": ob.MLP(hidden=(64,))} if self.layered else {}
        settings = layered or SETTINGS.get(self.method, {})
        return self.create(**settings).partial_fit(X[:0], None if y is None else y[:0])

    def data(self, n: int) -> tuple[Array, Array | None]:
        """Return the first n rows."""
        X = rows(n, self.d)
        return X, targets(X, self.kind)

    def chunk_rows(self) -> int:
        """Return the number of rows of a timed chunk."""
        return LAYERED_ROWS if self.layered else ROWS.get(self.backend, MANY_ROWS)

    def seconds_per_sample(self, spend: float = 0.15) -> float:
        """Return the seconds per sample of a new learner for a chunk, the minimum of several timings."""
        X, y = self.data(self.chunk_rows())

        def timed() -> float:
            learner = self.initialized()
            watch = Stopwatch(self.on_device)
            learner.partial_fit(X, y)
            _wait(learner)
            return watch.seconds()

        return best_of(timed, spend) / len(X)

    def kernel_seconds_per_sample(self, spend: float = 0.15) -> float:
        """Return the seconds per sample spent in the kernel, without the overhead of the learner."""
        X, y = self.data(self.chunk_rows())
        with time_kernel(self.method, self.backend) as clock:

            def timed() -> float:
                learner, clock.seconds = self.initialized(), 0.0
                learner.partial_fit(X, y)
                return clock.seconds

            return best_of(timed, spend) / len(X)

    def chunk_seconds(self, spend: float = 0.15) -> list[float]:
        """Return the minimum seconds per sample of the calls and of the kernel, measured in the same calls."""
        X, y = self.data(self.chunk_rows())
        kernel = float("inf")
        with time_kernel(self.method, self.backend) as clock:

            def timed() -> float:
                nonlocal kernel
                learner, clock.seconds = self.initialized(), 0.0
                watch = Stopwatch(self.on_device)
                learner.partial_fit(X, y)
                _wait(learner)
                taken, kernel = watch.seconds(), min(kernel, clock.seconds)
                return taken

            return [best_of(timed, spend) / len(X), kernel / len(X)]

    def row_seconds(self, spend: float = 0.15) -> list[float]:
        """Return the seconds of the calls with a single row: `latency`, `learn_one_seconds`, `predict_one_seconds`."""
        return [self.latency(spend), self.learn_one_seconds(spend), self.predict_one_seconds(spend)]

    def latency(self, spend: float = 0.15) -> float:
        """Return the seconds of `partial_fit` with a single row, the minimum of several timings."""
        return self._seconds_of_call(lambda learner, X, y: partial(learner.partial_fit, X[:1], _cut(y)), 8, spend)

    def learn_one_seconds(self, spend: float = 0.15) -> float:
        """Return the seconds of `learn_one`, or of `partial_fit` in commits that do not have it."""

        def bind(learner: Any, X: Array, y: Array | None) -> Callable[[], object]:
            if not hasattr(learner, "learn_one"):
                return partial(learner.partial_fit, X[:1], _cut(y))
            return partial(learner.learn_one, X[0], *(() if y is None else (y[0],)))

        return self._seconds_of_call(bind, 8, spend)

    def predict_one_seconds(self, spend: float = 0.15) -> float:
        """Return the seconds of `predict_one`; of the call for several rows for subspaces, and if there is none."""

        def bind(learner: Any, X: Array, y: Array | None) -> Callable[[], object]:
            one = getattr(learner, "predict_one", None)
            return partial(one, X[0]) if one else partial(_predicts(learner), X[:1])

        return self._seconds_of_call(bind, 8, spend)

    def prediction_seconds(self, spend: float = 0.15) -> float:
        """Return the seconds per row of a prediction, or a projection, for a chunk."""
        n = self.chunk_rows()
        return self._seconds_of_call(lambda learner, X, y: partial(_predicts(learner), X), n, spend) / n

    def _seconds_of_call(
        self, bind: Callable[[Any, Array, Array | None], Callable[[], object]], n: int, spend: float
    ) -> float:
        """The minimum seconds of a call of a learner of n rows, which `bind` makes from the learner and these rows."""
        X, y = self.data(n)
        learner = self.initialized().partial_fit(X, y)
        call = bind(learner, X, y)

        def timed() -> float:
            watch = Stopwatch(self.on_device)
            call()
            _wait(learner)
            return watch.seconds()

        return best_of(timed, spend)

    def peak_bytes(self) -> float:
        """Return the peak of host memory that a new learner allocates while learning a chunk, the least of three runs.

        memray counts allocations by Python, NumPy and compiled code; they are exact with PYTHONMALLOC=malloc.
        """
        try:
            import memray
        except ImportError as error:
            raise Missing("memray is not installed: pip install memray") from error
        X, y = self.data(self.chunk_rows())
        peaks = []
        with tempfile.TemporaryDirectory() as folder:
            self.initialized().partial_fit(X, y)  # imports, compiles and fills caches
            for i in range(3):
                file = os.path.join(folder, f"{i}.bin")
                with memray.Tracker(file):
                    self.initialized().partial_fit(X, y)
                with memray.FileReader(file) as reader:
                    peaks.append(reader.metadata.peak_memory)
        return float(min(peaks))

    def device_seconds_per_sample(self) -> float:
        """Return the device seconds per sample for a chunk."""
        X, y = self.data(self.chunk_rows())
        return device.seconds(self._declared_backend(), lambda: self.initialized().partial_fit(X, y)) / len(X)

    def device_peak_bytes(self) -> float:
        """Return the peak of device memory while a new learner learns a chunk."""
        X, y = self.data(self.chunk_rows())
        return device.peak_bytes(self._declared_backend(), lambda: self.initialized().partial_fit(X, y))

    def _declared_backend(self) -> Any:
        import orfit_bench as ob

        return ob.backends()[self.backend]

    def state_bytes(self) -> float:
        """Return the bytes of the state after a chunk."""
        return float(self.initialized().partial_fit(*self.data(self.chunk_rows())).state_bytes)

    def batch_deviation(self) -> float:
        """Return the largest relative deviation of the weights from the batch solution, with default settings."""
        X, y = self.data(min(48, 3 * self.d // 4))
        batch = getattr(getattr(self.declared, "theory", self.declared), "batch", None)
        if batch is None or self.kind == "subspace" or y is None:
            raise Missing(f"{self.method} has no batch solution")
        learner = self.create().partial_fit(X, y)
        Y = (y[:, None] == learner.classes_) if self.kind == "classification" else y[:, None]
        want = batch(X, np.asarray(Y, float), np.zeros((self.d, Y.shape[1])), learner.settings)
        if want is None:
            raise Missing(f"{self.method} has no batch solution for these rows")
        return relative(learner.state()[getattr(self.state, "weights", "w")].values, want)

    def trajectory(self) -> dict[str, Array]:
        """Return the states along two short streams with default settings; a basis B as B B', to remove its sign."""
        recorded = {}
        for n, d, step in (SMALL, LONG):
            X = rows(n, d)
            y, learner = targets(X, self.kind), self.create()
            for a in range(0, n, step):
                learner.partial_fit(X[a : a + step], None if y is None else y[a : a + step])
                for name, field in learner.state().data_vars.items():
                    if field.dtype.kind == "f" and not str(name).startswith("pending"):
                        value = field.values
                        name = RENAMED.get(str(name), name)
                        recorded[f"{n}/{a + step}/{name}"] = value @ value.T if str(name).startswith("basis") else value
        return recorded


def _cut(y: Array | None) -> Array | None:
    return None if y is None else y[:1]


def _predicts(learner: Any) -> Callable[[Array], object]:
    """The method that predicts targets, or projects onto a subspace."""
    predict: Callable[[Array], object] = getattr(learner, "predict", None) or learner.transform
    return predict


def _wait(learner: Any) -> None:
    learner.backend.synchronize()
