"""The axes of the experiment, and the measurement of a cell."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench_papers import _krasulina as k_pca
from orfit_bench_papers.procedure import Axes, Cell, Setup, about

if TYPE_CHECKING:
    import xarray

FACTORS = (0.1, 1.0, 10.0)
"""Factors of the chosen step in the table of the paper."""
HIGHER = 10**0.5
"""Another factor of the chosen step: a neighbour on the grid of steps, which is almost as good."""
DIGIT = 1.0
"""Effect in percent, for a loss of 1, of rounding a loss and that of batch PCA to two decimals."""
PAPERS_ROWS = 70_000
"""Images of MNIST."""
LONGER = "70,000 rows"
UNEXPLAINED = "not explained"
LOSS = "mean compression loss on all rows"
READINGS: dict[str, tuple[str, str, str]] = {
    "as here": ("", "", ""),
    "unit start": ("scale of the start of Sanger's and the implicit rule", "1e-4 times a Gaussian", "a Gaussian"),
    "nine tenths": ("whether validation rows are learned", "yes, all rows are", "no"),
    "one order": ("order of the rows", "another in every run", "the same in every run"),
    LONGER: ("how many rows a sweep has", "as many as the data", "the paper's 70,000, in several sweeps"),
}
"""Details that the paper does not specify: the name, the interpretation used here, and another one."""


def readings(setup: Setup) -> Axes:
    """Every reading, k and method; the runs share a step, so they are in one cell."""
    return {"reading": list(READINGS), "k": list(setup["components"]), "learner": list(k_pca.METHODS)}


def measure(setup: Setup, cell: Cell) -> xarray.Dataset:
    """The loss on all rows after one sweep, at the chosen step and at a tenth and ten times of it."""
    import xarray

    reading, k, name = cell["reading"], cell["k"], cell["learner"]
    unit = reading == "unit start"
    eta0 = k_pca.chosen(setup, name, k, unit)
    loss = np.full((2, len(FACTORS), setup["runs"]), np.nan)
    neighbours = (1.0, HIGHER) if reading == LONGER and eta0 and setup.data in k_pca.PRINTED else (1.0,)
    for (j, neighbour), (i, factor), run in product(enumerate(neighbours), enumerate(FACTORS), range(setup["runs"])):
        if factor == 1 or eta0:
            learner = k_pca.create_learner(setup, name, k, neighbour * factor * eta0, run, unit)
            loss[j, i, run] = _loss(learner, setup.data, reading, run)
    return xarray.Dataset(
        {
            "loss": (("factor", "run"), loss[0], about("row^2", f"{LOSS}; NaN: no step, or gone")),
            "higher_loss": (("factor", "run"), loss[1], about("row^2", f"{LOSS}, with {HIGHER:.3g} times the step")),
            "eta0": ((), eta0, about("1", "the step chosen on the validation part, 0 where the method has none")),
            "batch": ((), k_pca.batch_loss(setup.data, k), about("row^2", "loss of batch PCA")),
        },
        {"factor": list(FACTORS), "run": np.arange(setup["runs"])},
    )


def sweeps_of(name: str) -> int:
    """The number of sweeps over the data that is nearest to the number of rows in the paper."""
    return max(1, round(PAPERS_ROWS / len(k_pca.images(name))))


def _loss(learner: Any, name: str, reading: str, run: int) -> float:
    """The loss on all rows after the sweep of this reading."""
    X, sweeps = k_pca.images(name), 1
    if reading == "nine tenths":
        X = np.delete(X, np.random.default_rng(0).permutation(len(X))[: len(X) // 10], axis=0)
    elif reading == LONGER:
        sweeps = sweeps_of(name)
    seeds = [0 if reading == "one order" else run + 1000 * i for i in range(sweeps)]
    return float([k_pca.swept(learner, X, name, seed).loss[-1] for seed in seeds][-1])
