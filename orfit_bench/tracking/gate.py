"""The gate: a comparison of measurements of two commits on one machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from orfit_bench.errors import suggest
from orfit_bench.plugins.discovery import OWN
from orfit_bench.tracking import workloads
from orfit_bench.tracking.answers import Answer, answer_of, deviation_of, trajectory_of
from orfit_bench.tracking.commit_process import CommitProcess, MeasureError
from orfit_bench.tracking.comparison import METHOD, Comparison, Key, classify, tolerance_of
from orfit_bench.tracking.environment import Environment, committed
from orfit_bench.tracking.interleaving import LEAST_TURNS, make_timer, time_in_turns
from orfit_bench.tracking.quantities import LEARNER_TIMES
from orfit_bench.tracking.retries import is_impossible, mark_failing, select_measurement

RETRY_TURNS = 6
"""Number of turns of a timing before a retry can end."""
LEAST_RETRIES, RETRIES = 2, 3
"""Retries of a suspected change, each in new processes, since the memory layout differs between processes."""
RETRY_FRACTION = 0.5
"""A time is measured again if it changed by more than this fraction of its tolerance."""
OWN_TRAJECTORIES = "benchmarks/trajectories.npz"
"""The stored trajectories in the repository of a plugin."""
Progress = Callable[[int, int, str], None]
Job = tuple[str, Key]
"""A timing of `LEARNER_TIMES` or `workloads.STARTS`, and the key that is timed."""
Trajectories = dict[str, workloads.Array]
"""Arrays by "method/rows/row/field"."""


@dataclass(frozen=True, slots=True)
class Gate:
    """The comparison of two commits.

    Parameters
    ----------
    base, head : Environment
        The installed commits.
    sizes : sequence of int
        Numbers of features.
    methods, backends : sequence of str
        By default all that the commits provide.
    tolerated : dict
        Relative changes to ignore, by quantity; overrides the defaults in `quantities`.
    progress : callable
        Called as progress(done, total, description).
    root : path
        The repository, which may contain the stored trajectories of a plugin.
    measures_learners, measures_starts : bool
        Whether learners are measured, and the time to import the package and to start the command line, which the
        repository of a plugin does not have.
    """

    base: Environment
    head: Environment
    sizes: Sequence[int] = (workloads.QUICK_SIZE,)
    methods: Sequence[str] = ()
    backends: Sequence[str] = ()
    tolerated: dict[str, float] = field(default_factory=dict)
    progress: Progress = lambda done, total, what: None
    root: Path = Path()
    measures_learners: bool = True
    measures_starts: bool = True

    def compare(self) -> list[Comparison]:
        """Measure every quantity in both commits and compare them; suspected changes of times are measured again.

        If the newer commit cannot be imported, all its methods are gone. Raises ValueError if the older one cannot, if
        neither commit has the requested methods or backends, or if the file of stored trajectories cannot be read.
        """
        stored = self._stored_trajectories()  # before anything is measured
        with self._processes() as processes:
            keys, found = self._keys(processes) if self.measures_learners else ([], [])
            self._compile(keys)
            found += self._compare_sizes(processes, keys, stored)
            jobs = [(name, key) for key in keys for name in LEARNER_TIMES]
            if self._has_host() and self.measures_starts:
                jobs += [(name, ("", "", 0)) for name in workloads.STARTS]
            times = self._compare_times(processes, jobs)
        with self._processes(PYTHONMALLOC="malloc") as processes:
            found += [self._classify("peak_bytes", key, self._both(processes, "peak_bytes", key)) for key in keys]
        return found + [comparison for job in self._retry(jobs, times) for comparison in job]

    def _has_host(self) -> bool:
        """Whether the commits contain the package itself, and not only a plugin."""
        return OWN in {*self.base.distributions, *self.head.distributions}

    def _stored_trajectories(self) -> Trajectories:
        """Those that the base of a plugin stores, or else its head, or else those of this package."""
        if not self._has_host():
            for side in (self.base, self.head):
                if (data := committed(self.root, side.commit, OWN_TRAJECTORIES)) is not None:
                    return workloads.read_trajectories(data, f"{OWN_TRAJECTORIES} of {side.commit[:12]}")
        return workloads.stored_trajectories()

    # ------------------------------------------------------------------ selection

    def _keys(self, processes: Sequence[CommitProcess]) -> tuple[list[Key], list[Comparison]]:
        """The keys that both commits have, and a comparison for each method that only one of them has."""
        offered = [self._offered(process) for process in processes]
        if isinstance(offered[0], MeasureError):
            raise ValueError(_describe_unmeasured(processes[0], offered[0])) from offered[0]
        provided = [set() if isinstance(found, MeasureError) else found for found in offered]
        before, after = (
            _describe_unmeasured(process, found) if isinstance(found, MeasureError) else _broken(process)
            for process, found in zip(processes, offered, strict=True)
        )
        self._check_names({*provided[0], *provided[1]}, after or before)
        selected = [
            {(m, b) for m, b in pairs if m in (self.methods or [m]) and b in (self.backends or [b])}
            for pairs in provided
        ]
        every = sorted({*selected[0], *selected[1]})
        if not every:
            raise ValueError(
                "neither commit provides a selected method on a selected backend: install a backend (see orfit-bench "
                f"list), or change --method and --backend{f'; {after}' if after else ''}"
            )
        unmatched = [pair for pair in every if (pair in selected[0]) != (pair in selected[1])]
        found = [
            Comparison(
                METHOD, *pair, 0, math.nan, math.nan, *(("gone", after) if pair in selected[0] else ("new", before))
            )
            for pair in unmatched
        ]
        return [(*pair, d) for pair in every if pair not in unmatched for d in self.sizes], found

    def _offered(self, process: CommitProcess) -> set[tuple[str, str]] | MeasureError:
        """The (method, backend) that the commit provides, or the error if it cannot be imported.

        In the repository of a plugin, they are only those of the plugin. Distributions that only the other commit
        contains are excluded: they come from the current environment.
        """
        own = set(process.where.distributions)
        foreign = {*self.base.distributions, *self.head.distributions} - own
        try:
            pairs = process.ask("pairs")
        except MeasureError as error:
            return error
        return {
            (method, backend)
            for method, backend, owners in pairs
            if (OWN in own or own & set(owners.split())) and not foreign & set(owners.split())
        }

    def _check_names(self, pairs: set[tuple[str, str]], broken: str) -> None:
        """Raise ValueError for a requested name that neither commit has, with the reason of broken plugins."""
        for i, (option, names) in enumerate([("--method", self.methods), ("--backend", self.backends)]):
            known = {pair[i] for pair in pairs}
            for name in sorted(set(names) - known):
                reason = f"; {broken}" if broken else ""
                raise ValueError(f"{option} {name}: neither commit has it{reason}{suggest(name, known)}")

    def _compile(self, keys: Sequence[Key]) -> None:
        """Compile the kernels of both commits, on all cores; distributions common to both are compiled once."""
        methods, backends = sorted({key[0] for key in keys}), sorted({key[1] for key in keys})
        if not keys:  # without names, `warm` would compile everything
            return
        options = [part for backend in backends for part in ("--backend", backend)]
        for i, environment in enumerate((self.base, self.head)):
            self.progress(i, 2, "compiling")
            environment.run("-m", "orfit_bench", "warm", *methods, *options, "--dtype", "float64")

    # ------------------------------------------------------------------ measurements

    def _compare_sizes(
        self, processes: Sequence[CommitProcess], keys: Sequence[Key], stored: Trajectories
    ) -> Iterator[Comparison]:
        """Compare the size of the state and the deviations."""
        for i, key in enumerate(keys):
            self.progress(i, len(keys), f"{key[0]} on {key[1]}: exactness")
            for metric in ("state_bytes", "batch_deviation"):
                yield self._classify(metric, key, self._both(processes, metric, key))
            if key[2] == self.sizes[0]:  # trajectories do not depend on the number of features
                yield self._classify("frozen_deviation", key, self._trajectory_deviations(processes, key, stored))

    def _trajectory_deviations(
        self, processes: Sequence[CommitProcess], key: Key, stored: Trajectories
    ) -> list[Answer]:
        """Deviations from the stored trajectory; if none is stored, from that of the first commit that has one."""
        trajectories = [trajectory_of(answer) for answer in self._both(processes, "trajectory", key)]
        try:
            want = workloads.trajectory_of(key[0], stored)
        except workloads.Missing:
            want = next((found for found in trajectories if not isinstance(found, Exception)), trajectories[0])
        return [deviation_of(got, want) for got in trajectories]

    def _both(self, processes: Sequence[CommitProcess], measure: str, key: Key) -> list[Answer]:
        """The answers of both processes, which work in parallel."""
        for process in processes:
            process.begin(measure, *key)
        return [answer_of(process) for process in processes]

    def _compare_times(
        self, processes: Sequence[CommitProcess], jobs: Sequence[Job], turns: int = LEAST_TURNS
    ) -> list[list[Comparison]]:
        """The comparisons of each job."""
        found = []
        for i, (job, key) in enumerate(jobs):
            self.progress(i, len(jobs), f"{key[0]} on {key[1]}: {job}" if key[0] else job)
            metrics = LEARNER_TIMES.get(job, (job,))
            shares = [tolerance_of(metric, self.tolerated) for metric in metrics]
            sides = time_in_turns([make_timer(process, job, key) for process in processes], shares, turns)
            answers = [side if isinstance(side, list) else [side] * len(metrics) for side in sides]
            found.append([self._classify(metric, key, pair) for metric, *pair in zip(metrics, *answers, strict=True)])
        return found

    def _classify(self, metric: str, key: Key, answers: Sequence[Answer]) -> Comparison:
        return classify(metric, key, answers, self.tolerated)

    @contextmanager
    def _processes(self, **variables: str) -> Iterator[list[CommitProcess]]:
        """New processes of both commits."""
        with ExitStack() as stack:
            yield [stack.enter_context(CommitProcess(side, variables)) for side in (self.base, self.head)]

    # ------------------------------------------------------------------ retries

    def _retry(self, jobs: Sequence[Job], times: list[list[Comparison]]) -> list[list[Comparison]]:
        """Measure suspected jobs again in new processes; the middle one of all measurements of a job counts.

        All quantities of a job come from one measurement, so that a kernel is never slower than the call containing it.
        """
        measured, chosen = [[job] for job in times], list(times)
        suspected = [i for i, job in enumerate(chosen) if self._is_suspected(job)]
        for retry in range(1, RETRIES + 1):
            if not suspected:
                break
            with self._processes() as processes:
                again = self._compare_times(processes, [jobs[i] for i in suspected], RETRY_TURNS)
            for i, job in zip(suspected, again, strict=True):
                measured[i].append(job)
                chosen[i] = select_measurement(measured[i])
            if retry >= LEAST_RETRIES:
                suspected = [i for i in suspected if self._is_suspected(chosen[i])]
        return [mark_failing(job) if is_impossible(job) else job for job in chosen]

    def _is_suspected(self, job: Sequence[Comparison]) -> bool:
        limits = (RETRY_FRACTION * tolerance_of(comparison.metric, self.tolerated) for comparison in job)
        changed = (comparison.size > limit for comparison, limit in zip(job, limits, strict=True))
        return any(changed) or is_impossible(job)


def _describe_unmeasured(process: CommitProcess, error: MeasureError) -> str:
    return f"{process.where.commit[:12]} cannot be measured: {error}"


def _broken(process: CommitProcess) -> str:
    """The reason why distributions of a commit offer nothing; empty if all of them can be loaded."""
    reasons = process.ask("broken")
    own = [name for name in process.where.distributions if name in reasons]
    return "; ".join(f"the plugin of {name} is broken: {reasons[name]}" for name in own)
