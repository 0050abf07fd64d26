"""The axes of the experiment, and the measurement of a cell."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.bench import models
from orfit_bench.bench.error import NUMBERS
from orfit_bench.bench.learning import learn_and_record
from orfit_bench.bench.protocol import Protocol
from orfit_bench.errors import DivergedError
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Data
from orfit_bench_papers import data
from orfit_bench_papers.procedure import Axes, Cell, Setup, about

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True, slots=True)
class Entry:
    """A method, its settings other than the step, and the powers of ten between which the step is searched."""

    method: str
    settings: dict[str, Any] = field(default_factory=dict)
    steps: tuple[int, int] | None = None


ENTRIES = {
    "Greedy": Entry("greedy"),
    "One-Step SGD": Entry("one_step_sgd"),
    "LMS": Entry("lms", {}, (-5, -1)),
    "NLMS": Entry("nlms", {}, (-3, 0)),
    "SGD, averaged": Entry("sgd", {"averaging": "uniform"}, (-5, -1)),
    "APA, 10 rows": Entry("apa", {"projection_order": 10}, (-2, 0)),
    "RLS, forgetting 0.9": Entry("rls", {"forgetting_factor": 0.9}),
    "RLS": Entry("rls"),
    "Kalman, drifting": Entry("kalman", {"process_noise": 1e-3, "observation_noise": 0.1}),
    "OWM": Entry("owm", {}, (-3, 0)),
    "ORFit, memory 10": Entry("orfit", {"memory": 10}),
    "OGD": Entry("ogd", {}, (-4, 0)),
    "GP": Entry("gp", {}, (-4, 0)),
    "ICL": Entry("icl"),
}
"""Regression methods; steps are chosen on a validation part, other settings are given here or have their defaults."""


def places(setup: Setup) -> Axes:
    """Every method and run."""
    return {"learner": list(ENTRIES), "run": list(range(setup["runs"]))}


def create_learner(setup: Setup, entry: Entry, seed: int, step: float | None) -> Any:
    """A new learner; layer-wise methods fit a perceptron with one hidden layer."""
    declared = registry().methods[entry.method]
    given = {} if step is None else {"step_size": step}
    model = models.build(models.with_defaults(declared, None))
    return setup.create(entry.method, seed, model=model, **entry.settings, **given)


def chosen(setup: Setup, entry: Entry, found: Data, seed: int) -> float | None:
    """The step with the smallest error on the validation part after the last row; None if there is none to choose."""
    if entry.steps is None:
        return None
    lowest, highest = entry.steps
    tried = np.logspace(lowest, highest, 2 * (highest - lowest) + 1)
    errors = [_validated(create_learner(setup, entry, seed, float(step)), found) for step in tried]
    return float(tried[int(np.argmin(errors))])


def _validated(learner: Any, found: Data) -> float:
    try:
        return NUMBERS.summary(learner.partial_fit(found.X, found.y).flush(), found.validation)  # type: ignore[arg-type]
    except DivergedError:
        return np.inf


def measure(setup: Setup, cell: Cell) -> xarray.Dataset:
    """The error matrix over ten tasks, and the test error at the end."""
    import xarray

    entry, seed = ENTRIES[cell["learner"]], cell["run"]
    found = data.rotated(setup.data, setup["rows"], seed, validation=True)
    step = chosen(setup, entry, found, seed)
    learner = create_learner(setup, entry, seed, step).partial_fit(*found.cut(0, 0))
    seen = learn_and_record([learner], found, Protocol())
    order = np.arange(1, len(found.tasks))
    return xarray.Dataset(
        {
            "task_error": (("after", "task"), seen.task_error, about("rad^2", "mean squared error on task after task")),
            "test_error": ((), float(seen.test_error[-1]), about("rad", "root mean squared error on the test images")),
            "step": ((), np.nan if step is None else step, about("1", "step chosen on the validation part; NaN: none")),
        },
        {"after": order, "task": order},
    )
