"""The tasks: pure functions of states as bytes, so that what a lost process did can be done again with equal bits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from orfit_bench.learners.averaging import average
from orfit_bench.learners.factory import AnyLearner, create
from orfit_bench.learners.restoring import from_bytes
from orfit_bench.sharding.shards import Rows, read_shard
from orfit_bench.tables.columns import read_columns
from orfit_bench.tables.row_labels import check_rows_agree

FAN_IN = 8
"""Number of neighbouring states that are merged at once."""


class Plan(NamedTuple):
    """What every task needs: the arguments of `create`, the columns of targets, and the number of rounds."""

    arguments: dict[str, Any]
    target: str | Sequence[str] | None
    rounds: int
    columns: tuple[str, ...] = ()
    """The columns of the first shard, in whose order all are learned; none if it has no names."""


def learn_shard(plan: Plan, number: int, shard: Any, state: bytes | None, done: int) -> bytes:
    """Learn a shard, or its part of one round from the state after the round before."""
    try:
        learner: Any = _restored(plan, state) if state else create(**plan.arguments)
        for X, y in _part(read_shard(shard, plan.target), done, plan.rounds):
            rows = X
            if plan.columns:
                check_rows_agree(X, y, "y")  # columns that were read have no labels
                rows = read_columns(X, "X", plan.columns)
            if y is None and learner.method.traits.supervised:
                raise TypeError(
                    f"{learner.method.name} learns targets, but these rows have none: pass target=, "
                    f"the name of their column, or pairs (X, y)"
                )
            learner.partial_fit(rows) if y is None else learner.partial_fit(rows, y)
        learned: bytes = learner.flush().to_bytes()
        return learned
    except Exception as error:
        error.add_note(f"in shard {number}")
        raise


def merge_states(plan: Plan, *states: bytes) -> bytes:
    """The state for the rows of all, which follow one another."""
    first, *others = (_restored(plan, state) for state in states)
    for other in others:
        first.merge(other)
    return first.to_bytes()


def average_states(plan: Plan, *states: bytes) -> list[bytes]:
    """The states, all with the mean of their weights."""
    learners = [_restored(plan, state) for state in states]
    average(learners)
    return [learner.to_bytes() for learner in learners]


def _restored(plan: Plan, state: bytes) -> AnyLearner:
    return from_bytes(state, backend=plan.arguments["backend"])


def _part(chunks: Iterator[Rows], done: int, rounds: int) -> Iterator[Rows]:
    """Of all rows the part that is learned in round number `done`, counted from 0; the parts have equal lengths."""
    if rounds == 1:
        yield from chunks
        return
    kept = list(chunks)
    n, first = sum(len(X) for X, _ in kept), 0
    start, stop = n * done // rounds, n * (done + 1) // rounds
    for X, y in kept:
        rows = slice(max(0, start - first), max(0, stop - first))
        yield X[rows], None if y is None else y[rows]
        first += len(X)
