"""Tracking of speed, memory and exactness over commits, for every method on every backend.

`workloads` defines the measurements. The gate, which compares two commits, and the asv benchmarks, which record the
history, use the same definitions. `LearnerBenchmarks`, `Workload` and `freeze_trajectories` are public, for plugins.
"""

from orfit_bench.tracking.benchmarks import LearnerBenchmarks
from orfit_bench.tracking.freeze import freeze_trajectories
from orfit_bench.tracking.workloads import Workload

__all__ = ["LearnerBenchmarks", "Workload", "freeze_trajectories"]
