"""The peak memory of one cell of the benchmark for each number of rows, as a table and a figure.

    python -m benchmarks.memory [--method NAME ...] [--rows N ...] [--output FILE]

Each cell runs in a separate process: a learner on Numba, its errors and all metrics. The peak is the increase of the
largest resident memory (`ru_maxrss`) of that process by the cell. The rows themselves are in memory; the dashed line is
their size.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from pathlib import Path

FEATURES = 10
METHODS = ("lms", "rls", "ridge", "sgd", "orfit", "kalman", "incremental_pca")
ROWS = (1_000, 10_000, 100_000, 1_000_000)
OUTPUT = Path("docs/pictures/memory.svg")


def peak() -> float:
    """The largest resident memory of this process so far, in bytes."""
    return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure(method: str, rows: int) -> None:
    """Run one cell and print the bytes that it added to the peak; the notes to stderr."""
    from orfit_bench.bench import Cell, run_cell

    settings = {"memory": 20} if method == "orfit" else {}
    run_cell(Cell(method, "numba", "regression", settings, {"n": 500, "d": FEATURES}))  # imports
    before = peak()
    record = run_cell(Cell(method, "numba", "regression", settings, {"n": rows, "d": FEATURES}))
    print(peak() - before)
    print(record["status"], record["reason"], *record.get("notes", []), sep="; ", file=sys.stderr)


def draw(found: dict[str, list[float]], rows: list[int], path: Path) -> None:
    """Write the figure."""
    from orfit_bench.report.plotting import pyplot

    figure, axes = pyplot().subplots(figsize=(6.4, 4.2), layout="constrained")
    for method, peaks in found.items():
        axes.plot(rows[: len(peaks)], [p / 1e6 for p in peaks], marker="o", label=method)
    axes.plot(rows, [8e-6 * n * (FEATURES + 1) for n in rows], "k--", label="the rows")
    axes.set(xscale="log", yscale="log", xlabel="rows", ylabel="peak memory of a cell (MB)")
    axes.set_title(f"Memory of the benchmark, {FEATURES} features")
    axes.legend()
    figure.savefig(path)


def main() -> None:
    """Measure every method and number of rows, print a table and write the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", nargs="+", default=METHODS)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--cell", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.cell:
        measure(given.method[0], given.rows[0])
        return
    found: dict[str, list[float]] = {}
    for method in given.method:
        for n in given.rows:
            command = [sys.executable, "-m", "benchmarks.memory", "--cell", "--method", method, "--rows", str(n)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found.setdefault(method, []).append(max(float(done.stdout), 1e5))
            print(f"{method:16} {n:9,} {found[method][-1] / 1e6:10.1f} MB   {done.stderr.strip()[-120:]}", flush=True)
    draw(found, list(given.rows), given.output)


if __name__ == "__main__":
    main()
