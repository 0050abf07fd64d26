"""The command `python -m orfit_bench.tracking freeze`, which stores trajectories."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from orfit_bench.tracking import freeze_trajectories, workloads


def main(arguments: Sequence[str] | None = None) -> None:
    """Store the trajectories of all methods of this repository, or of named ones in a file."""
    parser = argparse.ArgumentParser(prog="python -m orfit_bench.tracking", description=main.__doc__)
    freeze = parser.add_subparsers(required=True).add_parser("freeze", help=main.__doc__)
    freeze.add_argument("methods", nargs="*", metavar="METHOD")
    freeze.add_argument("--file", type=Path, help="an .npz file; required if methods are named")
    freeze.add_argument("--backend", default="numpy")
    given = parser.parse_args(arguments)
    if bool(given.methods) != bool(given.file):
        parser.error("name methods and --file, or neither")
    try:
        numbers = freeze_trajectories(given.methods, given.file, given.backend)
    except (workloads.Missing, OSError, ValueError) as error:
        parser.error(str(error))
    print(f"{numbers} numbers of {len(given.methods or workloads.METHODS)} methods in {given.file or 'the package'}")


if __name__ == "__main__":
    main()
