"""Commands that are killed at random moments and run again end with the results of an undisturbed run.

`python3 dev.py kills` tries all; `python3 dev.py kills gate --trials 100 --seed 1` one. In each trial a command is
killed (SIGKILL) up to three times, each time at a random moment of its usual duration, and then run once more.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers import gate_files
from helpers.commands import COMMAND, TIMES, words

from orfit_bench import bench
from orfit_bench.tracking.environment import FOLDER

MOST_KILLS = 3
RUN = words("run --method lms --method rls --backend numpy --stream regression --rows 200 --seed 0 --seed 1 --seed 2")
WORKING_FILES = "*.tmp", "*.lock", "*.journal"
Outputs = dict[str, Any]


@dataclass(frozen=True)
class Trial:
    """A command, its initial folder, and how its output is compared.

    `outputs` maps the name of a file to a function that reads it, and raises if it is incomplete.
    """

    command: list[str]
    outputs: Mapping[str, Callable[[Path], Any]]
    prepare: Callable[[Path], None] = lambda folder: None


def measured(path: Path) -> str:
    """All results of a run except its times and date, as a string, since NaN is not equal to itself."""
    results = bench.load(path).drop_vars(TIMES)
    return repr(results.assign_attrs(date="").to_dict())


def page(path: Path) -> str:
    """The contents of a page, which must be complete."""
    text = path.read_text()
    assert text.rstrip().endswith("</html>")
    return text


def installed(folder: Path) -> list[str]:
    """The names of the installations of the gate, which must be complete."""
    gate_files.value(folder.parent)
    return sorted(site.name for site in folder.iterdir() if not site.name.startswith("."))


def _results(folder: Path) -> None:
    subprocess.run([*COMMAND, *RUN, "--output", "results.nc"], cwd=folder, check=True, capture_output=True)


TRIALS = {
    "run": Trial([*COMMAND, *RUN, "--output", "results.nc"], {"results.nc": measured}),
    "reproduce": Trial(
        [*COMMAND, *words("reproduce survey-figure-2 --runs 4 --output .")],
        {"survey-figure-2.nc": Path.read_bytes, "survey-figure-2.html": page},
    ),
    "report": Trial([*COMMAND, "report", "results.nc"], {"results.html": page}, _results),
    "gate": Trial(
        [sys.executable, "-m", "helpers.gate_files"],
        {"gate.json": Path.read_text, "gate.md": Path.read_text, FOLDER: installed},
        gate_files.prepare,
    ),
}


def read(trial: Trial, folder: Path) -> Outputs:
    """The contents of the folder by the names of the files."""
    return {name: function(folder / name) for name, function in trial.outputs.items() if (folder / name).exists()}


def give(trial: Trial, folder: Path, seconds: float | None = None) -> int | None:
    """Run the command; return its exit status, or None if it was killed after this number of seconds."""
    with subprocess.Popen(trial.command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            return None


def left(folder: Path) -> list[str]:
    """Files that a command makes for its own use."""
    return sorted(path.name for pattern in WORKING_FILES for path in folder.rglob(pattern))


def attempt(trial: Trial, prepared: Path, expected: Outputs, seconds: float, rng: random.Random) -> tuple[int, str]:
    """Kill the command and run it again; return the number of kills, and what is wrong ("" if nothing is)."""
    with tempfile.TemporaryDirectory(prefix="orfit-bench-kills-") as parent:
        folder = Path(shutil.copytree(prepared, Path(parent, "work")))
        before, kills = read(trial, folder), 0
        for _ in range(rng.randint(1, MOST_KILLS)):
            kills += give(trial, folder, rng.uniform(0, seconds)) is None
            try:
                found = read(trial, folder)
            except Exception as error:
                return kills, f"damaged after a kill: {error!r}"
            if wrong := [name for name in found if found[name] not in (before.get(name), expected[name])]:
                return kills, f"neither old nor new after a kill: {wrong}"
        status = give(trial, folder)
        if status:
            return kills, f"exit status {status}"
        if read(trial, folder) != expected:
            return kills, "the results are others"
        if left(folder):  # by a process that outlived the one that started it, e.g. pip
            give(trial, folder)
        return kills, f"files are left: {left(folder)}" if left(folder) else ""


def try_often(trial: Trial, trials: int, rng: random.Random) -> tuple[Counter[str], list[str]]:
    """The counts of trials, kills and passed trials, and what was wrong."""
    with tempfile.TemporaryDirectory(prefix="orfit-bench-kills-") as parent:
        prepared = Path(parent, "prepared")
        prepared.mkdir()
        trial.prepare(prepared)
        complete = Path(shutil.copytree(prepared, Path(parent, "complete")))
        began = time.monotonic()
        assert give(trial, complete) == 0, f"{trial.command} fails"
        seconds, expected = time.monotonic() - began, read(trial, complete)
        assert set(expected) == set(trial.outputs)
        counts: Counter[str] = Counter()
        problems = []
        for number in range(trials):
            kills, problem = attempt(trial, prepared, expected, seconds, rng)
            counts += Counter(trials=1, kills=kills, fine=int(not problem))
            problems += [f"trial {number}: {problem}"] if problem else []
        return counts, problems


def main() -> int:
    """Run trials of commands, and print the counts."""
    parser = argparse.ArgumentParser(prog="dev.py kills", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"commands, by default all of {', '.join(TRIALS)}")
    parser.add_argument("--trials", type=int, default=30, help="number for each command (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    failed = False
    for name in chosen.names or TRIALS:
        counts, problems = try_often(TRIALS[name], chosen.trials, random.Random(chosen.seed))
        print(*(f"{name}, {problem}" for problem in problems), sep="\n", end="\n" if problems else "")
        print(f"{name}: {counts['trials']} trials, {counts['kills']} kills, {counts['fine']} fine", flush=True)
        failed |= bool(problems)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
