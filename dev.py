#!/usr/bin/env python3
"""Developer tasks: `python3 dev.py COMMAND [arguments]`. Requires only Python 3.11 or later and pip.

The environment .venv is created on first use and updated when needed.

run          run the benchmark; arguments are passed to `orfit-bench run`
test         run the quick tests in parallel; arguments are passed to pytest
integration  run the tests of whole commands, plugins, experiments and pages (two minutes)
slow         run the slow tests: the whole kit on each backend, faults, long streams (over half an hour)
check        check lint, formatting, types and import contracts
fix          fix lint errors and formatting where possible
bench        run the micro-benchmarks of calls and kernels, compared with other packages
track        measure the newest commit with asv; arguments are passed to `asv run`
publish      write the history of asv as HTML to .asv/html, and print the regressions
freeze       write the reference trajectories, in a commit of its own (docs/tracking.md)
speed        compare the Numba backend with plain NumPy and write docs/performance.md (five minutes)
peers        compare with other packages on every target and write docs/peers.md; resumable (half an hour)
gpu          test and measure the CuPy backend on a GPU and write docs/gpu.md; resumable, see --help
failures     make each file operation fail in each way, and count what is lost (half an hour)
kills        kill commands at random moments, run them again, and compare the results (half an hour)
simulate     simulate runs that are killed, fail and compete for one output, a thousand seeds (one minute)
mutants      run mutation testing of the reference kernels (over an hour); arguments are passed to `orfit-bench mutants`
redundancy   count how many checks of the kit notice mutants of kernels or learner code, and faults (five minutes)
wheels       build all distributions and test the wheels in a clean environment
ci           run everything that CI runs
python       start the Python of the environment
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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent
HOME = Path(os.environ.get("ORFIT_BENCH_VENV", ROOT / ".venv"))
PLUGINS = sorted(file.parent for file in (ROOT / "plugins").glob("*/pyproject.toml"))
INSTALLED = ("orfit-bench-numba", "orfit-bench-numpy", *["orfit-bench-cupy"] * bool(shutil.which("nvidia-smi")))
"""The plugins that a user installs following the README; extras for developers install the others."""
CODE = ["orfit_bench", "orfit_bench_pytest.py", "plugins", "tests", "benchmarks", "dev.py"]


def binary(home: Path, name: str) -> str:
    """The path of a program in a virtual environment."""
    return str(home / ("Scripts" if os.name == "nt" else "bin") / name)


def call(*command: object, cwd: Path = ROOT) -> None:
    """Run a command; end with its exit status if it fails."""
    status = subprocess.call([str(c) for c in command], cwd=cwd)
    if status:
        sys.exit(status)


def python(*arguments: object) -> None:
    """Run the Python of the environment."""
    call(binary(HOME, "python"), *arguments)


@contextmanager
def alone() -> Iterator[None]:
    """Wait for other commands that set up the environment, since two at once damage it. Not supported on Windows."""
    if os.name == "nt":
        yield
        return
    import fcntl

    HOME.parent.mkdir(parents=True, exist_ok=True)
    with HOME.with_name(f"{HOME.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another command that sets up {HOME}", file=sys.stderr)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def is_editable() -> bool:
    """Whether the environment uses this checkout; `pip install .` replaces it by a copy that does not follow edits."""
    found = [*HOME.glob("lib/python*/site-packages/orfit_bench-*.dist-info/direct_url.json")]
    found += HOME.glob("Lib/site-packages/orfit_bench-*.dist-info/direct_url.json")
    return any(json.loads(file.read_text()).get("dir_info", {}).get("editable") for file in found)


@alone()
def set_up(*extras: str) -> None:
    """Create the environment, or update it if a pyproject.toml or the required extras have changed."""
    if sys.version_info < (3, 11):  # noqa: UP036  # users may call this with any interpreter
        sys.exit(f"orfit_bench requires Python 3.11 or later; this is Python {sys.version.split()[0]}")
    stamp = HOME / "orfit-bench-stamp"
    files = [ROOT / "pyproject.toml", *(p / "pyproject.toml" for p in PLUGINS)]
    digest = hashlib.sha256(b"".join(f.read_bytes() for f in files) + str(ROOT).encode()).hexdigest()
    seen, *have = stamp.read_text().split() if stamp.exists() else [""]
    if seen == digest and set(extras) <= set(have) and is_editable():
        return
    if not stamp.exists():  # also if an earlier set-up was interrupted
        print(f"creating {HOME} (once, about a minute)", file=sys.stderr)
        venv.create(HOME, with_pip=True)
    extras = tuple(sorted(set(extras) | (set(have) if seen == digest else set())))
    host = f"{ROOT}[{','.join(extras)}]" if extras else str(ROOT)
    plugins = [path for path in PLUGINS if extras or path.name in INSTALLED]
    editable = [part for path in (host, *plugins) for part in ("-e", str(path))]
    pip = ("-m", "pip", "install", "-q", "--disable-pip-version-check")
    # Builds are not isolated: once for all plugins, instead of an environment for each. Setuptools builds dependencies
    # that publish no wheel; the one that venv brings cannot.
    python(*pip, "hatchling", "editables", "setuptools>=77")
    python(*pip, "--no-build-isolation", "--no-compile", *editable)  # only a quarter of the modules is ever imported
    stamp.write_text(" ".join([digest, *extras]))


def run(*arguments: str) -> None:
    """Run the benchmark."""
    set_up()
    call(binary(HOME, "orfit-bench"), "run", *arguments)


def test(*arguments: str) -> None:
    """Run the quick tests, in parallel."""
    set_up("test")
    pytest("not slow and not integration", *arguments)


def integration(*arguments: str) -> None:
    """Run the tests of whole commands, plugins, experiments and pages, in parallel."""
    set_up("test")
    pytest("integration and not slow", *arguments)


def slow(*arguments: str) -> None:
    """Run the slow tests, in parallel."""
    set_up("test")
    pytest("slow or orfit_slow", "--orfit-slow", *arguments)


def pytest(marked: str, *arguments: str) -> None:
    """Run the tests with these marks on all cores, one thread each; `-n 0` among the arguments runs them in turn."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    python("-m", "pytest", "-m", marked, "-n", "auto", *arguments)


