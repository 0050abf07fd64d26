"""Simulated workers of `orfit_bench.jobs.forking`, and the clock of the process that waits for them.

A worker answers immediately or in parts, never answers, writes endlessly, dies, or answers and does not end. The
waiting process can be stopped at any moment for up to an hour, and its clock may be slow. The waiting code is real.
"""

from __future__ import annotations

import math
import os
import pickle
import random
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from orfit_bench.jobs import forking
from orfit_bench.jobs.processes import DiedError

LIMIT = 0.5
"""Time limit of a worker in seconds."""
MOST_CALLS = 20_000
KINDS = "answers", "answers", "answers", "stays", "hangs", "floods", "dies"
EXIT_CODE = 3


class Worker:
    """A worker with its kind, and the times at which it writes and ends."""

    def __init__(self, rng: random.Random, kind: str, value: Any) -> None:
        self.rng, self.kind, self.value = rng, kind, value
        self.now, self.stopped, self.calls = 0.0, 0.0, 0
        self.rate, self.first = rng.choice((1.0, 0.1)), rng.uniform(0, 1e6)
        self.written = self._written()
        moment = self.written[-1][0] if self.written else rng.uniform(0, 0.8 * LIMIT)
        self.end = moment + rng.choice((0.0, 0.05)) if kind in ("answers", "dies") else math.inf

    def outcome(self) -> Any:
        """The end of this worker as the waiting process sees it; a string for a death or a time limit."""
        seen = SimpleNamespace(
            select=SimpleNamespace(select=self._select),
            time=SimpleNamespace(monotonic=lambda: self._stop() or self._clock()),
            os=SimpleNamespace(
                read=self._read, waitpid=self._waitpid, WNOHANG=os.WNOHANG,
                waitstatus_to_exitcode=os.waitstatus_to_exitcode,
            ),
        )  # fmt: skip
        with patch.multiple(forking, **vars(seen)):
            try:
                return pickle.loads(forking._wait(1, 1, LIMIT, SimpleNamespace(fileno=lambda: 2)))  # type: ignore[arg-type]
            except TimeoutError:
                return "timeout"
            except DiedError as error:
                return "died" if str(EXIT_CODE) in str(error) else str(error)

    @property
    def expected(self) -> Any:
        """The correct outcome."""
        return {"hangs": "timeout", "floods": "timeout", "dies": "died"}.get(self.kind, self.value)

    @property
    def waited(self) -> float:
        """The time during which the waiting process has seen the worker run."""
        return self.rate * (self.now - self.stopped)

    def _written(self) -> list[tuple[float, bytes]]:
        """The worker's output, with times."""
        data = pickle.dumps(self.value)
        message = len(data).to_bytes(forking.LENGTH, "little") + data
        cut = self.rng.randrange(len(message))
        moments = sorted(self.rng.uniform(0, 0.8 * LIMIT) for _ in range(2))
        if self.kind in ("answers", "stays"):
            return list(zip(moments, (message[:cut], message[cut:]), strict=True))
        return [(moments[0], message[:cut])] if self.rng.random() < 0.5 else []

    def _clock(self) -> float:
        return self.first + self.rate * self.now

    def _stop(self) -> None:
        """Stop the waiting process here at random, as SIGSTOP would, while the worker continues."""
        if self.rng.random() < 0.02:
            seconds = self.rng.choice((0.1, 1.0, 3600.0))
            self.now += seconds
            self.stopped += seconds

    def _ready(self) -> bool:
        flooded = self.kind == "floods" and self.now > 0.1
        return flooded or self.now >= self.end or any(moment <= self.now for moment, _ in self.written)

    def _select(self, readers: list[int], _: Any, __: Any, timeout: float) -> tuple[list[int], list[int], list[int]]:
        self.calls += 1
        if self.calls > MOST_CALLS:
            raise RuntimeError(f"a worker that {self.kind} is not ended")
        self.now += 0.001
        if not self._ready():
            self.now += timeout
        found = readers[:1] if self._ready() else []
        self._stop()
        return found, [], []

    def _read(self, descriptor: int, size: int) -> bytes:
        if self.kind == "floods":
            return bytes(size)[:16] if self.written else b"\xff" * 16
        data = b"".join(part for moment, part in self.written if moment <= self.now)
        self.written = [(moment, part) for moment, part in self.written if moment > self.now]
        return data

    def _waitpid(self, child: int, options: int) -> tuple[int, int]:
        self._stop()
        return (child, EXIT_CODE << 8 if self.kind == "dies" else 0) if self.now >= self.end else (0, 0)


def simulate(rng: random.Random, kind: str, value: Any) -> tuple[Any, list[str]]:
    """The outcome of a worker, and the problems with it."""
    worker = Worker(rng, kind, value)
    found = worker.outcome()
    problems = [f"a worker that {kind} is taken for {found!r}"] if found != worker.expected else []
    if worker.waited > LIMIT + 0.2:
        problems.append(f"a worker that {kind} was waited for {worker.waited:.2f} s, its limit is {LIMIT} s")
    return found, problems
