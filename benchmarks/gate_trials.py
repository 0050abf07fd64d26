"""Trials of the gate: insert faults into a randomly chosen kernel, with the entire quick profile.

    python benchmarks/gate_trials.py --trials 10 --folder DIR

makes a repository of this tree in DIR. In each trial one commit makes a kernel twice as slow, one makes it allocate
30 % more memory, one adds a relative error of 1e-6 to its weights, and one changes nothing; method and backend are
drawn again for each. The gate compares each with its parent. It must flag the first three, naming method, backend and
metric and no other pair, and nothing in the last. Every verdict is kept in DIR/trials.jsonl, where the same command
continues.

    python benchmarks/gate_trials.py --trials 20 --folder DIR --faults nothing slow --slowdown 1.2 --one-pair

lets the gate measure the drawn method and backend only. The load of the machine is stored with every verdict.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SLOW = """
    from time import process_time

    def slowed(*arguments):
        begin = process_time()
        result = function(*arguments)
        now = process_time()
        end = now + ({slowdown} - 1) * (now - begin)
        while process_time() < end:
            pass
        return result
"""
LARGER = """
    import numpy

    def slowed(*arguments):
        more = numpy.empty({more}, numpy.uint8)
        result = function(*arguments)
        del more
        return result
"""
WRONG = """
    def slowed(s, *arguments):
        result = function(s, *arguments)
        next(getattr(s, name) for name in ("w", "mean", "basis", "last") if hasattr(s, name))[...] *= 1 + 1e-6
        return result
"""
FAULT = """

_inside = []


def _faulty(function):{body}
    def outermost(*arguments):  # if others in the module call the function, it is faulty only once
        if _inside:
            return function(*arguments)
        _inside.append(True)
        try:
            return slowed(*arguments)
        finally:
            _inside.pop()

    return outermost


for _name in [name for name in ("learn", "update", "step", "store") if name in globals()]:
    globals()[_name] = _faulty(globals()[_name])
"""
PROBE = """
import sys
from orfit_bench.plugins.registry import registry
from orfit_bench.tracking.workloads import Workload

