"""The page of docs/ with our numbers beside the sources', from the files that `orfit-bench reproduce` left.

python -m benchmarks.experiments FOLDER, whose files NAME.nc and NAME-DATA.nc are those of any runs.
"""

import json
import sys
from pathlib import Path

import xarray as xr

from benchmarks.pages import fill
from orfit_bench.report.page import Listing, Number
from orfit_bench.reproduce import EXPERIMENTS
from orfit_bench.reproduce.experiment import Experiment, Setup

PAGE = Path(__file__).parents[1] / "docs" / "experiments.md"


def main(folder: str) -> None:
    """Write the page from the files in the folder."""
    parts = [part(e, file) for e in EXPERIMENTS.values() for file in files(e, Path(folder))]
    fill(PAGE, "\n".join(parts))


def files(experiment: Experiment, folder: Path) -> list[Path]:
    """What its runs left, by the data that they learned."""
    stems = [experiment.name, *(f"{experiment.name}-{data}" for data in experiment.data[1:])]
    return [path for stem in stems if (path := folder / f"{stem}.nc").is_file()]


def part(experiment: Experiment, file: Path) -> str:
    """A heading, and the table beside the source."""
    results = xr.load_dataset(file)
    protocol = json.loads(results.attrs["protocol"])
    setup = Setup(results.attrs["data"], results.attrs["backend"], protocol)
    table = next(s for s in experiment.sections(results, setup) if s.heading == "Beside the source").parts[0]
    assert isinstance(table, Listing)
    on = f" on {setup.data}" if experiment.data else ""
    head = f"## {experiment.name}{on}\n\n{experiment.summary} ({experiment.source}); {protocol['runs']} runs.\n"
    rows = [table.columns, ["---"] * len(table.columns), *table.rows]
    return head + f"\n{table.caption}:\n\n" + "".join(f"| {' | '.join(map(shown, row))} |\n" for row in rows)


def shown(cell: str | Number) -> str:
    """The cell without what Markdown would take for its own."""
    text = cell.text if isinstance(cell, Number) else cell
    return "".join(f"\\{c}" if c in "\\|*_`<>[]" else c for c in text) if text != "---" else text


if __name__ == "__main__":
    main(*sys.argv[1:])
