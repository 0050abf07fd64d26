#!/usr/bin/env python3
"""Every daily act is one word: `python3 dev.py WORD [arguments]`. Needs Python 3.11 or later and pip, nothing else.

run      set up and run the main job: every method on real digits (arguments go to `orfit-bench run`)
test     set up and pass the tests (arguments go to pytest)
slow     the tests that take longer than ten seconds
check    lint, format, types and import contracts, as CI runs them
fix      mend what lint and format can mend
bench    micro-benchmarks of calls and kernels, beside their peers
track    asv measures the newest commit, or what `asv run` is told to (arguments go there)
publish  asv's pages of all that was measured, in .asv/html, and the regressions in it
freeze   write the trajectories that exactness is measured against (a commit of its own, docs/tracking.md)
speed    the fast backend beside plain NumPy and the machine's limit: writes docs/performance.md (five minutes)
gpu      the CuPy backend on a device: the conformance kit, how fast it is, the page; resumable (--help), no network
mutants  change the reference kernels one operator at a time; the conformance kit must see each (an hour)
wheels   build sdist and wheel of core and plugins, install them elsewhere, run the main job and begin a plugin there
ci       all that CI runs
python   the Python of the environment, with everything installed
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
HOME = Path(os.environ.get("ORFIT_BENCH_VENV", ROOT / ".venv"))
PLUGINS = sorted((ROOT / "plugins").iterdir())
CODE = ["orfit_bench", "orfit_bench_pytest.py", "plugins", "tests", "benchmarks", "dev.py"]


def binary(home: Path, name: str) -> str:
    """A program of a virtual environment."""
    return str(home / ("Scripts" if os.name == "nt" else "bin") / name)


def call(*command: object, cwd: Path = ROOT) -> None:
    """Run a command; end with its exit status if it fails."""
    status = subprocess.call([str(c) for c in command], cwd=cwd)
    if status:
        sys.exit(status)


def python(*arguments: object) -> None:
    """Run the environment's Python."""
    call(binary(HOME, "python"), *arguments)


def set_up(*extras: str) -> None:
    """Make the environment, or bring it up to date: only where a pyproject.toml or the wanted extras changed."""
    if sys.version_info < (3, 11):  # noqa: UP036  # the interpreter is the user's, any may come
        sys.exit(f"orfit_bench needs Python 3.11 or later, this is {sys.version.split()[0]}")
    stamp = HOME / "orfit-bench-stamp"
    files = [ROOT / "pyproject.toml", *(p / "pyproject.toml" for p in PLUGINS)]
    digest = hashlib.sha256(b"".join(f.read_bytes() for f in files) + str(ROOT).encode()).hexdigest()
    seen, *have = stamp.read_text().split() if stamp.exists() else [""]
    if seen == digest and set(extras) <= set(have):
        return
    if not stamp.exists():  # also where an earlier set-up was killed half-way
        print(f"making {HOME} (once, about a minute)", file=sys.stderr)
        venv.create(HOME, with_pip=True)
    extras = tuple(sorted(set(extras) | (set(have) if seen == digest else set())))
    host = f"{ROOT}[{','.join(extras)}]" if extras else str(ROOT)
    editable = [part for path in (host, *PLUGINS) for part in ("-e", str(path))]
    python("-m", "pip", "install", "-q", "--disable-pip-version-check", *editable)
    stamp.write_text(" ".join([digest, *extras]))


def run(*arguments: str) -> None:
    """The main job."""
    set_up()
    call(binary(HOME, "orfit-bench"), "run", *arguments)


def test(*arguments: str) -> None:
    """The tests."""
    set_up("test")
    python("-m", "pytest", "-m", "not slow", *arguments)


def slow(*arguments: str) -> None:
    """The long tests."""
    set_up("test")
    python("-m", "pytest", "-m", "slow or orfit_slow", "--orfit-slow", *arguments)


def check() -> None:
    """Lint, format, types, import contracts."""
    set_up("test", "dev")
    python("-m", "ruff", "check", *CODE)
    python("-m", "ruff", "format", "--check", *CODE)
    python("-m", "mypy")
    call(binary(HOME, "lint-imports"))


def fix() -> None:
    """Mend."""
    set_up("test", "dev")
    python("-m", "ruff", "check", "--fix", *CODE)
    python("-m", "ruff", "format", *CODE)


