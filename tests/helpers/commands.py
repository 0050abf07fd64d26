"""Commands in a separate process, with a plugin whose kernels fail in every way."""

import shlex
import subprocess
import sys
import time
from pathlib import Path

from click.testing import CliRunner

from orfit_bench.cli import main

words = shlex.split


COMMAND = [sys.executable, "-c", "from orfit_bench.cli import main; main()"]


TIMES = ("seconds", "timed_runs", "seconds_compile", "throughput", "seconds_per_sample")
TIMES += ("latency_p50", "latency_p99", "host_memory", "share_of_limit")
"""What differs from run to run."""


PLUGIN = """
import os, sys, time
from types import SimpleNamespace
import numpy as np
from orfit_bench import hookimpl
from orfit_bench.spec import Absent, Backend, Data, Integer, Stream

SPEC_VERSION = (1, 0)

def lms(s, X, Y, p, out):
    for x, y in zip(X, Y):
        s.w[:] += 0.01 * np.outer(x, y - x @ s.w)
    return len(X)

def raises(s, X, Y, p, out):
    raise RuntimeError("it broke\\nin two lines [red]and markup[/red]")

def dies(s, X, Y, p, out):
    os._exit(3)

def aborts(s, X, Y, p, out):
    os.abort()

def leaves(s, X, Y, p, out):
    sys.exit("enough")

def interrupts(s, X, Y, p, out):
    raise KeyboardInterrupt

def hangs(s, X, Y, p, out):
    with open(os.environ["FAULTY_LOG"], "a") as log:
        print(os.getpid(), file=log)
    time.sleep(1000)

KERNELS = {"lms": lms, "nlms": raises, "apa": dies, "icl": hangs, "ogd": leaves}
KERNELS |= {"one_step_sgd": aborts, "rls": interrupts}

def slow(n, seed):
    with open(os.environ["FAULTY_LOG"], "a") as log:
        print(seed, file=log)
    time.sleep(0.2)
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return Data(X, X.sum(axis=1), (X, X.sum(axis=1)), tasks=(0, n // 2, n))

@hookimpl
def backends():
    return (Backend("faulty", "every kernel but one fails", namespace=lambda: np),)

@hookimpl
def kernels():
    names = "learn", "update", "step", "store"
    offers = {("faulty", name): SimpleNamespace(**dict.fromkeys(names, f)) for name, f in KERNELS.items()}
    return {**offers, ("faulty", "orfit"): Absent("not written yet")}

@hookimpl
def streams():
    from orfit_bench.spec import Setting
    n = Setting("n", Integer(2), 40, "rows")
    return (Stream("slow", "takes its time", slow, (n, Setting("seed", Integer(0), 0, "seed"))),)
"""


def install(folder: Path, name: str, source: str) -> None:
    """A distribution with one plugin, as pip would leave it in folder."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(source)
    info = folder / f"{name}-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(f"[orfit_bench]\n{name} = {name}\n")


def call(*arguments, environment, folder):
    """Run the command in a separate process."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], env=environment, cwd=folder, capture_output=True, text=True, timeout=120
    )


def invoke(*arguments):
    """Run the command in this process."""
    return CliRunner().invoke(main, [str(a) for a in arguments])


def wait_for(condition, seconds=60):
    """Wait until condition() holds; fails after this number of seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
