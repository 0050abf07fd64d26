"""The ideal continual learner (survey, Prop. 1 and Remark 1): fit the new row and keep the fit of earlier rows."""

from typing import Any

from orfit_bench_numba._arrays import Array
from orfit_bench_numba._network_gradients import by_gradients
from orfit_bench_numba._projection import bind_row as bind_fitted_row
from orfit_bench_numba._projection import fit_block, fit_rows


def learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
    """w <- w + r (x'r)^-1 e with r = x - U U'x; then U <- [U r/|r|]."""
    return fit_rows(s, X, Y, out)


def bind_row(s: Any, p: Any) -> Any:
    """A function that learns one row with one output."""
    return bind_fitted_row(s, p.memory)


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """Fit all rows of J in one step."""
    return fit_block(s, J, E)


def step(s: Any, A: Array, Y: Array, p: Any) -> bool:
    """Learn the rows of A as one block."""
    return fit_block(s, A, Y - A @ s.w)


for_network = by_gradients(update)
