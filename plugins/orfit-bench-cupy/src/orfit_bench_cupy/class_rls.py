"""RLS on one-hot targets (survey, D-RLS): w has one column for each class, and all classes share one P."""

import numpy as np

from orfit_bench.kernels.guards import forgetting_limits
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_cupy._block_rls import learn_rows
from orfit_bench_cupy._transfers import Array
from orfit_bench_cupy.rls import fleet_learn, step
from orfit_bench_numba import class_rls

__all__ = ["fleet_learn", "learn", "step"]


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """Learn row by row, as in `rls`; in host memory, operations on a column of w do not depend on other columns."""
    ff = p.forgetting_factor
    noise = np.full(len(X), ff, X.dtype)
    return learn_rows(s, s.P, s.w, X, Y, noise, p, out, class_rls, forgetting_limits(ff, X.dtype))
