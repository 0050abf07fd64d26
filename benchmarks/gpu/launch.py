"""Find an interpreter that has CuPy and all other requirements, without a network, and run the parts with it.

This module uses only the standard library.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.gpu.distributions import python_path, requirements, write_metadata
from benchmarks.gpu.options import parsed

SECONDS = 300.0
"""Time limit in seconds of the imports of all packages, from a cold disk."""
LOOK = """
import importlib, json, re, sys, warnings
from importlib.metadata import distributions, version
warnings.simplefilter("ignore")
wrong = {}
for name, least in json.loads(sys.argv[1]).items():
    try:
        importlib.import_module(name)
        have = version(name) if least else ""
    except Exception as error:
        wrong[name] = f"{type(error).__name__}: {error}"
        continue
    number = lambda text: tuple(int(part) for part in text.split(".")[:2] if part.isdecimal())
    if number(have) < number(least):
        wrong[name] = f"{have}, required {least}"
have = {re.sub("[-_.]+", "-", str(d.name)).lower() for d in distributions()}
print(json.dumps({"wrong": wrong, "have": sorted(have), "version": "%d.%d" % sys.version_info[:2]}))
"""
"""A script that prints which packages an interpreter lacks, and which distributions it has."""


class Interpreter(NamedTuple):
    """A Python interpreter: unusable packages with reasons, installed distributions, and its version."""

    path: str
    wrong: dict[str, str]
    have: list[str]
    version: str


def launch(arguments: Sequence[str], called: str, interpreters: Sequence[str]) -> int:
    """Run the command with the first suitable interpreter; `called` is its name as typed by the user."""
    began, options = time.time(), parsed(arguments)
    computes = not options.list and options.parts != ["page"]
    wanted = requirements() | ({"cupy": ""} if computes else {})
    options.output.mkdir(parents=True, exist_ok=True)
    environment = surroundings(options.output)
    there = [path for path in dict.fromkeys(interpreters) if Path(path).exists()]
    found = []
    for path in there:
        one = inspect_interpreter(path, wanted, environment)
        if one.wrong and options.wheels:
            install(one, options.wheels, options.output / "packages", environment)
            one = inspect_interpreter(path, wanted, environment)
        if not one.wrong:
            command = [path, "-m", "benchmarks.gpu", called, str(began), *arguments]
            if os.name == "posix":  # a single process, so that a signal reaches it
                os.execve(path, command, environment)
            return subprocess.run(command, env=environment, check=False).returncode
        found.append(one)
    sys.exit(advice(min(found, key=lambda one: len(one.wrong)), called))


def surroundings(output: Path) -> dict[str, str]:
    """The environment variables of every process of the call."""
    write_metadata(output / "metadata")
    given = {"CUPY_CACHE_DIR": str(output / "kernels"), "ORFIT_BENCH_THREADS": str(os.cpu_count()), **os.environ}
    return given | {"PYTHONPATH": python_path(output / "metadata", output / "packages")}


def inspect_interpreter(path: str, wanted: dict[str, str], environment: dict[str, str]) -> Interpreter:
    """Find what an interpreter has, and which of the packages in these minimum versions it lacks."""
    command = [path, "-c", LOOK, json.dumps(wanted)]
    try:
        output = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=True)
        return Interpreter(path, **json.loads(output.stdout.splitlines()[-1]))
    except (subprocess.SubprocessError, OSError, ValueError, IndexError) as error:
        return Interpreter(path, {"Python": f"{type(error).__name__}: {error}"}, [], "3")


def install(one: Interpreter, wheels: Path, target: Path, environment: dict[str, str]) -> None:
    """Install missing packages into a folder on the path of the interpreter, only from the given folder of wheels."""
    names = {wheel: re.sub("[_.]", "-", wheel.name.partition("-")[0]).lower() for wheel in sorted(wheels.glob("*.whl"))}
    missing = [str(wheel) for wheel, name in names.items() if name not in one.have or name in one.wrong]
    if missing:
        pip = [one.path, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--disable-pip-version-check"]
        subprocess.run([*pip, "--upgrade", "--target", str(target), *missing], env=environment, check=False)


def advice(one: Interpreter, called: str) -> str:
    """A message that says what is missing and how to supply it."""
    lacking = "; ".join(f"{name} ({why})" for name, why in one.wrong.items())
    others = " ".join(name for name in one.wrong if name != "cupy")
    lines = [f"{one.path} cannot do this, for it lacks: {lacking}."]
    if "cupy" in one.wrong:
        lines.append("CuPy: pip install 'cupy-cuda13x[ctk]', or 12x as nvidia-smi says.")
    if others:
        lines.append(
            f"The others: with a network, `python3 dev.py python -c pass` makes an environment that has them; without, "
            f"bring their wheels for Python {one.version}, which `pip download --only-binary :all: --python-version "
            f"{one.version} -d FOLDER {others}` fetches elsewhere, and call `{called} --wheels FOLDER`."
        )
    return "\n".join(lines)
