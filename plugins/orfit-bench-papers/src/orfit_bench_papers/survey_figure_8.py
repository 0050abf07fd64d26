"""Survey, Figure 8: which methods are equal, with a measurement for every line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orfit_bench.conformance import laws
from orfit_bench.conformance.check import worst
from orfit_bench.conformance.data_sets import data_sets_of
from orfit_bench.report.map import draw_figure
from orfit_bench.report.page import Listing, Number, Section, Text, as_figure
from orfit_bench.spec import Equality
from orfit_bench_papers.declarations import EXPERIMENTS
from orfit_bench_papers.page import Claim, claims_section, holds
from orfit_bench_papers.procedure import Axes, Cell, Procedure, Setup, about

if TYPE_CHECKING:
    import xarray


def named() -> dict[str, Equality]:
    """The lines of the map by name."""
    return {_name(edge): edge for edge in laws.edges()}


def _name(edge: Equality) -> str:
    return f"{edge.one} = {edge.other}" + (f" ({edge.when})" if edge.when else "")


def places(setup: Setup) -> Axes:
    """Every line of the map."""
    return {"line": list(named())}


def measure(setup: Setup, cell: Cell) -> xarray.Dataset:
    """The deviation between the two ends, on the kind of rows that comes nearest to the rounding bound."""
    import xarray

    case = laws.edges()[named()[cell["line"]]]
    seeds, names = range(setup["runs"]), data_sets_of(case.law)
    found = worst(laws.measure_law(case, name, setup.backend, seed=seed) for seed in seeds for name in names)
    return xarray.Dataset(
        {
            "deviation": ((), found.value, about("1", "relative deviation of weights and predictions")),
            "bound": ((), found.bound, about("1", "what rounding allows on these rows")),
        }
    )


def sections(results: xarray.Dataset, setup: Setup) -> list[Section]:
    """The sections of the page."""
    edges = named()
    deviations = dict(zip(results.line.values.tolist(), results.deviation.values.tolist(), strict=True))
    bounds = dict(zip(results.line.values.tolist(), results.bound.values.tolist(), strict=True))
    known = {edges[name]: value for name, value in deviations.items()}
    survey = [name for name in deviations if edges[name].law.source.startswith("survey")]
    rows = [
        (edges[n].one, edges[n].other, edges[n].when, edges[n].law.source, _small(deviations[n]), _small(bounds[n]))
        for n in deviations
    ]
    columns = ("method", "equals", "when", "source", "deviation", "bound of rounding")
    alt = f"Methods and batch solutions joined by {len(deviations)} lines, each with its measured deviation."
    return [
        Section("Figure 8", [as_figure(draw_figure(known), _CAPTION, alt)]),
        claims_section(
            [
                Claim(n, edges[n].law.source, "equal", _small(deviations[n]),
                       f"{holds(deviations[n] < bounds[n])}, to rounding")
                for n in survey
            ],
            "The survey's statements of equality, and the relative deviation measured",
        ),
        Section("All lines", [Listing("Relative deviations and what rounding allows", columns, rows, True)]),
        Section("What to know", [Text(_REMARKS)]),
    ]  # fmt: skip


def _small(value: float) -> Number:
    return Number(value, f"{value:.1e}")


_CAPTION = (
    "Round: methods; square: batch solutions. On every line stands when both ends agree, and the largest relative "
    "deviation that was measured."
)
_REMARKS = [
    "The survey's figure has no numbers and names families; its lines through deep networks (linearized and "
    "layer-wise versions) are here the lines to gp and owm on one layer, and the law of rls and orfit on a model. "
    "Lines of other sources are in the second table.",
    "Each line is a law of the catalogue, which `orfit-bench laws` measures too; `orfit-bench map` draws the same map.",
]

PROCEDURE = Procedure(
    EXPERIMENTS["survey-figure-8"],
    protocol={"runs": 1},
    axes=places,
    measure=measure,
    sections=sections,
)
