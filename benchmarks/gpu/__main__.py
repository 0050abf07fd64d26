"""Do the parts: `python3 dev.py gpu` calls this with an interpreter that has all it needs."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.gpu import page
from benchmarks.gpu.options import parsed
from benchmarks.gpu.plan import plan
from benchmarks.gpu.runner import Call, counts, run, summary
from benchmarks.gpu.units import DONE, FAILED, LEFT, Part, Unit
from benchmarks.gpu.workers import Worker

START = 240.0
"""Longest time that a first computation on the device may take: libraries are loaded from a cold disk."""
TIME_OVER = 3
"""The status of a call that ended before all was done."""


def main(called: str, *arguments: str, backend: str = "cupy") -> int:
    """Do what the arguments say; the exit status."""
    options = parsed(arguments)
    everything = [part for part in plan(options, backend) if not options.parts or part.name in options.parts]
    call = Call(options.output, options.minutes, options.again)
    parts = [part for part in everything if part.units]
    if parts and not options.list:
        call.where = machine(backend)
        start_cold(options.output)
        try:
            run(call, parts)
        except KeyboardInterrupt:
            call.say("stopped")
    for line in summary(call, parts):
        call.say(line)
    written = "page" in options.parts or not options.list
    wrong = written and not write_page(call, options, backend)
    return ending(call, parts, f"{called} {shlex.join(arguments)}".strip(), options.list) or int(wrong)


def machine(backend: str) -> dict[str, Any]:
    """What the call runs on; ends the process where that cannot compute."""
    told: dict[str, Any] = {}
    with Worker() as worker:
        unit = Unit("machine", "benchmarks.gpu.measuring:describe", {"backend": backend}, START)
        became, why = worker.do(unit, unit.limit, told.update)
    if became != DONE or told["reason"]:
        sys.exit(f"{backend}: {why or told['reason']}")
    return told


def start_cold(output: Path) -> None:
    """Where CuPy's kernels are not kept any more, they are compiled again: that they once were is forgotten."""
    kernels = Path(os.environ.get("CUPY_CACHE_DIR", output / "kernels"))
    kernels.mkdir(parents=True, exist_ok=True)
    mark = kernels / "orfit-bench-warm"
    if not mark.exists():
        (output / "warm.jsonl").unlink(missing_ok=True)
        mark.touch()


def write_page(call: Call, options: Any, backend: str) -> bool:
    """The page in the output, and where it is asked for, docs/gpu.md; whether that went well."""
    small = options.sizes == "small"
    targets = [options.output / "gpu.md"]
    if "page" in options.parts and (options.page or not small):
        targets.append(options.page or page.PAGE)
    options.methods, options.cases = [], []  # the page tells of all
    for target in targets:
        try:
            page.write(options.output, plan(options, backend), small, target)
        except Exception as error:  # what was measured is in the files all the same
            call.say(f"{target} cannot be written: {type(error).__name__}: {error}")
            return False
        call.say(f"page: {target}")
    return True


def ending(call: Call, parts: Sequence[Part], command: str, listed: bool) -> int:
    """Say how to go on; the exit status."""
    by = {part.name: counts(part, call.journal(part).found()) for part in parts}
    failed = [name for name, of in by.items() if of[FAILED]]
    left = any(of[LEFT] for of in by.values())
    words = shlex.split(command)
    if left and not call.again:
        call.say(f"what is left:   {command}")
    if failed:
        again = words if "--again" in words else [*words, "--again"]
        call.say(f"what failed:    {shlex.join(again)}")
    if listed:
        return 0
    return 1 if failed else TIME_OVER if left else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
