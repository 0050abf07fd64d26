"""The dated record of docs/gpu.md, from the files of all parts, complete or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.gpu.cases import DTYPES
from benchmarks.gpu.options import ROOT
from benchmarks.gpu.runner import plain
from benchmarks.gpu.scale import end_state_table, fleet_table
from benchmarks.gpu.tables import crossings, goals, main_table, results_of
from benchmarks.gpu.units import DONE, FAILED, LEFT, Found, Journal, Part
from benchmarks.pages import filled
from orfit_bench.jobs.files import replace_text

PAGE = ROOT / "docs" / "gpu.md"
All = dict[str, dict[str, Found]]
"""The outcome of every unit of every part."""


def write(folder: Path, parts: Sequence[Part], small: bool, target: Path) -> None:
    """Write `target`: its own text, or that of docs/gpu.md if it is new, with the record between the marks."""
    found = {part.name: of_size(Journal(folder / f"{part.name}.jsonl").found(), small) for part in parts}
    page = filled((target if target.exists() else PAGE).read_text(), "".join(record(parts, found, small)))
    replace_text(target, page)


def of_size(found: dict[str, Found], small: bool) -> dict[str, Found]:
    """The units of a trial, or those with the full sizes."""
    return {name: one for name, one in found.items() if one.arguments.get("small", small) == small}


def record(parts: Sequence[Part], found: All, small: bool) -> Iterator[str]:
    """The whole record: all measurements, and what was not measured."""
    if small:
        yield "**A trial with tiny sizes: no figure here says anything.**\n\n"
    yield where([one for of in found.values() for one in of.values()])
    yield from limits(found["tables"])
    yield from missing(parts, found)
    for dtype in DTYPES:
        yield from kit(dtype, found[f"check-{dtype}"])
    yield "\n"
    several = len({device(one) for of in found.values() for one in of.values() if one.where}) > 1
    if several:
        yield from devices(found)
    if found["tables"].keys() - {"limits"}:
        yield from main_table(found["tables"])
        yield "\nThe smallest measured d from which CuPy is faster than Numba:\n\n"
        yield from crossings(found["tables"])
        yield "\n"
    yield from goals(found["tables"])
    yield from fleet_table(found["fleets"], results_of(found["tables"], "limits"))
    yield from end_state_table(found["end-states"], results_of(found["tables"], "limits"))
    yield from costs(found["look"])
    yield from profiles(found["profile"])


def where(found: Sequence[Found]) -> str:
    """Dates, devices, hosts and versions; several of each if calls differed."""
    if not found:
        return "Nothing was measured yet.\n"
    days = sorted({one.date[:10] for one in found})
    machines = list(dict.fromkeys(machine(one.where) for one in found if one.where))
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"{when}, `python3 dev.py gpu`. {' And: '.join(machines)}\n"


def machine(results: dict[str, Any]) -> str:
    """One machine, and the versions on it."""
    device = dict(results.get("device", {}))
    name, versions = device.pop("device", "an unknown device"), device | results.get("versions", {})
    text = ", ".join(f"{key} {value}" for key, value in versions.items())
    return f"{name}; host {results.get('cpu', 'unknown')}, {results.get('cores', '?')} cores; {text}."


def device(one: Found) -> str:
    """The name of the device that a unit ran on."""
    return str(one.where.get("device", {}).get("device", "an unknown device"))


def devices(found: All) -> Iterator[str]:
    """The device of each part, if there were several: figures of different devices cannot be compared."""
    for part, of in found.items():
        by: dict[str, list[str]] = {}
        for name, one in of.items():
            if one.where:
                by.setdefault(device(one), []).append(name)
        if len(by) == 1:
            yield f"- {part}: on {next(iter(by))}\n"
        elif by:
            yield "".join(f"- {part}, on {where}: {'; '.join(names)}\n" for where, names in by.items())
    yield "\n"


def limits(found: dict[str, Found]) -> Iterator[str]:
    """The bandwidth and the rate of products that the device reaches."""
    if results := results_of(found, "limits"):
        rates = ", ".join(f"{results[dtype] / 1e12:.3g} TFLOP/s in {dtype}" for dtype in DTYPES if dtype in results)
        moved = f"{results['bandwidth'] / 1e9:.0f} GB/s" if "bandwidth" in results else "an unknown bandwidth"
        yield f"With random numbers, it copies {moved} and multiplies matrices at {rates}.\n"


def missing(parts: Sequence[Part], found: All) -> Iterator[str]:
    """How many units of each part are not done or failed."""
    lines = []
    for part in parts:
        here = found[part.name]
        by = Counter(here[unit.name].status if unit.name in here else LEFT for unit in part.units)
        results = [f"{by[status]} {text}" for status, text in ((LEFT, "not done"), (FAILED, "failed")) if by[status]]
        if results:
            lines.append(f"- {part.name}: of {len(part.units)}, {', '.join(results)}\n")
    if lines:
        yield "\nMissing:\n\n"
        yield from lines


def kit(dtype: str, found: dict[str, Found]) -> Iterator[str]:
    """The counts of all methods in one dtype, and every check that failed."""
    total: Counter[str] = Counter()
    for one in found.values():
        total.update(one.results.get("counts", {}))
    complete = [name for one in found.values() if "counts" in one.results for name in one.arguments["methods"]]
    seeds = sorted({one.arguments.get("seed", 0) for one in found.values()})
    text = ", ".join(f"{n} {status}" for status, n in total.items()) or "no check ran"
    yield f"\nThe kit in {dtype}, of {len(complete)} methods, seed {', '.join(map(str, seeds)) or 0}: {text}.\n"
    lines = [line for one in found.values() for line in failures(one)]
    yield from ["\n", *lines] if lines else []


def failures(one: Found) -> Iterator[str]:
    """The failed checks of some methods; without any, or after an incomplete run, also why the unit failed."""
    failed = {key.partition(" ")[2]: why for key, why in one.results.items() if key.startswith(f"{FAILED} ")}
    yield from (f"- {check}: {why}\n" for check, why in failed.items())
    if one.status == FAILED and (not failed or "counts" not in one.results):
        yield f"- {', '.join(one.arguments['methods'])}: {one.why}\n"


def costs(found: dict[str, Found]) -> Iterator[str]:
    """The results of the first look, one per line."""
    shown = {name: {k: v for k, v in one.results.items() if k != "trace"} for name, one in found.items()}
    if shown:
        yield "\nA first look:\n\n"
    for name, results in shown.items():
        if name != "libraries":
            wrong = "" if found[name].status == DONE else f" ({found[name].status}: {found[name].why})"
            yield f"- {name}: {', '.join(f'{k} {plain(v)}' for k, v in results.items())}{wrong}\n"


def profiles(found: dict[str, Found]) -> Iterator[str]:
    """The functions that took most of the host's time, for each profiled case."""
    for name, one in found.items():
        if "top" in one.results:
            yield f"\n{name}, {one.results['ms']:.3g} ms a chunk of {one.results['rows']} rows; by cProfile:\n\n"
            yield "| function | calls a chunk | ms | ms with calls |\n|---|--:|--:|--:|\n"
            for line in one.results["top"]:
                numbers = (f"{line[key]:.3g}" for key in ("calls", "ms", "ms with calls"))
                yield f"| `{line['function']}` | {' | '.join(numbers)} |\n"
