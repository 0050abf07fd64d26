"""The ideal continual learner (survey, Prop. 1 and Remark 1): fit the new row and keep the fit of earlier rows."""

from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numba._arrays import Array, BoundRow
from orfit_bench_numba._network_gradients import by_gradients
from orfit_bench_numba._projection import bind_row as bind_fitted_row
from orfit_bench_numba._projection import fit_block, fit_rows


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """w <- w + r (x'r)^-1 e with r = x - U U'x; then U <- [U r/|r|]."""
    return fit_rows(s, X, Y, out)


def bind_row(s: State, p: Params) -> BoundRow | None:
    """A function that learns one row with one output."""
    return bind_fitted_row(s, p.memory)


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """Fit all rows of J in one step."""
    return fit_block(s, J, E)


def step(s: State, A: Array, Y: Array, p: Params) -> bool:
    """Learn the rows of A as one block."""
    return fit_block(s, A, Y - A @ s.w)


for_network = by_gradients(update)