def check() -> None:
    """Check lint, formatting, types and import contracts."""
    set_up("test", "dev")
    python("-m", "ruff", "check", *CODE)
    python("-m", "ruff", "format", "--check", *CODE)
    python("-m", "mypy")
    call(binary(HOME, "lint-imports"))


def fix() -> None:
    """Fix lint errors and formatting."""
    set_up("test", "dev")
    python("-m", "ruff", "check", "--fix", *CODE)
    python("-m", "ruff", "format", *CODE)


def bench(*arguments: str) -> None:
    """Run the micro-benchmarks."""
    set_up("test", "peers")
    python("-m", "pytest", "tests/learners/test_overhead.py", "--benchmark-only", "--benchmark-enable", *arguments)


def track(*arguments: str) -> None:
    """Measure a commit with asv."""
    set_up("history")
    asv("machine", "--yes")
    status = subprocess.run(["git", "status", "--porcelain", "-uno"], cwd=ROOT, capture_output=True, check=False)
    if status.stdout:
        print("note: uncommitted changes are not measured", file=sys.stderr)
    asv("run", "--show-stderr", *(arguments or ("HEAD^!", "--bench", "Quick|Device|Start")))


def publish() -> None:
    """Write the HTML pages of asv and print the regressions."""
    set_up("history")
    asv("publish")
    pages = ROOT / ".asv" / "html"
    commits = json.loads((pages / "index.json").read_text())["revision_to_hash"]
    found = json.loads((pages / "regressions.json").read_text())["regressions"]
    for name, *_, jumps in found:
        for first, last, before, after in jumps:
            since = f"between {commits[str(first)][:12]} and" if first else "at"  # not every commit is measured
            print(f"{name}: {before:.3g} to {after:.3g} {since} {commits[str(last)][:12]}")
    print(f"{len(found)} regressions. Pages: {pages} (asv preview shows them)")


def asv(*arguments: str) -> None:
    """Run asv with the environment's Python."""
    python("-m", "asv", *arguments)


def freeze() -> None:
    """Write the reference trajectories."""
    set_up("test")
    python("-m", "orfit_bench.tracking", "freeze")


def speed(*arguments: str) -> None:
    """Update docs/performance.md."""
    set_up("test")
    os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    python("-m", "benchmarks.performance", *arguments)


