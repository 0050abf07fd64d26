"""The arguments and options of `python3 dev.py gpu`; uses only the standard library, since it is imported first."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARTS = {
    "look": "what CuPy does on this device, and what each kind of work costs there",
    "warm": "compile CuPy's kernels, in one process, before checks and times need them",
    "check-float64": "the conformance kit in float64, six methods at a time",
    "check-float32": "the conformance kit in float32",
    "fleets": "rows per second of fleets, of rows on the device and of others, and of Numba's",
    "end-states": "rows per second of ridge regression that is asked once",
    "tables": "rows per second compared with Numba on the CPU, the most important sizes first",
    "profile": "where the host spends its time",
    "page": "docs/gpu.md with all that was measured so far",
}
MOST_WORKERS = 8


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def words(text: str) -> list[str]:
    """The words of a comma-separated list."""
    return [word for word in text.split(",") if word]


def positive(text: str) -> float:
    """A number above 0."""
    if not (number := float(text)) > 0:
        raise ValueError(text)
    return number


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    listed = "\n".join(f"  {name:15}{what}" for name, what in PARTS.items())
    options = argparse.ArgumentParser(
        prog="python3 dev.py gpu",
        description=f"The CuPy backend on a device. Without a PART, all that is not finished:\n\n{listed}",
        epilog="Every call puts the page into the output; docs/gpu.md is written where `page` is named.\n"
        "Ends with 0 where all is done, with 1 where something failed, with 3 where the time was over\n"
        "before all was done, with 2 where the command was wrong.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("parts", nargs="*", metavar="PART")
    options.add_argument("--list", action="store_true", help="only list what is done, failed and left of each part")
    options.add_argument("--again", action="store_true", help="run only the units that failed")
    options.add_argument("--minutes", type=positive, default=9.0, help="longest time of the call (default: 9)")
    options.add_argument("--output", type=Path, default=ROOT / "gpu-results", help="folder (default: gpu-results here)")
    options.add_argument("--wheels", type=Path, help="folder of wheels from which missing packages are installed")
    options.add_argument("--methods", type=words, default=[], metavar="A,B", help="only these methods")
    options.add_argument("--cases", type=words, default=[], metavar="A,B", help="only cases whose name has such a word")
    options.add_argument("--seed", type=int, default=0, help="seed of the kit (default: 0)")
    options.add_argument("--workers", type=int, default=min(MOST_WORKERS, cores()), help="processes of the kit")
    options.add_argument("--sizes", choices=("full", "small"), default="full", help="small: a trial with tiny sizes")
    options.add_argument("--page", type=Path, help="the page to write, with the part `page` (default: docs/gpu.md)")
    return options


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The options; exits with status 2 if they are wrong."""
    options = parser()
    found = options.parse_intermixed_args(arguments)
    if wrong := [part for part in found.parts if part not in PARTS]:
        options.error(f"no part {wrong[0]!r}: want one of {', '.join(PARTS)}")
    if found.workers < 1 or found.seed < 0:
        options.error("--workers must be above 0, and --seed at least 0")
    if found.wheels and not found.wheels.is_dir():
        options.error(f"--wheels {found.wheels}: there is no such folder")
    if found.page and (found.sizes == "small") and found.page.resolve() == ROOT / "docs" / "gpu.md":
        options.error("--sizes small is not for docs/gpu.md: choose another --page")
    found.output = found.output.resolve()
    return found
