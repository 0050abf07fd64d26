"""Run the parts; `python3 dev.py gpu` calls this with an interpreter that has all requirements."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic, time
from typing import Any

from benchmarks.gpu import page
from benchmarks.gpu.cases import CASES
from benchmarks.gpu.options import parsed
from benchmarks.gpu.plan import plan
from benchmarks.gpu.runner import Call, chosen, counts, run, summary
from benchmarks.gpu.units import DONE, FAILED, LEFT, Part, Unit
from benchmarks.gpu.workers import Worker
from orfit_bench_cupy import METHODS

START = 240.0
"""Time limit in seconds of the first computation on the device, which loads libraries from a cold disk."""
TIME_OVER = 3
"""The exit status of a call that ended before everything was done."""


def main(called: str, began: str, *arguments: str, backend: str = "cupy") -> int:
    """Run the command and return the exit status; `called` is its name as typed by the user, at the time `began`."""
    options = parsed(arguments)
    refuse_unknown(options)
    call = Call(options.output, options.minutes, options.again, began=monotonic() - (time() - float(began)))
    parts = [part for part in plan(options, backend) if not options.parts or part.name in options.parts]
    if not options.list:
        measure(call, parts, backend)
    for line in summary(call, parts):
        call.say(line)
    wrong = not options.list and not write_page(call, options, backend)
    status = ending(call, parts, f"{called} {shlex.join(arguments)}".strip())
    return 0 if options.list else status or int(wrong)


def measure(call: Call, parts: Sequence[Part], backend: str) -> None:
    """Run the remaining units of the parts, until all are done, the time is over or the user stops the call."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # like Ctrl-C
    try:
        start_cold(call.folder)
        if any(chosen(call, part) for part in parts):
            call.where = machine(backend, call.left())
            run(call, parts)
    except KeyboardInterrupt:
        call.say("stopped")


def refuse_unknown(options: argparse.Namespace) -> None:
    """Exit with status 2 if an unknown method or case is named."""
    names = [case.name for case in CASES]
    wrong = [name for name in options.methods if name not in METHODS]
    wrong += [word for word in options.cases if not any(word in name for name in names)]
    if wrong:
        print(f"no {wrong[0]!r} among {', '.join([*METHODS, *names])}", file=sys.stderr)
        sys.exit(2)


def machine(backend: str, seconds: float) -> dict[str, Any]:
    """The machine of the call; exits if it cannot compute."""
    results: dict[str, Any] = {}
    with Worker() as worker:
        unit = Unit("machine", "benchmarks.gpu.measuring:describe", {"backend": backend}, min(START, seconds))
        status, why = worker.do(unit, unit.limit, results.update)
    if status != DONE or results["reason"]:
        sys.exit(f"{backend}: {why or results['reason']}")
    return results


def start_cold(output: Path) -> None:
    """If CuPy's cached kernels are gone, delete the record of the part that compiled them, so that it runs again."""
    kernels = Path(os.environ.get("CUPY_CACHE_DIR", output / "kernels"))
    kernels.mkdir(parents=True, exist_ok=True)
    mark = kernels / "orfit-bench-warm"
    if not mark.exists():
        (output / "warm.jsonl").unlink(missing_ok=True)
        mark.touch()


def write_page(call: Call, options: argparse.Namespace, backend: str) -> bool:
    """Write the page to the output and, on request, to docs/gpu.md; return whether that succeeded."""
    small = options.sizes == "small"
    targets = [options.output / "gpu.md"]
    if "page" in options.parts and (options.page or not small):
        targets.append(options.page or page.PAGE)
    everything = plan(argparse.Namespace(**{**vars(options), "methods": [], "cases": []}), backend)
    for target in targets:
        try:
            page.write(options.output, everything, small, target)
        except Exception as error:  # the measurements are stored in the files nevertheless
            call.say(f"{target} cannot be written: {type(error).__name__}: {error}")
            return False
        call.say(f"page: {target}")
    return True


def ending(call: Call, parts: Sequence[Part], command: str) -> int:
    """Print how to continue, and return the exit status."""
    by = {part.name: counts(part, call.journal(part).found()) for part in parts}
    failed = [name for name, of in by.items() if of[FAILED]]
    left = any(of[LEFT] for of in by.values())
    words = [word for word in shlex.split(command) if word not in ("--list", "--again")]
    if left:
        call.say(f"what is left:   {shlex.join(words)}")
    if failed:
        call.say(f"what failed:    {shlex.join([*words, '--again'])}")
    return 1 if failed else TIME_OVER if left else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