def bench(*arguments: str) -> None:
    """Micro-benchmarks."""
    set_up("test", "peers")
    python("-m", "pytest", "tests/test_overhead.py", "--benchmark-only", "--benchmark-enable", *arguments)


def track(*arguments: str) -> None:
    """A commit's numbers for the history."""
    set_up("history")
    asv("machine", "--yes")
    asv("run", *(arguments or ("HEAD^!", "--bench", "Quick|Device|Start")))


def publish() -> None:
    """The pages, and what got worse."""
    set_up("history")
    asv("publish")
    pages = ROOT / ".asv" / "html"
    commits = json.loads((pages / "index.json").read_text())["revision_to_hash"]
    found = json.loads((pages / "regressions.json").read_text())["regressions"]
    for name, *_, jumps in found:
        for first, last, before, after in jumps:
            since = f"between {commits[str(first)][:12]} and" if first else "at"  # not all between were measured
            print(f"{name}: {before:.3g} to {after:.3g} {since} {commits[str(last)][:12]}")
    print(f"{len(found)} regressions. Pages: {pages} (asv preview shows them)")


def asv(*arguments: str) -> None:
    """Run asv with the environment's Python."""
    python("-m", "asv", *arguments)


def freeze() -> None:
    """The frozen trajectories."""
    set_up()
    python("-m", "orfit_bench.tracking.freeze")


def speed(*arguments: str) -> None:
    """The table of docs/performance.md."""
    set_up("test")
    os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    python("-m", "benchmarks.performance", *arguments)


def gpu(*arguments: str) -> None:
    """The parts of docs/gpu.md, by an interpreter that has CuPy already: none is made, nothing comes from a network."""
    if sys.version_info < (3, 11):  # noqa: UP036  # the interpreter is the user's, any may come
        sys.exit(f"orfit_bench needs Python 3.11 or later, this is {sys.version.split()[0]}")
    from benchmarks.gpu.launch import launch  # of the standard library alone

    called = shlex.join([sys.executable, sys.argv[0], "gpu"])
    sys.exit(launch(arguments, called, [sys.executable, binary(HOME, "python")]))


def mutants(*arguments: str) -> None:
    """Mutation testing of the reference kernels by the conformance kit."""
    set_up("test", "mutation")
    python("-W", "ignore", "benchmarks/mutants.py", *arguments)


def wheels() -> None:
    """Build the distributions; prove that they work from outside the repository."""
    set_up("dev")
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    for source in (ROOT, *PLUGINS):
        python("-m", "build", "--outdir", ROOT / "dist", source)
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder, "venv")
        venv.create(fresh, with_pip=True)
        built = sorted((ROOT / "dist").glob("*.whl"))
        call(binary(fresh, "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", *built)
        some = ("--method", "lms", "--method", "oja")  # of all, Numba would compile everything once more
        call(binary(fresh, "orfit-bench"), "run", *some, "--output", Path(folder, "results.nc"), cwd=Path(folder))
        call(binary(fresh, "orfit-bench"), "reproduce", cwd=Path(folder))
        new_plugin(fresh, Path(folder))


def new_plugin(fresh: Path, folder: Path) -> None:
    """A plugin as a user begins one: written, installed, checked, listed."""
    call(binary(fresh, "orfit-bench"), "new-plugin", "my-lms", cwd=folder)
    call(binary(fresh, "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", folder / "my-lms")
    for command in (["conform", "my-lms"], ["list", "my_lms"], ["run", "--method", "my_lms", "--rows", "60"]):
        call(binary(fresh, "orfit-bench"), *command, cwd=folder)


def ci() -> None:
    """What CI runs."""
    set_up()
    warm = ("warm", "--dtype", "float64")  # by all cores at once, before every worker of the tests does
    call(binary(HOME, "orfit-bench"), *warm)
    run()
    check()
    wheels()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # the cores are the workers'
    test("-n", "auto")


def main() -> None:
    """Do the word."""
    words = {"run": run, "test": test, "slow": slow, "check": check, "fix": fix, "bench": bench, "speed": speed}
    words |= {
        "gpu": gpu,
        "track": track,
        "publish": publish,
        "freeze": freeze,
        "wheels": wheels,
        "mutants": mutants,
        "ci": ci,
        "python": lambda *arguments: (set_up("test", "dev"), python(*arguments)),
    }
    word, *arguments = sys.argv[1:] or ["help"]
    if word not in words:
        sys.exit(__doc__)
    words[word](*arguments)


if __name__ == "__main__":
    main()
