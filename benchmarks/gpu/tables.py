"""The tables of docs/gpu.md, from the results of the units."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from benchmarks.gpu.cases import DTYPES, Case, by_name, limit_of
from benchmarks.gpu.goals import GOALS, Goal, Results
from benchmarks.gpu.plan import size_name
from benchmarks.gpu.units import DONE, Found

HEAD = (
    "| method | d | dtype | rows a chunk | Numba, rows/s | CuPy, rows/s | times Numba | copying them, rows/s "
    "| share of the limit |\n|---|--:|---|--:|--:|--:|--:|--:|--:|\n"
)
CROSSING = "| method | d, float64 | d, float32 |\n|---|--:|--:|\n"
AIMS = "| goal, in float64 | rows a chunk | reached | wanted |\n|---|--:|--:|--:|\n"
NONE = "n/a"


def main_table(found: dict[str, Found]) -> Iterator[str]:
    """Every size that was measured, in the order of the cases."""
    limits = results_of(found, "limits")
    yield HEAD
    for name, case in by_name().items():
        for d, _, dtype, one in sorted(sizes_of(found, name)):
            yield row(case, d, dtype, found[one], limits)


def sizes_of(found: dict[str, Found], case: str) -> Iterator[tuple[int, int, str, str]]:
    """The sizes of a case that were tried, with a number by which dtypes are sorted, and the names of the units."""
    for name, one in found.items():
        if one.arguments.get("case") == case:
            d, dtype = one.arguments["d"], one.arguments["dtype"]
            yield d, DTYPES.index(dtype), dtype, name


def results_of(found: dict[str, Found], name: str) -> Results:
    """The results of a unit; empty if it was not tried."""
    return found[name].results if name in found else {}


def row(case: Case, d: int, dtype: str, one: Found, limits: Results) -> str:
    """A row of the main table, including results from before a unit failed."""
    results, ratio = one.results, NONE
    rows = str(results.get("rows", f"{NONE} ({results.get('why') or one.why or 'not finished'})"))
    if "numba" in results and "cupy" in results:
        ratio = f"{results['cupy'] / results['numba']:.2g}"
    numba = number(results, "numba")
    if results.get("numba_rows", results.get("rows")) != results.get("rows"):
        numba += f" (of {results['numba_rows']} rows)"
    if "rows" in results and one.status != DONE:
        numba = f"{NONE} ({one.why or 'not finished'})" if "numba" not in results else numba
    cells = [case.name, f"{d:,}", dtype, rows, numba, number(results, "cupy"), ratio, number(results, "copying")]
    return f"| {' | '.join([*cells, share(case, d, dtype, results, limits)])} |\n"


def number(results: Results, name: str) -> str:
    """Rows per second, formatted."""
    return f"{results[name]:,.0f}" if name in results else NONE


def share(case: Case, d: int, dtype: str, results: Results, limits: Results) -> str:
    """The share of the device's limit that was reached."""
    if "cupy" not in results or dtype not in limits or "bandwidth" not in limits:
        return NONE
    size = {"n": d, "m": d} if case.layered else {"d": d}
    flops, numbers = limit_of(case.limit, case.letters | size)
    least = max(flops / limits[dtype], numbers * np.dtype(dtype).itemsize / limits["bandwidth"])
    return f"{least * results['cupy']:.1%}"


def crossings(found: dict[str, Found]) -> Iterator[str]:
    """For every method and dtype, the smallest size from which CuPy was faster than Numba."""
    yield CROSSING
    for case in by_name():
        rates: dict[str, list[tuple[int, float, float]]] = {dtype: [] for dtype in DTYPES}
        for d, _, dtype, name in sizes_of(found, case):
            results = found[name].results
            if "cupy" in results and "numba" in results:
                rates[dtype].append((d, results["cupy"], results["numba"]))
        if any(rates.values()):
            yield f"| {case} | {' | '.join(crossing(rates[dtype]) for dtype in DTYPES)} |\n"


def crossing(rates: Iterable[tuple[int, float, float]]) -> str:
    """The smallest size from which CuPy was always faster, or none, for triples of size, CuPy's rate and Numba's."""
    known = list(rates)
    slower = [d for d, cupy, numba in known if cupy <= numba]
    faster = [d for d, _, _ in known if d > max(slower, default=0)]
    return f"{min(faster):,}" if faster else "none measured"


def goals(found: dict[str, Found]) -> Iterator[str]:
    """The table of goals, followed by the reasons for them."""
    limits = results_of(found, "limits")
    yield AIMS
    for goal in GOALS:
        yield goal_row(goal, results_of(found, size_name(goal.case, goal.d, "float64")), limits)
    yield "\n"
    yield from (f"- {goal.case}, d = {goal.d:,}: {goal.why}.\n" for goal in GOALS)


def goal_row(goal: Goal, results: Results, limits: Results) -> str:
    """A row of the goals."""
    what = f"{goal.case}, d = {goal.d:,}, {goal.of}"
    try:
        reached = f"{goal.reached(results, limits):.2g}"
    except KeyError:  # not measured
        reached = f"{NONE} ({results.get('why', 'not measured')})"
    return f"| {what} | {results.get('rows', NONE)} | {reached} | {goal.wanted:g} |\n"