def peers(*arguments: str) -> None:
    """Update docs/peers.md."""
    set_up("peers")
    os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    python("-m", "benchmarks.peers", *arguments)


def gpu(*arguments: str) -> None:
    """Test and measure the CuPy backend, with an interpreter that has CuPy; no environment is created."""
    if sys.version_info < (3, 11):  # noqa: UP036  # the interpreter is the user's, any may come
        sys.exit(f"orfit_bench requires Python 3.11 or later; this is Python {sys.version.split()[0]}")
    from benchmarks.gpu.launch import launch  # uses the standard library only

    called = shlex.join([sys.executable, sys.argv[0], "gpu"])
    sys.exit(launch(arguments, called, [sys.executable, binary(HOME, "python")]))


def mutants(*arguments: str) -> None:
    """Run mutation testing of kernels, by default those of the reference, with the conformance kit."""
    set_up("test", "mutation")
    python("-W", "ignore", "-m", "orfit_bench", "mutants", *(arguments or ("numpy",)))


def failures(*arguments: str) -> None:
    """Inject failures of files; arguments are actions: save, load, run, resume, reproduce, gate."""
    trial("injected_failures", *arguments)


def simulate(*arguments: str) -> None:
    """Simulate seeds; arguments are --first and --seeds."""
    trial("simulation", *arguments)


def kills(*arguments: str) -> None:
    """Kill commands; arguments are run, reproduce, report, gate, --trials and --seed."""
    trial("kill_trials", *arguments)


def redundancy(*arguments: str) -> None:
    """Count the checks that notice mutants; arguments are methods, --backend, --module, --mutants and --seed."""
    set_up("test", "mutation")
    trial("redundancy", *arguments)


def trial(module: str, *arguments: str) -> None:
    """Run a module of tests/helpers."""
    set_up("test")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "tests"), os.environ.get("PYTHONPATH")]))
    python("-m", f"helpers.{module}", *arguments)


def wheels() -> None:
    """Build the distributions and test the wheels outside the repository."""
    set_up("dev")
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    for source in (ROOT, *PLUGINS):
        python("-m", "build", "--outdir", ROOT / "dist", source)
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder, "venv")
        venv.create(fresh, with_pip=True)
        built = sorted((ROOT / "dist").glob("*.whl"))
        call(binary(fresh, "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", *built)
        some = ("--method", "lms", "--method", "oja")  # with all methods, Numba would compile everything again
        call(binary(fresh, "orfit-bench"), "run", *some, "--output", Path(folder, "results.nc"), cwd=Path(folder))
        call(binary(fresh, "orfit-bench"), "reproduce", cwd=Path(folder))
        new_plugin(fresh, Path(folder))


def new_plugin(fresh: Path, folder: Path) -> None:
    """Create, install, check and run a new plugin, as a user would."""
    call(binary(fresh, "orfit-bench"), "new-plugin", "my-lms", cwd=folder)
    call(binary(fresh, "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", folder / "my-lms")
    for command in (["conform", "my-lms"], ["list", "my_lms"], ["run", "--method", "my_lms", "--rows", "60"]):
        call(binary(fresh, "orfit-bench"), *command, cwd=folder)


def ci() -> None:
    """Run everything that CI runs."""
    set_up()
    warm = ("warm", "--dtype", "float64")  # in parallel, before every test worker does it
    call(binary(HOME, "orfit-bench"), *warm)
    run()
    check()
    wheels()
    test()
    integration()


def main() -> None:
    """Run the command."""
    commands = {"run": run, "test": test, "slow": slow, "check": check, "fix": fix, "bench": bench, "speed": speed}
    commands |= {
        "failures": failures,
        "kills": kills,
        "redundancy": redundancy,
        "simulate": simulate,
        "gpu": gpu,
        "integration": integration,
        "peers": peers,
        "track": track,
        "publish": publish,
        "freeze": freeze,
        "wheels": wheels,
        "mutants": mutants,
        "ci": ci,
        "python": lambda *arguments: (set_up("test", "dev"), python(*arguments)),
    }
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # every process would compile all modules that it imports
    command, *arguments = sys.argv[1:] or ["help"]
    if command not in commands:
        sys.exit(__doc__)
    commands[command](*arguments)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("interrupted")
