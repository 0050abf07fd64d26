"""One method on one backend: its times, its memory, its exactness."""

from __future__ import annotations

import os
import tempfile
from time import perf_counter
from typing import Any

import numpy as np

from . import device
from .exactness import relative
from .names import QUICK_SIZE, Missing
from .rows import Array, rows, targets
from .times import clocked, least

SETTINGS: dict[str, dict[str, Any]] = {
    **{method: {"memory": 16} for method in ("icl", "ogd", "orfit")},
    **{m: {"n_components": 8} for m in ("oja", "krasulina", "sanger", "implicit_krasulina", "incremental_pca")},
}
"""Of the clock's learners, so that every row is work: without a limit a basis is full after d rows."""
ROWS = {"numpy": 256}
MANY_ROWS, LAYERED_ROWS = 4096, 32
"""Rows a chunk, enough for the kernel to be what is measured and not the call; a layered method's are slow."""
SMALL, LONG = (48, 6, 12), (600, 20, 600)
"""Rows, features and rows between two looks of the streams that trajectories are taken of."""
RENAMED = {"digits_lost": "precision_lost"}
"""Fields of the state that earlier commits name otherwise."""


class Workload:
    """One method on one backend over d features."""

    def __init__(self, method: str, backend: str, d: int = QUICK_SIZE) -> None:
        import orfit_bench as ob

        if method not in ob.methods() or backend not in ob.backends():
            raise Missing(f"{method} on {backend} is not in this commit")
        if not ob.backends()[backend].available:
            raise Missing(f"{backend}: {ob.backends()[backend].reason}")
        self.method, self.backend, self.d = method, backend, d
        self.declared = ob.methods()[method]
        self.kind: str = getattr(self.declared, "kind", "regression")  # the first commits know no other
        self.state = getattr(self.declared, "state", self.declared)  # earlier commits declare all on the method
        self.layered = bool(getattr(self.state, "layered", False))

    def create(self, **settings: Any) -> Any:
        """A new learner."""
        import orfit_bench as ob

        if self.layered:
            settings = {"model": ob.MLP(hidden=(8,)), **settings}
        try:
            return ob.create(self.method, backend=self.backend, **settings)
        except ob.UnavailableError as error:
            raise Missing(str(error)) from error

    def started(self) -> Any:
        """A learner that knows its sizes and has seen no row."""
        import orfit_bench as ob

        X, y = self.data(1)
        layered: dict[str, Any] = {"model": ob.MLP(hidden=(64,))} if self.layered else {}
        settings = layered or SETTINGS.get(self.method, {})
        return self.create(**settings).partial_fit(X[:0], None if y is None else y[:0])

    def data(self, n: int) -> tuple[Array, Array | None]:
        """The first n rows."""
        X = rows(n, self.d)
        return X, targets(X, self.kind)

    def chunk_rows(self) -> int:
        """Rows of the chunk that is timed."""
        return LAYERED_ROWS if self.layered else ROWS.get(self.backend, MANY_ROWS)

    def seconds_per_sample(self, spend: float = 0.15) -> float:
        """Seconds per sample that a new learner takes for a chunk, the least of all that `spend` seconds allow."""
        X, y = self.data(self.chunk_rows())

        def timed() -> float:
            learner = self.started()
            begin = perf_counter()
            learner.partial_fit(X, y)
            _wait(learner)
            return perf_counter() - begin

        return least(timed, spend) / len(X)

    def kernel_seconds_per_sample(self, spend: float = 0.15) -> float:
        """Seconds per sample that the kernel alone takes of such a chunk: of some methods the core takes nearly all."""
        X, y = self.data(self.chunk_rows())
        with clocked(self.method, self.backend) as clock:

            def timed() -> float:
                learner, clock.seconds = self.started(), 0.0
                learner.partial_fit(X, y)
                return clock.seconds

            return least(timed, spend) / len(X)

    def latency(self, spend: float = 0.15) -> float:
        """Seconds of a call with a single sample, the least of all that `spend` seconds allow."""
        X, y = self.data(8)
        learner = self.started().partial_fit(X, y)
        X, y = X[:1], None if y is None else y[:1]

        def timed() -> float:
            begin = perf_counter()
            learner.partial_fit(X, y)
            _wait(learner)
            return perf_counter() - begin

        return least(timed, spend)

    def peak_bytes(self) -> float:
        """Most bytes of the host that a new learner asks for while it learns the chunk, the least of three runs.

        memray counts what is asked for, of Python, NumPy and machine code alike, so that neither imports nor the page
        cache move it; with PYTHONMALLOC=malloc to the byte.
        """
        try:
            import memray
        except ImportError as error:
            raise Missing("memray is not installed: pip install memray") from error
        X, y = self.data(self.chunk_rows())
        peaks = []
        with tempfile.TemporaryDirectory() as folder:
            self.started().partial_fit(X, y)  # imports, compiles and fills caches
            for i in range(3):
                file = os.path.join(folder, f"{i}.bin")
                with memray.Tracker(file):
                    self.started().partial_fit(X, y)
                with memray.FileReader(file) as reader:
                    peaks.append(reader.metadata.peak_memory)
        return float(min(peaks))

    def device_seconds_per_sample(self) -> float:
        """Seconds per sample that the backend's device takes for a chunk, by its own clock."""
        X, y = self.data(self.chunk_rows())
        return device.seconds(self._found(), lambda: self.started().partial_fit(X, y)) / len(X)

    def device_peak_bytes(self) -> float:
        """Most bytes of the backend's device in use while a new learner learns the chunk."""
        X, y = self.data(self.chunk_rows())
        return device.peak_bytes(self._found(), lambda: self.started().partial_fit(X, y))

    def _found(self) -> Any:
        import orfit_bench as ob

        return ob.backends()[self.backend]

    def state_bytes(self) -> float:
        """Bytes of the state after the chunk."""
        return float(self.started().partial_fit(*self.data(self.chunk_rows())).state_bytes)

    def batch_deviation(self) -> float:
        """Largest relative deviation of the weights from the method's batch solution, with its default settings."""
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
        """The state's numbers along two short streams with default settings, a basis B as B B', free of its signs."""
        seen = {}
        for n, d, step in (SMALL, LONG):
            X = rows(n, d)
            y, learner = targets(X, self.kind), self.create()
            for a in range(0, n, step):
                learner.partial_fit(X[a : a + step], None if y is None else y[a : a + step])
                for name, field in learner.state().data_vars.items():
                    if field.dtype.kind == "f" and not str(name).startswith("pending"):
                        value = field.values
                        name = RENAMED.get(str(name), name)
                        seen[f"{n}/{a + step}/{name}"] = value @ value.T if str(name).startswith("basis") else value
        return seen


def _wait(learner: Any) -> None:
    learner.backend.synchronize()
