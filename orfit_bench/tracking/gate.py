"""The gate: two commits measured in turns on one machine, and what got worse from one to the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from orfit_bench.errors import suggest
from orfit_bench.tracking import workloads
from orfit_bench.tracking.environment import Environment
from orfit_bench.tracking.finding import Finding, Key, settled, share
from orfit_bench.tracking.metrics import METRICS, OF_LEARNERS
from orfit_bench.tracking.side import MeasureError, MissingError, Side
from orfit_bench.tracking.turns import clock, in_turns

ROUNDS, AGAIN = 3, 5
"""Turns of the first look, and of every further one at what looked worse."""
LOOKS = 3
"""Further looks, each by new processes: where arrays and code come to lie is drawn once for a process."""
SUSPICIOUS = 0.5
"""Share of what is tolerated from which on a time is looked at again."""
Progress = Callable[[int, int, str], None]
Job = tuple[str, Key]


@dataclass(frozen=True, slots=True)
class Gate:
    """Two environments, and what of them is compared: sizes, methods, backends (none named: all there are)."""

    base: Environment
    head: Environment
    sizes: Sequence[int] = (workloads.QUICK_SIZE,)
    methods: Sequence[str] = ()
    backends: Sequence[str] = ()
    tolerated: dict[str, float] = field(default_factory=dict)
    progress: Progress = lambda done, total, what: None

    def findings(self) -> list[Finding]:
        """Every number of both commits, the times measured again where they looked worse.

        ValueError where neither commit has any of the pairs asked for, or a method or backend of that name.
        """
        with self._sides() as sides:
            keys, found = self._keys(sides)
            self._compile(keys)
            found += self._untimed(sides, keys)
            found += self._clocked(sides, [(metric, key) for key in keys for metric in OF_LEARNERS], ROUNDS)
            found += self._clocked(sides, [(metric, ("", "", 0)) for metric in workloads.STARTS], ROUNDS)
        with self._sides(PYTHONMALLOC="malloc") as sides:
            found += [self._settled("peak_bytes", key, self._both(sides, "peak_bytes", key)) for key in keys]
        return self._looked_at_again(found)

    # ------------------------------------------------------------------ what there is

    def _keys(self, sides: Sequence[Side]) -> tuple[list[Key], list[Finding]]:
        """What both commits have, and a finding for what one of them has not."""
        there = [self._pairs(side) for side in sides]
        self._known({*there[0], *there[1]})
        has = [
            {(m, b) for m, b in pairs if m in (self.methods or [m]) and b in (self.backends or [b])} for pairs in there
        ]
        every = sorted({*has[0], *has[1]})
        if not every:
            raise ValueError(
                "neither commit has a method on a backend that is to be compared: install a backend (orfit-bench list "
                "says what is there), or name other --method and --backend"
            )
        lonely = [p for p in every if (p in has[0]) != (p in has[1])]
        found = [Finding("method", *p, 0, math.nan, math.nan, "gone" if p in has[0] else "new") for p in lonely]
        return [(*pair, d) for pair in every if pair not in lonely for d in self.sizes], found

    def _pairs(self, side: Side) -> set[tuple[str, str]]:
        """What the commit has: all that is here, or of a repository without the host what its distributions brought.

        What belongs to a distribution that the other commit alone has is the environment's, not this commit's.
        """
        ours = set(side.where.distributions)
        lacking = {*self.base.distributions, *self.head.distributions} - ours
        return {
            (method, backend)
            for method, backend, owners in side.ask("pairs")
            if ("orfit-bench" in ours or ours & set(owners.split())) and not lacking & set(owners.split())
        }

    def _known(self, pairs: set[tuple[str, str]]) -> None:
        """ValueError for a name asked for that neither commit has."""
        for i, (option, names) in enumerate([("--method", self.methods), ("--backend", self.backends)]):
            known = {pair[i] for pair in pairs}
            for name in sorted(set(names) - known):
                raise ValueError(f"{option} {name}: neither commit has it{suggest(name, known)}")

    def _compile(self, keys: Sequence[Key]) -> None:
        """Have machine code ready, one commit after the other: what they share is compiled once, by all cores."""
        methods, backends = sorted({key[0] for key in keys}), sorted({key[1] for key in keys})
        if not keys:  # without a name `warm` compiles everything
            return
        some = [part for backend in backends for part in ("--backend", backend)]
        for i, side in enumerate((self.base, self.head)):
            self.progress(i, 2, "compiling")
            side.run("-m", "orfit_bench", "warm", *methods, *some, "--dtype", "float64")

    # ------------------------------------------------------------------ measures

    def _untimed(self, sides: Sequence[Side], keys: Sequence[Key]) -> Iterator[Finding]:
        for i, key in enumerate(keys):
            self.progress(i, len(keys), f"{key[0]} on {key[1]}: how exact")
            for metric in ("state_bytes", "batch_deviation"):
                yield self._settled(metric, key, self._both(sides, metric, key))
            if key[2] == self.sizes[0]:  # its streams have sizes of their own
                yield self._settled("frozen_deviation", key, self._trajectories(sides, key))

    def _trajectories(self, sides: Sequence[Side], key: Key) -> list[Any]:
        """How far both trajectories are from the frozen one, or the head's from the base's where none was frozen."""
        kept = [_numbers(value) for value in self._both(sides, "trajectory", key)]
        try:
            want = workloads.frozen(key[0])
        except workloads.Missing:
            want = kept[0]
        return [_off(value, want) for value in kept]

    def _both(self, sides: Sequence[Side], measure: str, key: Key) -> list[Any]:
        """The answers of both sides, which work at the same time; an error in the place of an answer."""
        for side in sides:
            side.begin(measure, *key)
        return [_answered(side) for side in sides]

    def _clocked(self, sides: Sequence[Side], jobs: Sequence[Job], rounds: int) -> Iterator[Finding]:
        for i, (metric, key) in enumerate(jobs):
            self.progress(i, len(jobs), f"{key[0]} on {key[1]}: {metric}" if key[0] else metric)
            yield self._settled(metric, key, in_turns([clock(side, metric, key) for side in sides], rounds))

    def _settled(self, metric: str, key: Key, values: Sequence[Any]) -> Finding:
        return settled(metric, key, values, self.tolerated)

    @contextmanager
    def _sides(self, **variables: str) -> Iterator[list[Side]]:
        """New processes of both commits."""
        with ExitStack() as stack:
            yield [stack.enter_context(Side(side, variables)) for side in (self.base, self.head)]

    # ------------------------------------------------------------------ once more

    def _looked_at_again(self, found: Sequence[Finding]) -> list[Finding]:
        """The findings, every time that looked changed replaced by the look that saw least: worse is what always is."""
        best = dict(enumerate(found))
        for _ in range(LOOKS):
            doubtful = [i for i, finding in best.items() if self._suspicious(finding)]
            if not doubtful:
                break
            with self._sides() as sides:
                looks = self._clocked(sides, [(best[i].metric, best[i].key) for i in doubtful], AGAIN)
                for i, look in zip(doubtful, looks, strict=True):
                    if look.verdict == "broken" or 0 <= look.size < best[i].size:
                        best[i] = look
        return list(best.values())

    def _suspicious(self, finding: Finding) -> bool:
        timed = finding.metric in METRICS and METRICS[finding.metric].timed
        return timed and finding.size > SUSPICIOUS * share(finding.metric, self.tolerated)


def _answered(side: Side) -> Any:
    """The answer of a side, or the error in its place."""
    try:
        return side.finish()
    except MeasureError as error:
        return error


def _numbers(value: Any) -> Any:
    """The arrays of a trajectory as it was sent."""
    if isinstance(value, Exception):
        return value
    return {name: np.frombuffer(data, float).reshape(shape) for name, (shape, data) in value.items()}


def _off(got: Any, want: Any) -> Any:
    """How far one trajectory is from another, or the error in its place."""
    if isinstance(got, Exception):
        return got
    if isinstance(want, Exception):
        return MissingError("no trajectory to compare with")
    try:
        return workloads.off(got, want)
    except ValueError as error:
        return MeasureError(str(error))
