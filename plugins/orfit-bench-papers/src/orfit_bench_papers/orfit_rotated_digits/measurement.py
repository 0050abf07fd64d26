"""The axes of the experiment, and the measurement of a cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.bench.error import NUMBERS
from orfit_bench.bench.learning import learn
from orfit_bench.bench.protocol import Protocol
from orfit_bench.catalogue.streams.rotated_digits import Turn, rotate_images
from orfit_bench.spec.data import Array, Data, Pair
from orfit_bench_papers import data
from orfit_bench_papers.page import Claim
from orfit_bench_papers.procedure import Axes, Cell, Setup, about

if TYPE_CHECKING:
    import xarray

METHODS = ("ORFit", "ORFit, largest residuals", "ORFit-latest", "ORFit-random", "One-Step SGD", "Greedy")
SUMMARIES = dict(zip(METHODS, ("ipca", "largest", "latest", "random"), strict=False))
READINGS: dict[str, tuple[str, str, str]] = {
    "as here": ("", "", ""),
    "one set of rows": (
        "what differs between runs",
        "images, angles and a start ~ N(0, 1/d)",
        "the start alone, on the same rows",
    ),
    "random start": ("start", "w = 0", "w ~ N(0, 1/d)"),
    "bytes": ("pixel scale", "[0, 1]", "0 to 255"),
    "bytes, random start": ("pixel scale, from a random start", "[0, 1]", "0 to 255"),
    "standardised": ("pixel scale", "[0, 1]", "(pixel - mean) / standard deviation, of all pixels learned"),
    "bias": ("bias", "none", "a feature of 1"),
    "clockwise": ("sense of rotation", "counter-clockwise", "clockwise"),
    "nearest pixel": ("interpolation", "linear", "nearest pixel"),
    "cubic": ("interpolation", "linear", "cubic splines"),
}
"""Details that the thesis does not specify: the name, the interpretation used here, and another one."""
FROM_RANDOM = ("random start", "one set of rows", "bytes, random start")
"""Readings with a random start: the first differs from the default only in the start, the others from the first."""


def readings(setup: Setup) -> Axes:
    """Every reading, and every run."""
    return {"reading": list(READINGS), "run": list(range(setup["runs"]))}


def rows(setup: Setup, reading: str, run: int) -> Data:
    """The rows of a run under a reading."""
    turns: dict[str, Turn] = {
        "clockwise": clockwise,
        "nearest pixel": partial(rotate_images, order=0),
        "cubic": partial(rotate_images, order=3),
    }
    turn = turns.get(reading, rotate_images)
    found = data.rotated(setup.data, setup["rows"], 0 if reading == "one set of rows" else run, turn)
    if reading.startswith("bytes"):
        return mapped(found, lambda X: 255 * X)
    if reading == "standardised":
        mean, deviation = found.X.mean(), found.X.std()
        return mapped(found, lambda X: (X - mean) / deviation)
    if reading == "bias":
        return mapped(found, lambda X: np.hstack([X, np.ones((len(X), 1))]))
    return found


def clockwise(images: Array, angles: Array) -> Pair:
    """The images rotated in the other direction."""
    return rotate_images(images, -angles)[0], angles


def mapped(found: Data, change: Callable[[Array], Array]) -> Data:
    """The data with change(X) in place of every X that is learned or tested."""
    X, y = found.test or (found.X[:0], None)
    return replace(found, X=change(found.X), test=(change(X), y), validation=None)


def start(reading: str, d: int, run: int) -> dict[str, Any]:
    """The setting of the start, if it is not zero."""
    if reading not in FROM_RANDOM:
        return {}
    return {"initial_weights": np.random.default_rng([run, 1]).standard_normal(d) / np.sqrt(d)}


def create_learner(setup: Setup, method: str, run: int, given: Mapping[str, Any]) -> Any:
    """A new learner of one of METHODS."""
    if method == "Greedy":
        return setup.create("greedy", run)
    if method == "One-Step SGD":
        return setup.create("one_step_sgd", run, **given)
    return setup.create("orfit", run, memory=setup["memory"], summary=SUMMARIES[method], **given)


def measure(setup: Setup, cell: Cell) -> xarray.Dataset:
    """Errors after every row, of every method."""
    import xarray

    found = rows(setup, cell["reading"], cell["run"])
    given = start(cell["reading"], found.X.shape[1], cell["run"])
    recorded = [trajectory(create_learner(setup, m, cell["run"], given), found, setup["sample"]) for m in METHODS]
    test, absolute, sample = (np.array(part) for part in zip(*recorded, strict=True))
    return xarray.Dataset(
        {
            "test_error": (("learner", "row"), test, about("rad", "root mean squared error on the test images")),
            "absolute": ("learner", absolute, about("rad", "mean absolute error on the test images, at the end")),
            "sample_error": (("learner", "row"), sample, about("rad", "|y - f(x)| on the example that is followed")),
            "tested": tested(found, setup),
        },
        {"learner": list(METHODS), "row": np.arange(1, len(found.X) + 1)},
    )


def tested(found: Data, setup: Setup) -> tuple[Any, ...]:
    """The variable with the number of test images."""
    return (), len(found.test[0]), about("1", f"images tested on: {data.origin(setup.data)}")  # type: ignore[index]


def images(here: xarray.Dataset, setup: Setup) -> Claim:
    """The learned and tested images, compared with the thesis."""
    found = f"{setup['rows']} and {int(here.tested.values.flat[0]):,} of the digit 2"
    why = here.tested.attrs["long_name"].partition(": ")[2]
    return Claim("images learned and tested on", "thesis, 5.1", "100 and 1,032 of the digit 2", found, why)


def trajectory(learner: Any, found: Data, sample: int) -> tuple[Array, float, Array]:
    """Test error and error of the followed example after every row, and the mean absolute error at the end."""
    n = len(found.X)
    test, followed = np.empty(n), np.empty(n)
    one = found.cut(sample - 1, sample)

    def observe(done: int) -> None:
        test[done - 1] = NUMBERS.summary(learner, found.test)  # type: ignore[arg-type]
        followed[done - 1] = NUMBERS.summary(learner, one)

    learner.partial_fit(*found.cut(0, 0))
    learn([learner], found, Protocol(), range(1, n), observe)
    X, y = found.test  # type: ignore[misc]
    return test, float(abs(learner.predict(X) - y).mean()), followed
