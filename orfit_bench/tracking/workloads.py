"""What is measured of a method on a backend, by the public interface alone.

This file is loaded by its path beside any commit of the package, older ones too: it imports nothing of its own package,
and of orfit_bench only what every commit has. What a commit cannot do raises `Missing`, which shows as n/a.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# Literal, and only ever appended to: asv numbers the results of older commits by the places in these lists.
METHODS = ["lms", "nlms", "apa", "icl", "ogd", "orfit", "one_step_sgd", "greedy", "rls"]
METHODS += ["oja", "krasulina", "sanger", "implicit_krasulina", "incremental_pca"]
METHODS += ["kalman", "sgd", "class_rls", "gp", "owm"]
BACKENDS = ["numpy", "numba", "cupy"]
QUICK_SIZE = 64
FULL_SIZES = [16, 256, 784]

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
KERNEL = ("learn", "update", "step", "store", "ahead", "transit")
STARTS = {
    "import_seconds": ["-c", "import orfit_bench"],
    "start_seconds": ["-m", "orfit_bench", "list", "--help"],
}
"""What new interpreters do whose time is taken."""
TRAJECTORIES = Path(__file__).with_name("trajectories.npz")


class Missing(NotImplementedError):
    """This commit has no such method, backend or device; asv shows n/a."""


def rows(n: int, d: int) -> Array:
    """(n, d) uniform numbers of variance 1, the same with every version of every library: SplitMix64 of the place."""
    with np.errstate(over="ignore"):
        z = np.arange(1, n * d + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    uniform: Array = ((z >> np.uint64(11)) * 2.0**-53 - 0.5) * np.sqrt(12)
    return uniform.reshape(n, d)


def targets(X: Array, kind: str) -> Array | None:
    """What learners of a kind learn beside X: a linear function of it and a little noise, its sign, nothing."""
    w = 1 / np.arange(1, X.shape[1] + 1)
    y = X @ w + 0.1 * rows(len(X), 1)[::-1, 0]
    return {"classification": (y > 0).astype(int), "subspace": None}.get(kind, y)


def pairs() -> dict[tuple[str, str], str]:
    """Every (method, backend) that can be had here, with the distribution that brought the kernel or the method."""
    from orfit_bench.host.registry import registry

    known = registry()
    found = {}
    for backend, method in known.kernels:
        if method in known.methods and not known.absence(backend, method):
            owners = {known.suppliers[key] for key in (("kernels", (backend, method)), ("methods", method))}
            found[method, backend] = " ".join(sorted(owner.rpartition(" ")[0] for owner in owners))
    return found


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
        self.layered = bool(getattr(self.declared, "layered", False))

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

    def seconds_a_sample(self, spend: float = 0.05) -> float:
        """Seconds a row of a chunk that a new learner takes, the least of all chunks that `spend` seconds allow."""
        X, y = self.data(self.chunk_rows())

        def timed() -> float:
            learner = self.started()
            begin = perf_counter()
            learner.partial_fit(X, y)
            _wait(learner)
            return perf_counter() - begin

        return least(timed, spend) / len(X)

    def kernel_seconds_a_sample(self, spend: float = 0.05) -> float:
        """Seconds a row that the kernel alone takes of such a chunk: of some methods the host takes nearly all."""
        X, y = self.data(self.chunk_rows())
        with clocked(self.method, self.backend) as clock:

            def timed() -> float:
                learner, clock.seconds = self.started(), 0.0
                learner.partial_fit(X, y)
                return clock.seconds

            return least(timed, spend) / len(X)

    def seconds_a_row(self, spend: float = 0.05) -> float:
        """Seconds of a call with one row, the least of all that `spend` seconds allow."""
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

    def device_peak_bytes(self) -> float:
        """Most bytes of the backend's device in use while a new learner learns the chunk."""
        import orfit_bench as ob

        memory = ob.backends()[self.backend].memory
        if not callable(memory):
            raise Missing(f"{self.backend} has no device of its own")
        X, y = self.data(self.chunk_rows())
        memory()  # begins the count
        _wait(self.started().partial_fit(X, y))
        return float(memory())

    def state_bytes(self) -> float:
        """Bytes of the state after the chunk."""
        return float(self.started().partial_fit(*self.data(self.chunk_rows())).state_bytes)

    def batch_deviation(self) -> float:
        """Largest relative deviation of the weights from the method's batch solution, with its default settings."""
        X, y = self.data(min(48, 3 * self.d // 4))
        batch = getattr(self.declared, "batch", None)
        if batch is None or self.kind == "subspace" or y is None:
            raise Missing(f"{self.method} has no batch solution")
        learner = self.create().partial_fit(X, y)
        Y = (y[:, None] == learner.classes_) if self.kind == "classification" else y[:, None]
        want = batch(X, np.asarray(Y, float), np.zeros((self.d, Y.shape[1])), learner.settings)
        if want is None:
            raise Missing(f"{self.method} has no batch solution for these rows")
        return relative(learner.state()[getattr(self.declared, "weights", "w")].values, want)

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
                        seen[f"{n}/{a + step}/{name}"] = value @ value.T if str(name).startswith("basis") else value
        return seen


class Clock:
    """Seconds spent in the functions of a module, whichever of them called the others."""

    def __init__(self) -> None:
        self.seconds, self.depth = 0.0, 0

    def watch(self, function: Callable[..., Any], wait: Callable[[], None]) -> Callable[..., Any]:
        """The function, with its time added up."""

        def watched(*arguments: Any, **more: Any) -> Any:
            self.depth += 1
            begin = perf_counter()
            try:
                return function(*arguments, **more)
            finally:
                self.depth -= 1
                if not self.depth:
                    wait()
                    self.seconds += perf_counter() - begin

        return watched


@contextmanager
def clocked(method: str, backend: str) -> Iterator[Clock]:
    """A clock on the kernel's functions, for learners that are made meanwhile."""
    from orfit_bench.host.registry import registry

    kernel, clock = registry().kernel(backend, method), Clock()
    functions = {name: getattr(kernel, name) for name in KERNEL if hasattr(kernel, name)}
    try:
        for name, function in functions.items():
            setattr(kernel, name, clock.watch(function, registry().backends[backend].synchronize))
        yield clock
    finally:
        for name, function in functions.items():
            setattr(kernel, name, function)


def off(got: dict[str, Array], want: dict[str, Array]) -> float:
    """Largest relative deviation of one trajectory from another; ValueError where they are not of the same fields."""
    if lacking := set(want) ^ set(got):
        raise ValueError(f"not of the same fields: {', '.join(sorted(lacking))}")
    return max(relative(got[name], want[name]) for name in want)


def relative(got: Array, want: Array) -> float:
    """The largest difference as a share of the largest number; ValueError for another shape or what is not finite."""
    if got.shape != want.shape:
        raise ValueError(f"shape {got.shape}, want {want.shape}")
    difference = float(abs(got - want).max(initial=0.0))
    if not np.isfinite(difference):  # NaN would read as n/a
        raise ValueError("the numbers are not finite")
    return difference / (float(abs(want).max(initial=0.0)) or 1.0)


def frozen(method: str) -> dict[str, Array]:
    """The trajectory of a method as it was frozen, by the reference backend; `Missing` where none was."""
    with np.load(TRAJECTORIES, allow_pickle=False) as file:
        kept = {name.partition("/")[2]: file[name] for name in file.files if name.startswith(f"{method}/")}
    if not kept:
        raise Missing(f"no trajectory of {method} was frozen")
    return kept


def reference_seconds(spend: float = 0.01) -> float:
    """Seconds of a workload that no commit changes, products of matrices and steps of the interpreter: the machine's
    speed at this moment."""
    A = rows(96, 96)

    def timed() -> float:
        begin = perf_counter()
        for _ in range(4):
            A @ A
        sum(i * i for i in range(4000))
        return perf_counter() - begin

    return least(timed, spend)


def start_seconds(measure: str) -> float:
    """Seconds of a new interpreter that does what STARTS says, the least of three."""
    command = [sys.executable, *STARTS[measure]]

    def timed() -> float:
        begin = perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        taken = perf_counter() - begin
        if done.returncode:
            raise RuntimeError(f"{' '.join(STARTS[measure])} ended with {done.returncode}: {done.stderr[-300:]}")
        return taken

    return min(timed() for _ in range(3))


def least(timed: Callable[[], float], spend: float) -> float:
    """The least of at least two times, as many as `spend` seconds allow."""
    begin, best, runs = perf_counter(), float("inf"), 0
    while runs < 2 or perf_counter() - begin < spend:
        best, runs = min(best, timed()), runs + 1
    return best


def _wait(learner: Any) -> None:
    learner.backend.synchronize()
