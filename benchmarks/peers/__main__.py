"""Compare the package with others and write docs/peers.md: python3 dev.py peers [--again] [WORD]...

Without words, all rows that have not been measured yet are measured. Words select rows whose names contain all of them,
and --again also measures rows that have been measured. Every row is stored immediately, so that an interrupted run can
resume. The cases of a row take turns in one process on one thread; the median CPU time of five rounds counts.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.pages import fill
from benchmarks.peers.data import Absent, Comparison
from benchmarks.peers.timing import cpu_seconds
from orfit_bench.jobs.files import replace_text
from orfit_bench.jobs.provenance import machine, versions

ROOT = Path(__file__).resolve().parents[2]
PAGE, STORE = ROOT / "docs" / "peers.md", ROOT / ".peers.json"
MODULES = ("one_sample", "chunks", "solutions", "apa", "kalman")
Row = dict[str, Any]


def measure(cases: list[tuple[str, Any]], target: float) -> Row:
    """The seconds of each case, and the ratio of the fastest other one to ours."""
    reasons = {name: case.reason for name, case in cases if isinstance(case, Absent)}
    seconds = {name: case for name, case in cases if isinstance(case, float)}
    seconds |= cpu_seconds([(name, case) for name, case in cases if callable(case)])
    (ours, *_), others = cases, {name: t for name, t in seconds.items() if name != cases[0][0]}
    best = min(others, key=lambda name: others[name], default="")
    ratio = others[best] / seconds[ours[0]] if best else None
    load = round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None
    found = {"target": target, "ratio": ratio, "best": best, "seconds": seconds, "absent": reasons}
    return found | {"load": load, "date": f"{datetime.now(UTC):%Y-%m-%d}"}


def comparisons() -> Iterator[tuple[str, Comparison | str]]:
    """Pairs of a module and a comparison, or of a module and the reason why it has none."""
    for module in MODULES:
        try:
            found = importlib.import_module(f"benchmarks.peers.{module}").comparisons()
        except ImportError as error:
            yield module, str(error)
            continue
        for comparison in found:
            yield module, comparison


def line(name: str, row: Row) -> str:
    """A row of the table, with missed targets in bold."""
    others = [f"{peer} {t:.3g} s" for peer, t in row["seconds"].items() if peer != "orfit_bench"]
    others += [f"{peer}: {reason}" for peer, reason in row["absent"].items()]
    ratio = "not measured" if row["ratio"] is None else f"{row['ratio']:.2f}"
    if row["ratio"] is None or row["ratio"] < row["target"]:
        ratio = f"**{ratio}**"
    ours = row["seconds"].get("orfit_bench", 0)
    return f"| {name} | {ours:.3g} s | {'; '.join(others)} | {ratio} | {row['target']:g} | {row['load']} |"


def page(rows: dict[str, Row], missing: dict[str, str]) -> str:
    """The measured part of the page."""
    reported = ", ".join(f"{k} {v}" for k, v in versions().items())
    reached = sum(row["ratio"] is not None and row["ratio"] >= row["target"] for row in rows.values())
    text = f"{machine()['cpu']}, one thread; {reported}. {reached} of {len(rows)} targets are reached.\n\n"
    text += "| question and cell | orfit_bench | others | ratio | target | load |\n|---|--:|---|--:|--:|--:|\n"
    text += "\n".join(line(name, row) for name, row in rows.items()) + "\n"
    return text + "".join(f"\nNo rows of `{module}`: {reason}.\n" for module, reason in missing.items())


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--again", action="store_true", help="also measure rows that have been measured")
    given = parser.parse_args()
    rows: dict[str, Row] = json.loads(STORE.read_text()) if STORE.exists() else {}
    missing, names = {}, []
    with threadpool_limits(1):
        for module, comparison in comparisons():
            if isinstance(comparison, str):
                missing[module] = comparison
                continue
            name, cases, target = comparison
            names.append(name)
            if (name in rows and not given.again) or not all(word in name for word in given.words):
                continue
            rows[name] = measure(cases, target)
            text = json.dumps(rows, indent=1)
            replace_text(STORE, text)
            print(line(name, rows[name]), flush=True)
    fill(PAGE, page({name: rows[name] for name in names if name in rows}, missing))


if __name__ == "__main__":
    main()
