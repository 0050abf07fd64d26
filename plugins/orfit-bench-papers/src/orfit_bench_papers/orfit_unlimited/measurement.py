"""The axes of the experiment, and the measurement of a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.bench.error import NUMBERS
from orfit_bench.bench.learning import learn
from orfit_bench.bench.protocol import Protocol
from orfit_bench.errors import DivergedError
from orfit_bench.sampling import reshuffled
from orfit_bench.spec.data import Array, Data
from orfit_bench_papers.orfit_rotated_digits.measurement import rows, start, tested
from orfit_bench_papers.procedure import Axes, Cell, Setup, about

if TYPE_CHECKING:
    import xarray

ONE_PASS = {"ORFit": "orfit", "One-Step SGD": "one_step_sgd"}
STEPS = ("as printed", "converging")
ERRORS = ("test", "train", "sample")
READINGS: dict[str, tuple[str, str, str]] = {
    "as here": ("", "", ""),
    "random start": ("start", "w = 0", "w ~ N(0, 1/d)"),
    "bytes": ("pixel scale", "[0, 1]", "0 to 255"),
    "standardised": ("pixel scale", "[0, 1]", "(pixel - mean) / standard deviation, of all pixels learned"),
    "reshuffled": ("order of SGD's rows", "by angle in every epoch", "a new random order in every epoch"),
}
"""Details that the thesis does not specify: the name, the interpretation used here, and another one."""


def readings(setup: Setup) -> Axes:
    """Every reading, and every run."""
    return {"reading": list(READINGS), "run": list(range(setup["runs"]))}


def epochs(setup: Setup) -> Array:
    """The epochs after which SGD is measured."""
    return np.unique(np.geomspace(1, setup["epochs"], 25).astype(int))


def measure(setup: Setup, cell: Cell) -> xarray.Dataset:
    """Errors of the one-pass methods after every row, and of SGD after some epochs."""
    import xarray

    reading, run = cell["reading"], cell["run"]
    found = rows(setup, reading, run)
    given = start(reading, found.X.shape[1], run)
    w0 = given.get("initial_weights", np.zeros(found.X.shape[1]))
    n, recorded_epochs = len(found.X), epochs(setup)
    learners = {name: setup.create(method, run, **given) for name, method in ONE_PASS.items()}
    once = [trajectory(learner, found, setup["sample"], Protocol(), range(1, n + 1)) for learner in learners.values()]
    w = weights(learners["ORFit"])
    steps = {"as printed": setup["step_size"], "converging": 1 / float((found.X**2).sum(axis=1).max())}
    many, distance = [], []
    for step in steps.values():
        sgd = setup.create("lms", run, step_size=step, **given)
        seen, passes = (found, setup["epochs"]) if reading != "reshuffled" else (_shuffled(found, setup, run), 1)
        many.append(trajectory(sgd, seen, setup["sample"], Protocol(passes=passes), n * recorded_epochs, found))
        gone = np.isnan(many[-1]).any()
        distance.append(np.nan if gone else np.linalg.norm(weights(sgd) - w) / np.linalg.norm(w - w0))
    return xarray.Dataset(
        {
            "one_pass": (("learner", "error", "row"), np.array(once), about("rad", "error after every row")),
            "sgd": (("step", "error", "epoch"), np.array(many), about("rad", "error of SGD after epochs; NaN: gone")),
            "distance": (
                "step",
                np.array(distance),
                about("1", "|w - w_ORFit| / |w_ORFit - w_0| after the last epoch"),
            ),
            "tested": tested(found, setup),
            "condition": ((), np.linalg.cond(found.X) ** 2, about("1", "condition of the Gram matrix of the rows")),
            "step_size": ("step", np.array(list(steps.values())), about("1", "step of SGD")),
        },
        {
            "learner": list(ONE_PASS),
            "error": list(ERRORS),
            "row": np.arange(1, n + 1),
            "step": list(STEPS),
            "epoch": recorded_epochs,
        },
    )


def weights(learner: Any) -> Array:
    """The weights (d,)."""
    return np.asarray(learner.array("w")[:, 0])


def _shuffled(found: Data, setup: Setup, run: int) -> Data:
    return reshuffled(found, setup["epochs"], run)


def trajectory(
    learner: Any, seen: Data, sample: int, protocol: Protocol, recorded_epochs: Any, base: Data | None = None
) -> Array:
    """Errors (3, points) on the test set, all learned rows and the followed example; NaN after it has diverged.

    `seen` are the learned rows, `base` (by default also `seen`) the rows for the errors; recorded_epochs counts rows.
    """
    base = base or seen
    sets, at = (
        (base.test, base.cut(0, len(base.X)), base.cut(sample - 1, sample)),
        {int(k): i for i, k in enumerate(recorded_epochs)},
    )
    errors = np.full((3, len(at)), np.nan)

    def observe(done: int) -> None:
        if done in at:
            errors[:, at[done]] = [NUMBERS.summary(learner, part) for part in sets]  # type: ignore[arg-type]

    learner.partial_fit(*base.cut(0, 0))
    try:
        learn([learner], seen, protocol, at, observe)
    except DivergedError:
        return np.full_like(errors, np.nan)
    return errors
