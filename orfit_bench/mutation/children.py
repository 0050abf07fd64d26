"""Child processes: they find the modules to mutate, or run checks, with one module replaced, until one fails.

The children are forked from a process that has imported this package but no plugin. A child that hangs, crashes
or uses too much memory does not affect others.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from orfit_bench.conformance.plan import plan_checks
from orfit_bench.conformance.result import FAILED, PASSED, UNPROVEN, PlannedCheck
from orfit_bench.conformance.runner import run_check
from orfit_bench.mutation.mutants import Mutant
from orfit_bench.mutation.processes import Child, Say, fork, time_limit
from orfit_bench.mutation.replacing import ensure_replaceable, replace
from orfit_bench.mutation.sources import Source, find_sources
from orfit_bench.plugins.registry import registry

START_SECONDS = 60.0
"""Time limit for importing the plugins."""


class Question(NamedTuple):
    """The kernels to judge: names of methods, backends or plugins; backends; dtypes; modules; the seed."""

    names: Sequence[str]
    backends: Sequence[str]
    dtypes: Sequence[str]
    modules: Sequence[str]
    seed: int


class Timed(NamedTuple):
    """A check that the unchanged kernel passes, and its duration in seconds."""

    check: PlannedCheck
    seconds: float


def find(question: Question) -> list[Source]:
    """The files to mutate, found in a child."""

    def work(say: Say, folder: Path) -> None:
        checks = plan(question)
        for source in find_sources({(c.backend, c.method) for c in checks}, question.modules):
            say(asdict(source))

    return [
        Source(s["module"], s["path"], [(a, b) for a, b in s["lines"]], [(b, m) for b, m in s["pairs"]])
        for s in answers(fork(work))
    ]


def measure(question: Question) -> list[Timed]:
    """The checks that the unchanged kernels pass, with their durations. Raises ValueError if a check fails."""

    def work(say: Say, folder: Path) -> None:
        for check in plan(question):
            began = time.perf_counter()
            result = run_check(check)
            say([asdict(check), time.perf_counter() - began, result.status, result.reason])

    found = []
    for fields, seconds, status, reason in answers(fork(work)):
        check = PlannedCheck(**fields)
        if status in (FAILED, UNPROVEN):
            raise ValueError(
                f"the unchanged kernel fails {check.label}: {reason}. Mutants can be judged only if all checks pass; "
                f"repeat: {check.repeat}"
            )
        found += [Timed(check, seconds)] if status == PASSED else []
    return found


def judge(mutant: Mutant, checks: Sequence[Timed]) -> Child:
    """Start a child that runs the checks on a mutant until one fails.

    Raises RuntimeError if this process has imported the module of a kernel, or a plugin that uses learner code,
    which children could then not replace.
    """
    ensure_replaceable(mutant.module)

    def work(say: Say, folder: Path) -> None:
        with time_limit(START_SECONDS):
            replace(mutant.module, mutant.code, folder)
            importlib.import_module(mutant.module)
            kit = importlib.import_module("orfit_bench.conformance.runner")  # with the changed learner code
        for check, seconds in checks:
            say({"running": check.label})
            with time_limit(10 + 10 * seconds):
                result = kit.run_check(check)
            if result.status != PASSED:
                say({"killed": check.label, "reason": result.reason})
                return
        say({"survived": len(checks)})

    return fork(work)


def verdict(text: str, status: int) -> tuple[bool, str, str]:
    """Whether the mutant was killed, the check that killed it, and the reason."""
    lines = [json.loads(line) for line in text.splitlines()]
    last = lines[-1] if lines else {}
    running = next((line["running"] for line in reversed(lines) if "running" in line), "the import")
    if "survived" in last:
        return False, "", ""
    if "killed" in last:
        return True, last["killed"], last["reason"]
    if "error" in last:
        return True, running, last["error"]
    ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    return True, running, "time limit" if ended == signal.SIGALRM else f"the process died (status {status})"


def plan(question: Question) -> list[PlannedCheck]:
    """The selected checks; a backend that is unavailable on this machine is left out, unless it is named."""
    names, backends, dtypes, _, seed = question
    checks = plan_checks(names, backends=backends, dtypes=dtypes, seed=seed)
    known, named = registry().backends, (*names, *backends)
    return [check for check in checks if check.backend in named or known[check.backend].available]


def answers(child: Child) -> list[Any]:
    """The values reported by a child that has ended. Raises ValueError if it failed or died."""
    try:
        text, status = child.wait()
    except KeyboardInterrupt:
        child.kill()
        raise
    lines = [json.loads(line) for line in text.splitlines()]
    if lines and isinstance(lines[-1], dict) and "error" in lines[-1]:
        raise ValueError(lines[-1]["error"].removeprefix("ValueError: ").removeprefix("UnavailableError: "))
    if status:
        raise ValueError(f"the process that checks the unchanged kernel died (status {status})")
    return lines
