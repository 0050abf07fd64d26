"""The axes of the experiment, and the measurement of a cell."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from orfit_bench import schedules
from orfit_bench.catalogue.streams import digits
from orfit_bench.sampling import uniform
from orfit_bench.spec import Data
from orfit_bench.spec.data import Array
from orfit_bench_papers.procedure import Axes, Cell, Setup, about

if TYPE_CHECKING:
    import xarray

PROBLEMS = ("digits", "line")
STEPS = ("constant", "running", "running, projected")


class Problem(NamedTuple):
    """A convex function F with stochastic gradients, one per row."""

    loss: str
    draw: Callable[[int, int], Data]
    """Function of the horizon and seed that returns rows whose mean gradient is the gradient of F."""
    gap: Callable[[Any], float]
    """F at the answer of a learner, minus the minimum of F."""
    B: float
    """Norm of the minimiser."""
    G: float
    """The largest norm of a row's gradient."""


def places(setup: Setup) -> Axes:
    """Both problems, the horizons and every run."""
    return {"problem": list(PROBLEMS), "horizon": list(setup["horizons"]), "run": list(range(setup["runs"]))}


def line(T: int) -> Problem:
    """F(w) = a |w - 1| plus a constant, with gradients of -1 and 1 and a = 1.6 / sqrt(T).

    A share a of the rows has the minimum w = 1. The others, half each, have a large number and its negative as minimum,
    so that their gradients are 1 and -1 for all w.
    """
    a, far = 1.6 / np.sqrt(T), 1e9

    def draw(n: int, seed: int) -> Data:
        wanted = np.random.default_rng([seed, T]).choice([1.0, far, -far], n, p=[a, (1 - a) / 2, (1 - a) / 2])
        return Data(np.ones((n, 1)), wanted)

    return Problem("absolute", draw, lambda learner: float(a * abs(learner.predict([[1.0]])[0] - 1)), 1.0, 1.0)


@cache
def even_or_odd() -> Problem:
    """All 1,797 digits with the hinge loss."""
    return hinge(*digits.raw())


def hinge(images: Array, labels: Array) -> Problem:
    """Pixels in [0, 1] and a constant one, with y = 1 for even digits and -1 for odd digits."""
    X = np.hstack([images.reshape(len(images), -1) / 16, np.ones((len(images), 1))])
    y = np.where(labels % 2 == 0, 1.0, -1.0)
    best, w = least_hinge(X, y)

    def gap(learner: Any) -> float:
        return float(np.maximum(0, 1 - y * learner.predict(X)).mean()) - best

    B, G = float(np.linalg.norm(w)), float(np.linalg.norm(X, axis=1).max())
    return Problem("hinge", lambda n, seed: uniform((X, y), n, seed), gap, B, G)


def least_hinge(X: Array, y: Array) -> tuple[float, Array]:
    """The minimum of the mean hinge loss and a minimiser, by linear programming; RuntimeError if it is not found."""
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, hstack

    n, d = X.shape
    cost = np.concatenate([np.zeros(d), np.full(n, 1 / n)])
    rows = hstack([-(y[:, None] * X), -eye_array(n)], format="csr")  # 1 - y x'w <= slack
    found = linprog(cost, rows, -np.ones(n), bounds=[(None, None)] * d + [(0, None)] * n)
    if not found.success:
        raise RuntimeError(f"the linear program of the least hinge loss was not solved: {found.message}")
    return float(found.fun), np.asarray(found.x[:d])


def measure(setup: Setup, cell: Cell) -> xarray.Dataset:
    """F at the average of T iterates minus its minimum, for three kinds of steps; over repeats for the line."""
    import xarray

    T, on_line = cell["horizon"], cell["problem"] == "line"
    found = line(T) if on_line else even_or_odd()
    repeats = setup["repeats"] if on_line else 1
    streams = [found.draw(T, cell["run"] * repeats + i) for i in range(repeats)]
    gaps = [float(np.mean([_gap(setup, found, steps, rows) for rows in streams])) for steps in STEPS]
    bound = found.B * found.G / np.sqrt(T)
    return xarray.Dataset(
        {
            "gap": ("steps", np.array(gaps), about("1", "F at the average less F*")),
            "bound": ((), bound, about("1", "B G / sqrt(T)")),
        },
        {"steps": list(STEPS)},
    )


def _gap(setup: Setup, found: Problem, steps: str, rows: Data) -> float:
    fixed = found.B / (found.G * np.sqrt(len(rows.X)))
    step = fixed if steps == "constant" else schedules.slide(found.B, found.G)
    radius: dict[str, Any] = {"radius": found.B} if steps.endswith("projected") else {}
    learner = setup.create("sgd", loss=found.loss, step_size=step, averaging="uniform", **radius)
    for X, y in rows.chunks(4096):
        learner.partial_fit(X, y)
    return found.gap(learner)
