"""RLS on one-hot targets (survey, D-RLS): one column of w for each class, all with one P."""

from orfit_bench_cupy._fleets import NO_FLEETS
from orfit_bench_cupy.rls import learn, step

LACKS = NO_FLEETS


__all__ = ["learn", "step"]
