"""RLS on one-hot targets (survey, D-RLS): one column of w for each class, all with one P."""

from orfit_bench_cupy.rls import fleet_learn, learn, step

__all__ = ["fleet_learn", "learn", "step"]
