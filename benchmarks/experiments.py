"""The page of docs/ that compares our numbers with the papers, from the files of `orfit-bench reproduce`.

Run `python -m benchmarks.experiments FOLDER`, where FOLDER contains files NAME.nc and NAME-DATA.nc of any runs. Tables
of runs that are not in the folder do not change.
"""

import json
import re
import sys
from pathlib import Path

import xarray as xr

from benchmarks.pages import fill, measured
from orfit_bench.report.page import Listing, Number
from orfit_bench.spec import Experiment
from orfit_bench_papers import EXPERIMENTS
from orfit_bench_papers.procedure import Setup
from orfit_bench_papers.running import find

PAGE = Path(__file__).parents[1] / "docs" / "experiments.md"


def main(folder: str) -> None:
    """Write the tables of the page for the files in the folder; FileNotFoundError if there are none."""
    kept, found = parts(measured(PAGE.read_text())), {}
    for experiment, data in runs():
        file = Path(folder) / f"{experiment.name}{f'-{data}' if data in experiment.data[1:] else ''}.nc"
        if file.is_file():
            found[title(experiment, data)] = part(experiment, file)
    if not found:
        raise FileNotFoundError(
            f"{folder}: no file of an experiment, want a folder that `orfit-bench reproduce` wrote to"
        )
    complete = kept | found
    fill(PAGE, "\n".join(complete[name] for name in (title(*run) for run in runs()) if name in complete))


def runs() -> list[tuple[Experiment, str]]:
    """Every experiment with each of its data sets, in the order of the page."""
    return [(e, data) for e in EXPERIMENTS.values() for data in e.data or ("",)]


def title(experiment: Experiment, data: str) -> str:
    """The heading of a table."""
    return f"## {experiment.name}{f' on {data}' if data else ''}"


def parts(text: str) -> dict[str, str]:
    """The tables of the page by their headings."""
    pieces = [piece for piece in re.split("^(?=## )", text, flags=re.MULTILINE) if piece.strip()]
    return {piece.partition("\n")[0]: piece.rstrip("\n") + "\n" for piece in pieces}


def part(experiment: Experiment, file: Path) -> str:
    """A heading, and the table that compares with the source."""
    results = xr.load_dataset(file)
    protocol = json.loads(results.attrs["protocol"])
    setup = Setup(results.attrs["data"], results.attrs["backend"], protocol)
    table = next(
        s for s in find(experiment.name).sections(results, setup) if s.heading == "Comparison with the source"
    ).parts[0]
    assert isinstance(table, Listing)
    heading = title(experiment, setup.data if experiment.data else "")
    head = f"{heading}\n\n{experiment.summary} ({experiment.source}); {counted(protocol['runs'])}.\n"
    rows = [table.columns, ["---"] * len(table.columns), *table.rows]
    return head + f"\n{table.caption}:\n\n" + "".join(f"| {' | '.join(map(shown, row))} |\n" for row in rows)


def counted(runs: int) -> str:
    """The number of runs."""
    return "1 run" if runs == 1 else f"{runs} runs"


def shown(cell: str | Number) -> str:
    """The cell with characters escaped that have a meaning in Markdown."""
    text = cell.text if isinstance(cell, Number) else cell
    return "".join(f"\\{c}" if c in "\\|*_`<>[]" else c for c in text) if text != "---" else text


if __name__ == "__main__":
    main(*sys.argv[1:])
