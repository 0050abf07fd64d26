"""Checks of the numeric arguments of `learn`."""

from __future__ import annotations

from numbers import Integral

from orfit_bench.jobs.processes import available_cores
from orfit_bench.learners.rule import Rule
from orfit_bench.state import merging


def check_workers(workers: int | None) -> int:
    """The number of processes. Raises ValueError unless it is an integer >= 1 or None."""
    if workers is None:
        return available_cores()
    return _positive("workers", workers)


def _positive(name: str, value: object) -> int:
    """Return the value. Raises ValueError unless it is an integer >= 1, of Python or NumPy."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name}={value!r}: want an integer >= 1")
    return int(value)


def check_rounds(rule: Rule, rounds: int | None, n_shards: int) -> int:
    """The number of rounds. Raises ValueError if the method cannot learn shards separately."""
    if n_shards > 1:
        merging.check_mergeable(rule)
    how, name = rule.method.combine.merge, rule.method.name
    is_average = how is not None and how.kind == "averaged"
    if rounds is None:
        if is_average and n_shards > 1:
            raise ValueError(
                f"learners of {name} are merged by averaging, which is not what one learner would learn: set rounds, "
                "for example rounds=1 to average once at the end"
            )
        return 1
    rounds = _positive("rounds", rounds)
    if not is_average:
        raise ValueError(f"rounds={rounds}: learners of {name} are not merged by averaging: leave rounds out")
    if rounds > 1 and not rule.method.combine.averages:
        raise ValueError(f"rounds={rounds}: {name} declares no average between rounds, only a merge: set rounds=1")
    return rounds
