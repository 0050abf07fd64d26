"""The units of every part."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from benchmarks.gpu.cases import CASES, DTYPES, sizes
from benchmarks.gpu.costs import METHODS as RATES
from benchmarks.gpu.costs import WORK
from benchmarks.gpu.looking import FACTS
from benchmarks.gpu.profiling import PROFILED
from benchmarks.gpu.scale import END_STATES, FLEETS
from benchmarks.gpu.units import Part, Unit
from orfit_bench_cupy import METHODS

SHORT, LONG, KIT = 120.0, 240.0, 1200.0
"""Time limits in seconds of units: a fact, a size, all checks of some methods."""
GROUP = 6
"""Number of methods whose checks are one unit."""


def plan(options: argparse.Namespace, backend: str = "cupy") -> list[Part]:
    """All parts except the page, with the units that the options select."""
    common = {"backend": backend, "small": options.sizes == "small"}
    parts = [
        Part("look", look(common)),
        Part("warm", warm(common)),
        *(Part(f"check-{dtype}", check(common, dtype, options)) for dtype in DTYPES),
        Part("fleets", scale(common, "fleet", FLEETS)),
        Part("end-states", scale(common, "end_state", END_STATES)),
        Part("tables", tables(common)),
        Part("profile", profile(common)),
    ]
    return [part._replace(units=[unit for unit in part.units if wanted(unit, options)]) for part in parts]


def wanted(unit: Unit, options: argparse.Namespace) -> bool:
    """Whether the options select a unit; they only exclude units that have a method or a case."""
    of_method = not (unit.method and options.methods) or unit.method in options.methods
    of_case = not (unit.case and options.cases) or any(word in unit.case for word in options.cases)
    return of_method and of_case


def look(common: dict[str, Any]) -> list[Unit]:
    """Facts, costs and rates."""
    backend = {"backend": common["backend"]}
    return [
        *(Unit(fact, "benchmarks.gpu.looking:look", backend | {"fact": fact}, SHORT) for fact in FACTS),
        *(Unit(work, "benchmarks.gpu.costs:cost", common | {"work": work}, SHORT) for work in WORK),
        *(
            Unit(f"rate of {name}", "benchmarks.gpu.costs:rate", common | {"name": name}, SHORT, method)
            for name, (method, _, _) in RATES.items()
        ),
    ]


def warm(common: dict[str, Any]) -> list[Unit]:
    """Every method in both dtypes."""
    return [
        Unit(
            f"{method}, {dtype}",
            "benchmarks.gpu.warming:warm",
            common | {"method": method, "dtype": dtype},
            LONG,
            method,
        )
        for dtype in DTYPES
        for method in METHODS
    ]


def check(common: dict[str, Any], dtype: str, options: argparse.Namespace) -> list[Unit]:
    """Every method in one dtype, in groups whose checks share the processes of a call."""
    chosen, how = common | {"dtype": dtype, "seed": options.seed}, {"workers": options.workers}
    names = options.methods or METHODS
    groups = [names[i : i + GROUP] for i in range(0, len(names), GROUP)]
    call = "benchmarks.gpu.checking:check"
    return [Unit(", ".join(group), call, chosen | {"methods": list(group)}, KIT, how=how) for group in groups]


def scale(common: dict[str, Any], what: str, cases: Iterable[str]) -> list[Unit]:
    """Every case of fleets, or of end states."""
    call = f"benchmarks.gpu.scale:measure_{what}"
    return [Unit(name, call, common | {"name": name}, SHORT, name.partition(",")[0]) for name in cases]


def tables(common: dict[str, Any]) -> list[Unit]:
    """The limits of the device, and every size of every case."""
    cases = [case.shrunk() for case in CASES] if common["small"] else CASES
    return [
        Unit("limits", "benchmarks.gpu.measuring:limits", common, SHORT),
        *(
            Unit(
                size_name(case.name, d, dtype),
                "benchmarks.gpu.measuring:measure",
                common | {"case": case.name, "d": d, "dtype": dtype},
                LONG,
                case.method,
                case.name,
            )
            for case, d, dtype in sizes(cases)
        ),
    ]


def size_name(case: str, d: int, dtype: str) -> str:
    """The name of a size of a case."""
    return f"{case}, d = {d:,}, {dtype}"


def profile(common: dict[str, Any]) -> list[Unit]:
    """A few cases."""
    call = "benchmarks.gpu.profiling:profile"
    return [
        Unit(size_name(case, d, "float64"), call, common | {"case": case, "d": d}, SHORT, case.partition(",")[0], case)
        for case, d in (((case, 20 if common["small"] else d)) for case, d in PROFILED)
    ]
