"""A seeded simulation of runs that share one output: kills, errors of the system, hanging workers, slow clocks.

`python3 dev.py simulate` runs many seeds; a seed that fails is the reproduction: `python3 dev.py simulate --first 17
--seeds 1`. Runner, journal, locks and files are the real ones. Clients are threads, of which one runs at a time: at
each operation of `orfit_bench.jobs.system` the seed decides which one continues, and whether the operation fails. A
killed client does nothing more, but its files are closed, which unlocks them. Workers are those of `simulated_workers`.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import random
import sys
import tempfile
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from helpers import simulated_workers

from orfit_bench.jobs import locks, system
from orfit_bench.jobs.files import replace_text
from orfit_bench.jobs.journal import Journal, folder_of, read_entry
from orfit_bench.jobs.runner import run_resumable

ERRORS = errno.ENOSPC, errno.EIO, errno.EINTR
KILL_BEFORE, KILL_AFTER, SHORT = "killed before", "killed after", "half written"
FAILURES = (*ERRORS, KILL_BEFORE, KILL_BEFORE, KILL_AFTER, KILL_AFTER, SHORT)
MOST_CLIENTS, MOST_RESTARTS = 3, 6


class Killed(BaseException):
    """The end of a client that the system killed."""


class World:
    """The state shared by all clients: the output, the jobs with their results, and the active client."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.output, self.rng = folder / "results.json", rng
        self.jobs = {f"job{i}": rng.random() for i in range(rng.randint(1, 6))}
        self.kinds = {key: rng.choice(simulated_workers.KINDS) for key in self.jobs}
        self.at_work: Client | None = None
        self.turn = threading.Semaphore(0)
        self.problems: list[str] = []
        self.warnings: list[warnings.WarningMessage] = []
        self.events: Counter[str] = Counter()

    def expected(self) -> str:
        """The contents of the results when nothing fails."""
        right = {key: simulated_workers.Worker(random.Random(0), self.kinds[key], self.jobs[key]) for key in self.jobs}
        return json.dumps({key: {"key": key, "value": worker.expected} for key, worker in right.items()})

    def stored(self) -> set[str]:
        """The keys of the jobs whose records are complete."""
        found = set()
        for path in folder_of(self.output).glob("*.json"):
            try:
                found.add(read_entry(path)["record"]["key"])
            except ValueError as error:
                self.problems.append(f"a record is damaged: {error}")
        return found

    def unreadable(self) -> set[str]:
        """The keys of the jobs whose records could not be read, as warnings caught."""
        caught = [str(warning.message) for warning in self.warnings]
        return {key for key in self.jobs if any(f"/{key}.json: " in text for text in caught)}

    def look(self) -> None:
        """Record a problem if there are results that are not complete."""
        if self.output.exists() and self.output.read_text() != self.expected():
            self.problems.append("the results are neither missing nor whole")


