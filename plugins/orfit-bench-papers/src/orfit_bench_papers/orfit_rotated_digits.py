"""Thesis, section 5.1: one pass over rotated digits with room for ten directions, against four simpler ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.bench.error import NUMBERS
from orfit_bench.bench.learning import learn
from orfit_bench.bench.protocol import Protocol
from orfit_bench.catalogue.streams.rotated_digits import Turn, turned
from orfit_bench.report.page import Listing, Number, Section, Text, drawn
from orfit_bench.spec.stream import Array, Data, Pair
from orfit_bench_papers import data
from orfit_bench_papers.declarations import EXPERIMENTS
from orfit_bench_papers.page import ONE_RUN, Beside, Open, axes, band, beside, left_open, legend, spread
from orfit_bench_papers.procedure import Axes, Cell, Procedure, Setup, about

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
"""What the thesis leaves open: its name, how it is read here, and another reading."""
FROM_RANDOM = ("random start", "one set of rows", "bytes, random start")
"""Readings with a random start: the first differs in nothing else from how it is read here, the others from it."""


def readings(setup: Setup) -> Axes:
    """Every reading, and every run."""
    return {"reading": list(READINGS), "run": list(range(setup["runs"]))}


def rows(setup: Setup, reading: str, run: int) -> Data:
    """The rows of a run under a reading."""
    turns: dict[str, Turn] = {
        "clockwise": clockwise,
        "nearest pixel": partial(turned, order=0),
        "cubic": partial(turned, order=3),
    }
    turn = turns.get(reading, turned)
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
    """The images turned the other way."""
    return turned(images, -angles)[0], angles


def mapped(found: Data, change: Callable[[Array], Array]) -> Data:
    """The data with change(X) in the place of every X that is learned or tested on."""
    X, y = found.test or (found.X[:0], None)
    return replace(found, X=change(found.X), test=(change(X), y), validation=None)


def start(reading: str, d: int, run: int) -> dict[str, Any]:
    """The setting of the start, where it is not zero."""
    if reading not in FROM_RANDOM:
        return {}
    return {"initial_weights": np.random.default_rng([run, 1]).standard_normal(d) / np.sqrt(d)}


def learner(setup: Setup, method: str, run: int, given: Mapping[str, Any]) -> Any:
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
    made = [trajectory(learner(setup, m, cell["run"], given), found, setup["sample"]) for m in METHODS]
    test, absolute, sample = (np.array(part) for part in zip(*made, strict=True))
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
    """The variable that says how many images are tested on."""
    return (), len(found.test[0]), about("1", f"images tested on: {data.origin(setup.data)}")  # type: ignore[index]


def images(here: xarray.Dataset, setup: Setup) -> Beside:
    """What is learned and tested on, beside the thesis."""
    found = f"{setup['rows']} and {int(here.tested.values.flat[0]):,} of the digit 2"
    why = here.tested.attrs["long_name"].partition(": ")[2]
    return Beside("images learned and tested on", "thesis, 5.1", "100 and 1,032 of the digit 2", found, why)


def trajectory(made: Any, found: Data, sample: int) -> tuple[Array, float, Array]:
    """Test error and error of the followed example after every row, and the mean absolute error at the end."""
    n = len(found.X)
    test, followed = np.empty(n), np.empty(n)
    one = found.cut(sample - 1, sample)

    def look(done: int) -> None:
        test[done - 1] = NUMBERS.shown(made, found.test)  # type: ignore[arg-type]
        followed[done - 1] = NUMBERS.shown(made, one)

    made.partial_fit(*found.cut(0, 0))
    learn([made], found, Protocol(), range(1, n), look)
    X, y = found.test  # type: ignore[misc]
    return test, float(abs(made.predict(X) - y).mean()), followed


def sections(results: xarray.Dataset, setup: Setup) -> list[Section]:
    """What the page shows."""
    here = results.sel(reading="as here")
    test, sample = (
        here.test_error.transpose("learner", "run", "row"),
        here.sample_error.transpose("learner", "run", "row"),
    )
    return [
        Section("Figure 5-1", [drawn(_curves(test.values, sample.values, setup), _CAPTION, _alt(test.values))]),
        beside(_claims(here, test.values, sample.values, setup)),
        Section("At the end", [_table(here)]),
        left_open(_open(results), "Test error of ORFit after the last row, in radians, under other readings"),
        Section("What moves the result, and what does not", [Text(_remarks(results, setup))]),
    ]


_CAPTION = (
    "Left: root mean squared error on test images after every row. Right: error of one training example; the "
    "vertical line is the step at which it is learned. Means, with one standard deviation to both sides."
)


def _curves(test: Array, sample: Array, setup: Setup) -> Any:
    made, (left, right) = axes(2, height=4.6)
    x = np.arange(1, test.shape[-1] + 1)
    for i, name in enumerate(METHODS):
        band(left, x, test[i], name, i)
        band(right, x, sample[i], name, i)
    right.axvline(setup["sample"], color="#d62728", linestyle=(0, (4, 2)), linewidth=1)
    left.set(xlabel="rows learned", ylabel="test error (rad)", title="(a) test error", ylim=(0, 2.6))
    right.set(xlabel="rows learned", ylabel="error (rad)", title=f"(b) example {setup['sample']}", ylim=(0, 2.6))
    legend(left, 8, loc="upper right")
    return made


def _alt(test: Array) -> str:
    ends = ", ".join(f"{name} {test[i, :, -1].mean():.2f}" for i, name in enumerate(METHODS))
    return f"Curves of the error against rows learned. Test error after the last row in radians: {ends}."


def _claims(here: xarray.Dataset, test: Array, sample: Array, setup: Setup) -> list[Beside]:
    place, at = "thesis, 5.1, Figure 5-1", METHODS.index
    mean, end = test.mean(axis=1), test[:, :, -1]
    rivals = [at(name) for name in METHODS if not name.startswith("ORFit") or name in METHODS[2:4]]
    behind = np.flatnonzero((mean[rivals] <= mean[0]).any(axis=0))
    first = 1 if not len(behind) else int(behind[-1]) + 2
    order = "never at the end" if first > test.shape[-1] else f"from row {first} on"
    kept, lost = sample[0, :, -1], sample[at("One-Step SGD"), :, -1]
    return [
        images(here, setup),
        Beside("ORFit's test error is below all baselines' after enough steps", place, "a curve, no number", order,
               "in the mean over runs"),
        Beside("ORFit varies less between runs", place, "a band, no number", _variation(end, rivals),
               "standard deviations at the end"),
        Beside(f"ORFit keeps the error of example {setup['sample']} low", place, "a curve, no number",
               spread(kept), "rad, after the last row"),
        Beside("other methods forget it", place, "a curve, no number", spread(lost), "One-Step SGD, rad"),
        *(Beside(f"test error of {name} at the end", place, "a curve, no number", spread(end[i]), "rad")
          for i, name in enumerate(METHODS)),
    ]  # fmt: skip


def _variation(end: Array, rivals: Sequence[int]) -> str:
    """Whether ORFit's errors at the end (method, run) have the least standard deviation, and all of these."""
    if end.shape[1] == 1:
        return ONE_RUN
    spreads = end.std(axis=1, ddof=1)
    less = [METHODS[i] for i in rivals if spreads[i] <= spreads[0]]
    said = f"does not hold of {', '.join(less)}" if less else "holds"
    return f"{said}: {spreads[0]:.2g} against " + ", ".join(f"{METHODS[i]} {spreads[i]:.2g}" for i in rivals)