method, backend, fault = sys.argv[1:]
peak = int(Workload(method, backend).peak_bytes())
exec(fault.replace("{more}", str(peak)), vars(registry().kernel(backend, method)))
in_kernel = int(Workload(method, backend).peak_bytes()) - peak
print(int(1.3 * peak) - in_kernel)
"""
TIMES = {"seconds_per_sample", "kernel_seconds_per_sample", "latency"}
WANTED = {"slow": TIMES, "memory": {"peak_bytes"}, "error": {"frozen_deviation"}, "nothing": set()}


def git(repository: Path, *arguments: str) -> str:
    """The output of a git command."""
    who = ["-c", "user.name=trial", "-c", "user.email=trial@localhost", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(repository), *who, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def scratch(folder: Path) -> Path:
    """A repository of this tree, in one commit."""
    repository = folder / "repository"
    if not repository.is_dir():
        repository.mkdir(parents=True)
        tree = subprocess.run(["git", "-C", str(ROOT), "archive", "HEAD"], check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", str(repository)], input=tree, check=True)
        git(repository, "init", "-q", "-b", "main")
        git(repository, "add", "-A")
        git(repository, "commit", "-q", "-m", "the tree")
        git(repository, "tag", "base")
    return repository


def kernel(repository: Path, method: str, backend: str) -> Path:
    """The module of a kernel."""
    return repository / "plugins" / f"orfit-bench-{backend}" / "src" / f"orfit_bench_{backend}" / f"{method}.py"


def sharing(module: Path) -> set[str]:
    """The methods with a kernel in this module, or with a kernel that uses a function of it."""
    called = f"from {module.parent.name}.{module.stem} import"
    return {module.stem, *(file.stem for file in module.parent.glob("*.py") if called in file.read_text())}


def change(fault: str, method: str, backend: str, slowdown: float = 2.0) -> str:
    """The code that is appended to the module of the kernel."""
    bodies = {"slow": SLOW, "memory": LARGER, "error": WRONG}
    if fault not in bodies:
        return "\n# nothing else\n"
    text = FAULT.format(body=bodies[fault]).replace("{slowdown}", f"{slowdown}")
    return text.replace("{more}", str(thirty_percent(method, backend, text))) if fault == "memory" else text


def thirty_percent(method: str, backend: str, fault: str) -> int:
    """Bytes that a kernel must allocate to raise the peak by 30 %; for some methods the peak is in the host code."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONMALLOC": "malloc"}
    command = [sys.executable, "-c", PROBE, method, backend, fault]
    return int(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


def gate(repository: Path, *arguments: str) -> tuple[int, list[dict[str, object]], float]:
    """Exit status, findings and seconds of the gate."""
    output = repository.parent / "gate.json"
    output.unlink(missing_ok=True)
    begin = time.perf_counter()
    command = [sys.executable, "-m", "orfit_bench", "gate", "base", "HEAD", *arguments, "--json", str(output)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, env=environment, check=False)
    if not output.exists():
        raise RuntimeError(f"the gate ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.returncode, json.loads(output.read_text())["findings"], time.perf_counter() - begin


def tried(
    repository: Path, fault: str, method: str, backend: str, slowdown: float, *arguments: str
) -> dict[str, object]:
    """Insert the fault, run the gate, and judge its verdict."""
    git(repository, "checkout", "-q", "-B", "trial", "base")
    with kernel(repository, method, backend).open("a") as file:
        file.write(change(fault, method, backend, slowdown))
    git(repository, "commit", "-q", "-a", "-m", f"{fault} in {method} on {backend}")
    status, findings, seconds = gate(repository, *arguments)
    theirs = {(name, backend) for name in sharing(kernel(repository, method, backend))}
    bad = [f for f in findings if f["verdict"] in ("worse", "gone", "broken")]
    flagged = {str(f["metric"]) for f in bad if (f["method"], f["backend"]) == (method, backend)}
    elsewhere = [f for f in bad if (f["method"], f["backend"]) not in theirs or fault == "nothing"]
    right = not elsewhere and bool(flagged & WANTED[fault]) == bool(WANTED[fault]) and status == bool(bad)
    return {
        "fault": fault, "method": method, "backend": backend, "right": right, "flagged": sorted(flagged),
        "elsewhere": elsewhere, "numbers": len(findings), "seconds": round(seconds),
        "load": round(os.getloadavg()[0], 1),
    }  # fmt: skip


def main(arguments: list[str]) -> int:
    """Run the trials; return 1 if the gate was wrong at least once."""
    from orfit_bench.tracking.workloads import METHODS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--faults", nargs="+", choices=list(WANTED), default=list(WANTED))
    parser.add_argument("--slowdown", type=float, default=2.0, help="time of a slow kernel relative to the original")
    parser.add_argument("--one-pair", action="store_true", help="measure the method and backend of the trial only")
    given = parser.parse_args(arguments)
    log = given.folder.resolve() / "trials.jsonl"
    repository = scratch(given.folder.resolve())
    done = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    draw = random.Random(given.seed)
    for i, fault in [(i, fault) for i in range(given.trials) for fault in given.faults]:
        method, backend = draw.choice(METHODS), draw.choice(["numpy", "numba"])
        if any((d["trial"], d["fault"]) == (i, fault) for d in done):
            continue
        only = ["--method", method, "--backend", backend] if given.one_pair else []
        done.append({"trial": i, **tried(repository, fault, method, backend, given.slowdown, *only)})
        with log.open("a") as file:
            file.write(json.dumps(done[-1]) + "\n")
        print(done[-1], flush=True)
    for fault, metrics in ((fault, WANTED[fault]) for fault in given.faults):
        of = [d for d in done if d["fault"] == fault]
        print(f"{fault}: right in {sum(d['right'] for d in of)} of {len(of)} ({', '.join(sorted(metrics)) or 'none'})")
    return int(not all(d["right"] for d in done))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