class Client(threading.Thread):
    """A run over all jobs, as `orfit_bench.bench.run` does it; `failures` are those of its operations by number."""

    def __init__(self, world: World, failures: Mapping[int, Any]) -> None:
        super().__init__(daemon=True)
        self.world, self.failures = world, failures
        self.go, self.count, self.killed, self.outcome = threading.Semaphore(0), 0, False, ""
        self.simulated = True

    def run(self) -> None:
        self.go.acquire()
        try:
            self.work()
            self.outcome = "finished"
        except Killed:
            self.outcome = "killed"
        except BlockingIOError:
            self.outcome = "refused"
        except OSError:
            self.outcome = "reported"
        except BaseException as error:  # nothing else may come out of a run
            self.outcome = f"{type(error).__name__}: {error}"
            self.world.problems.append(self.outcome)
        self.world.turn.release()

    def work(self) -> None:
        world = self.world
        with locks.lock(world.output):
            if world.at_work:
                world.problems.append("two clients are at work")
            world.at_work = self
            try:
                journal = Journal(world.output, {"version": 1})
                records = run_resumable(world.jobs, self.perform, journal)
                replace_text(world.output, json.dumps(records))
                journal.remove(world.jobs)
            finally:
                world.at_work = None

    def perform(self, jobs: Mapping[str, float]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Finish the jobs in any order."""
        self.simulated = False
        again = self.world.stored() & set(jobs)
        self.simulated = True
        if again - self.world.unreadable():
            self.world.problems.append(f"finished jobs are run again: {sorted(again)}")
        for key in self.world.rng.sample(list(jobs), len(jobs)):
            self.pause()
            kind = self.world.kinds[key]
            found, problems = simulated_workers.simulate(self.world.rng, kind, jobs[key])
            self.world.problems += problems
            self.world.events[f"worker {kind}"] += 1
            yield key, {"value": found}

    def pause(self) -> None:
        """Let another client continue; raise Killed if this one has been killed."""
        if not self.killed:
            self.world.turn.release()
            self.go.acquire()
        if self.killed:
            raise Killed

    def operation(self, original: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Carry out an operation of the system, or let it fail."""
        if self.killed and original is _REMOVE:  # in `finally` before `close`, which does what the system would do
            return None
        self.pause()
        failure = self.failures.get(self.count)
        self.count += 1
        if failure is None:
            return original(*arguments)
        self.world.events[str(failure)] += 1
        if failure in ERRORS:
            raise OSError(failure, os.strerror(failure))
        if failure == KILL_AFTER:
            original(*arguments)
        elif original is _WRITE:  # killed during it, or a short write
            descriptor, data = arguments
            written = original(descriptor, bytes(data)[: len(data) // 2 or 1])
            if failure == SHORT:
                return written
        elif failure == SHORT:
            return original(*arguments)
        self.killed = True
        raise Killed


_WRITE, _REMOVE = system.write, system.remove


@contextmanager
def simulated_system() -> Iterator[None]:
    """The operations of the system, at which clients take turns; nothing waits for the disk."""
    originals = {name: getattr(system, name) for name in system.OPERATIONS}

    def replaced(original: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*arguments: Any) -> Any:
            client = threading.current_thread()
            simulated = isinstance(client, Client) and client.simulated
            return client.operation(original, arguments) if simulated else original(*arguments)

        return operation

    try:
        for name, original in originals.items():
            setattr(system, name, replaced((lambda *_: None) if name.startswith("sync") else original))
        yield
    finally:
        for name, original in originals.items():
            setattr(system, name, original)


def simulate(seed: int) -> tuple[list[str], Counter[str]]:
    """Run clients until one has finished without a failure; return the errors found, and counts of injections."""
    rng = random.Random(seed)
    with (
        tempfile.TemporaryDirectory(prefix="orfit-bench-simulation-") as folder,
        simulated_system(),
        _warnings() as caught,
    ):
        world = World(Path(folder), rng)
        world.warnings = caught
        for restart in range(MOST_RESTARTS + 1):
            calm = restart == MOST_RESTARTS
            clients = [_client(world, calm) for _ in range(1 if calm else rng.randint(1, MOST_CLIENTS))]
            _take_turns(world, clients)
            if calm and clients[0].outcome != "finished":
                world.problems.append(f"a run without failures ended: {clients[0].outcome}")
        if world.problems:
            return world.problems, world.events
        if not world.output.exists():
            world.problems.append("there are no results")
        if left := sorted(path.name for path in Path(folder).rglob("*") if path != world.output):
            world.problems.append(f"files are left: {left}")
        return world.problems, world.events


@contextmanager
def _warnings() -> Iterator[list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def _client(world: World, calm: bool) -> Client:
    chosen = [] if calm else [world.rng.randrange(60) for _ in range(world.rng.randint(0, 3))]
    return Client(world, {number: world.rng.choice(FAILURES) for number in chosen})


def _take_turns(world: World, clients: list[Client]) -> None:
    for client in clients:
        client.start()
    waiting = list(clients)
    while waiting:
        client = world.rng.choice(waiting)
        client.go.release()
        world.turn.acquire()
        world.look()
        if client.outcome:
            client.join()
            world.events[client.outcome] += 1
            waiting.remove(client)


def main() -> int:
    """Simulate seeds and print what was injected and what failed."""
    parser = argparse.ArgumentParser(prog="dev.py simulate", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="number of seeds (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: %(default)s)")
    chosen = parser.parse_args()
    total: Counter[str] = Counter()
    failed = 0
    for seed in range(chosen.first, chosen.first + chosen.seeds):
        problems, events = simulate(seed)
        total += events
        if problems:
            failed += 1
            print(f"seed {seed}: {'; '.join(dict.fromkeys(problems))}")
    named = {os.strerror(int(name)) if name.isdigit() else name: count for name, count in total.items()}
    print(", ".join(f"{name}: {count:,}" for name, count in sorted(named.items())))
    print(f"{chosen.seeds} seeds, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
