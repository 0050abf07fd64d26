"""Distributions with faulty kernels, and runs of `orfit-bench conform` on them."""

import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from orfit_bench.cli import main

COMMAND = [sys.executable, "-c", "from orfit_bench.cli import main; main()"]
PLUGIN = """
import os, sys, time
from types import SimpleNamespace
import numpy as np
from orfit_bench import hookimpl
from orfit_bench.spec import Backend

SPEC_VERSION = (1, 0)

def learn(s, X, Y, p, out):
    for i in range(len(X)):
        f = X[i : i + 1] @ s.w
        if out is not None:
            out[i] = f
        s.w[...] = s.w + p.step_size[i] * X[i : i + 1].T @ (Y[i] - f)
    return len(X)

def aborts(*_):
    os.abort()

def leaves(*_):
    os._exit(3)

def interrupts(*_):
    raise KeyboardInterrupt

def hangs(*_):
    with open(os.environ["FRAGILE_LOG"], "a") as log:
        print(os.getpid(), file=log)
    while True:
        try:
            time.sleep(1000)
        except KeyboardInterrupt:
            pass

def kernel(does, lacks=(), **expected):
    offers = dict.fromkeys(("learn", "update", "step", "store"), does)
    return SimpleNamespace(**offers, LACKS={name: "not written yet" for name in lacks}, EXPECTED_FAILURES=expected)

@hookimpl
def backends():
    return (Backend("fragile", "it breaks in every way there is", namespace=lambda: np),)

@hookimpl
def kernels():
    return {
        ("fragile", "lms"): kernel(learn, ("models",), row_by_row="it is said to be wrong"),
        ("fragile", "nlms"): kernel(aborts),
        ("fragile", "apa"): kernel(leaves),
        ("fragile", "icl"): kernel(hangs),
        ("fragile", "ogd"): kernel(aborts, any_chunking="it crashes, we know [why|how]"),
        ("fragile", "rls"): kernel(interrupts),
        ("fragile", "sgd"): "fragile_import",
    }
"""


def install(folder: Path) -> None:
    """The distribution `fragile`, as pip would leave it in folder."""
    folder.mkdir()
    (folder / "fragile.py").write_text(PLUGIN)
    (folder / "fragile_import.py").write_text("import os\nos._exit(5)\n")
    info = folder / "fragile-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fragile\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text("[orfit_bench]\nfragile = fragile\n")


def call(here, *arguments):
    folder, environment = here
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], env=environment, cwd=folder, capture_output=True, text=True, timeout=120
    )


def invoke(*arguments):
    return CliRunner().invoke(main, ["conform", *map(str, arguments)])
