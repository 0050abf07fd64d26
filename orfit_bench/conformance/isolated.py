"""The kit in worker processes: a kernel that crashes, leaves or hangs costs the check that it is in, and no other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from orfit_bench.conformance.check import CHECKS
from orfit_bench.conformance.kit import Known, Progress, judged, known, report, run
from orfit_bench.conformance.plan import DTYPES, Item, Pair, chosen_pairs, of_pair
from orfit_bench.conformance.record import FAILED, Record, Report
from orfit_bench.jobs.notes import describe_error
from orfit_bench.jobs.processes import START_SECONDS, Call, Process, cores, open_processes, spread
from orfit_bench.plugins.registry import registry

TIMEOUT = 60.0
SLOW = 10
"""How many times the timeout a slow check may take."""
PATIENCE = 5
"""After so many checks of a kernel that were stopped, the others of it are not tried: it hangs."""


def conform_isolated(
    *names: str,
    backends: Sequence[str] = (),
    dtypes: Sequence[str] = DTYPES,
    only: Sequence[str] = (),
    seed: int = 0,
    slow: bool = False,
    timeout: float = TIMEOUT,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """As `conform`, with every check in one of several worker processes, and stopped after `timeout` seconds.

    A slow check has SLOW times as long. workers is how many processes: the cores, at most 8, unless told.
    A check whose process dies or is stopped has failed; after PATIENCE stopped ones so have the others, untried.
    A kernel with which a process dies or hangs while it is loaded, before any check, is a problem of the report. No
    kernel is loaded here. ValueError where a plugin is of this process alone: its kernels are for `conform`.
    """
    if not timeout > 0:
        raise ValueError(f"timeout={timeout}: want a number of seconds > 0")
    if workers is not None and workers < 1:
        raise ValueError(f"workers={workers}: want an integer >= 1")
    registry().require_installed("call conform()")
    pairs = chosen_pairs(names, backends, dtypes, only, seed)
    with open_processes(1) as processes:
        plan, of, problems = _planned(processes, pairs, (dtypes, only, seed, slow))
        with open_processes(min(workers or cores(), len(plan)) - 1) as more:
            everyone = [*processes, *more]
            records = _all(everyone, plan, of, timeout, progress or (lambda done, total, record: None))
        arguments = (plan, records, bool(only), None, [*names, *backends])
        said: Report = processes[0].call(Call(report, arguments, START_SECONDS))
    return replace(said, problems=[*said.problems, *problems])


def _planned(
    processes: Sequence[Process], pairs: Sequence[Pair], asked: tuple[Any, ...]
) -> tuple[list[Item], dict[Pair, Known], list[str]]:
    """The plan, what is known of each kernel, and what is wrong with those that cannot even be loaded."""
    plans = dict(spread(processes, enumerate(Call(_plan, (*pair, *asked), START_SECONDS) for pair in pairs)))
    plan, of, problems = [], {}, []
    for number, pair in enumerate(pairs):
        if isinstance(said := plans[number], tuple):
            plan += said[0]
            of[pair] = said[1]
        else:
            problems.append(f"{pair[1]} on {pair[0]} cannot be checked: {said}")
    return plan, of, problems


def _plan(backend: str, method: str, *asked: Any) -> tuple[list[Item], Known] | str:
    try:
        return of_pair(backend, method, *asked), known(backend, method)
    except BaseException as error:  # anybody's code, loaded for the first time
        return describe_error(error)


def _all(
    processes: Sequence[Process], plan: Sequence[Item], of: dict[Pair, Known], timeout: float, progress: Progress
) -> list[Record]:
    """The records, in the order of the plan."""
    slow = {one.name for one in CHECKS if one.slow}
    records: dict[int, Record] = {}
    stopped: Counter[Pair] = Counter()

    def keep(number: int, record: Record) -> None:
        records[number] = record
        progress(len(records), len(plan), record)

    def failed(item: Item, reason: str) -> Record:
        return judged(item, of[item.backend, item.method], FAILED, reason)

    def calls() -> Iterator[tuple[int, Call]]:
        for number, item in enumerate(plan):
            if stopped[item.backend, item.method] < PATIENCE:
                yield number, Call(_run, (item,), timeout * (SLOW if item.check in slow else 1))
            else:
                keep(number, failed(item, f"not tried: {PATIENCE} checks of it were stopped for the time they took"))

    for number, said in spread(processes, calls()):
        item = plan[number]
        stopped[item.backend, item.method] += isinstance(said, TimeoutError)
        keep(number, failed(item, str(said)) if isinstance(said, Exception) else said)
    return [records[number] for number in range(len(plan))]


def _run(item: Item) -> Record:
    try:
        return run(item)
    except KeyboardInterrupt as error:  # a plugin's own: the user's never reaches a worker
        return judged(item, known(item.backend, item.method), FAILED, f"raised KeyboardInterrupt {error}".strip())