def _table(here: xarray.Dataset) -> Listing:
    rows = []
    for name in METHODS:
        one = here.sel(learner=name)
        followed = one.sample_error.transpose("run", "row").values
        rows.append((name, spread(one.test_error.isel(row=-1)), spread(one.absolute), spread(followed[:, -1])))
    columns = ("method", "root mean squared error", "mean absolute error", "error of the example followed")
    return Listing("After the last row: mean and standard deviation over the runs, in radians", columns, rows, True)


def _open(results: xarray.Dataset) -> list[Open]:
    def end(reading: str) -> Number:
        return spread(results.test_error.sel(reading=reading, learner="ORFit").isel(row=-1))

    rows = [
        Open(*READINGS[name], end(FROM_RANDOM[0] if name in FROM_RANDOM[1:] else "as here"), end(name))
        for name in list(READINGS)[1:]
    ]
    absolute = spread(results.absolute.sel(reading="as here", learner="ORFit"))
    return [*rows, Open("error norm", "root mean square", "mean absolute error", end("as here"), absolute)]


def _remarks(results: xarray.Dataset, setup: Setup) -> list[str]:
    ends = results.test_error.isel(row=-1).mean("run")
    first = [str(ends.sel(reading=r).idxmin("learner").item()) for r in READINGS]
    kept = [r for r, name in zip(READINGS, first, strict=True) if name == "ORFit"]
    n, memory = setup["rows"], setup["memory"]
    return [
        f"ORFit has the least mean error at the end under {len(kept)} of {len(READINGS)} readings: "
        f"{', '.join(kept) or 'none'}.",
        f"Rows are {n}, directions kept are {memory}: what the memory cannot hold is forgotten, by which directions "
        "it drops.",
        "Algorithm 2 of the thesis is run as corrected (its line 9 must normalise the residual of the gradient, not "
        "the gradient); as printed its basis is not orthonormal and the errors explode.",
    ]


PROCEDURE = Procedure(
    EXPERIMENTS["orfit-rotated-digits"],
    protocol={"runs": 10, "rows": 100, "memory": 10, "sample": 16},
    axes=readings,
    measure=measure,
    sections=sections,
    ranges={"rows": "[2, inf)", "sample": "[1, {rows}]"},
)
