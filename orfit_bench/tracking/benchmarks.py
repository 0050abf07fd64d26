"""Benchmarks of methods on backends for asv, in the repository of a plugin."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any, ClassVar

from orfit_bench.tracking import workloads
from orfit_bench.tracking.workloads import FLOOR, Workload, stored_trajectory, trajectory_deviation


class LearnerBenchmarks:
    """Benchmarks of time, memory and accuracy that asv runs for every method on every backend.

    A module in the benchmark directory of asv defines a subclass. A pair that a commit does not have is n/a. asv
    measures each time repeatedly, in several processes, and stores the median and spread. Times are CPU times, which
    other programs do not affect; for a backend on a device, set `timer = time.perf_counter`.

    Attributes
    ----------
    methods, backends : sequence of str
        The methods and backends to measure. Only append to them: asv identifies older results by these names.
    features : int
        Number of features of the rows.
    trajectories : path, optional
        The file that `freeze_trajectories` wrote for the methods.

    Examples
    --------
    >>> class Learners(LearnerBenchmarks):
    ...     methods = ("lms",)
    >>> Learners.params
    [['lms'], ['numpy']]
    >>> benchmark = Learners()
    >>> benchmark.setup("lms", "numpy")
    >>> benchmark.track_state_bytes("lms", "numpy")
    512.0
    """

    methods: ClassVar[Sequence[str]] = ()
    backends: ClassVar[Sequence[str]] = ("numpy",)
    features: ClassVar[int] = workloads.QUICK_SIZE
    trajectories: ClassVar[str | Path | None] = None

    params: ClassVar[list[list[str]]] = []
    param_names: ClassVar[list[str]] = ["method", "backend"]
    timer = staticmethod(process_time)
    timeout = 120
    rounds, repeat, number, warmup_time = 2, (5, 20, 1.0), 1, 0.1

    def __init_subclass__(cls) -> None:
        """Set the parameters of asv. Raises TypeError or ValueError for names or a path that asv cannot use."""
        for name in ("methods", "backends"):
            if isinstance(getattr(cls, name), str):
                raise TypeError(f"{cls.__name__}: {name}={getattr(cls, name)!r}, want a list of names")
        if cls.trajectories is not None and not Path(cls.trajectories).is_absolute():
            raise ValueError(
                f"{cls.__name__}: trajectories={str(cls.trajectories)!r}, want an absolute path, such as "
                f'Path(__file__).parents[1] / "trajectories.npz", since asv works in another folder'
            )
        cls.params = [list(cls.methods), list(cls.backends)]

    def setup(self, method: str, backend: str) -> None:
        """Prepare a learner and rows; asv calls this before each measurement."""
        self.work = Workload(method, backend, self.features)
        self.learner = self.work.initialized()
        self.rows = self.work.data(self.work.chunk_rows())
        X, y = self.work.data(1)
        self.sample = X, y

    def time_chunk(self, method: str, backend: str) -> None:
        """A new learner learns a chunk."""
        self._learn(*self.rows)

    def time_sample(self, method: str, backend: str) -> None:
        """A learner learns a single sample, a hundred times."""
        for _ in range(100):
            self._learn(*self.sample)

    def track_state_bytes(self, method: str, backend: str) -> float:
        """The size of the state after a chunk."""
        return self.work.state_bytes()

    def track_batch_deviation(self, method: str, backend: str) -> float:
        """The deviation from the batch solution of the method; NaN, shown as n/a, if it has none."""
        try:
            return max(self.work.batch_deviation(), FLOOR)
        except workloads.Missing:
            return float("nan")

    def track_frozen_deviation(self, method: str, backend: str) -> float:
        """The deviation from the stored trajectory of the method; NaN, shown as n/a, if none is stored."""
        if self.trajectories is None or not Path(self.trajectories).exists():
            return float("nan")
        try:
            want = stored_trajectory(method, Path(self.trajectories))
        except workloads.Missing:
            return float("nan")
        return max(trajectory_deviation(self.work.trajectory(), want), FLOOR)

    def _learn(self, X: Any, y: Any) -> None:
        self.learner.partial_fit(X, y)
        self.learner.backend.synchronize()


for _name, _unit in (("state_bytes", "B"), ("batch_deviation", "relative"), ("frozen_deviation", "relative")):
    getattr(LearnerBenchmarks, f"track_{_name}").unit = _unit
