"""The tasks: pure functions of states as bytes, so that the work of a lost process can be repeated bit for bit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from orfit_bench.errors import warn
from orfit_bench.learners.averaging import average
from orfit_bench.learners.factory import AnyLearner, create
from orfit_bench.learners.restoring import from_bytes
from orfit_bench.learners.sparse import check_compressed, is_sparse
from orfit_bench.sharding.shards import Columns, Rows, read_shard
from orfit_bench.sharding.warned import PROCESS, Recorder, Warned, recorded
from orfit_bench.spec.data import without_slices
from orfit_bench.tables.columns import has_columns, read_columns
from orfit_bench.tables.row_labels import check_rows_agree
from orfit_bench.tables.row_selection import take_rows

FAN_IN = 8
"""Number of neighbouring states that are merged at once."""


class Plan(NamedTuple):
    """The common inputs of all tasks: the arguments of `create`, the columns of tables, and the number of rounds."""

    arguments: dict[str, Any]
    functions: dict[str, Any]
    """The arguments that are functions, which a state does not contain."""
    columns: Columns
    rounds: int
    order: tuple[str, ...] = ()
    """The learned columns of the first shard, which set the order for all shards; empty if they have no names."""
    target_order: tuple[str, ...] = ()
    """The columns of numeric targets y, if the first shard is a pair (X, y), likewise."""
    process: str = PROCESS
    """The process that called `learn`."""


class Learned(NamedTuple):
    """The state for the rows of shards `first` to `last`."""

    first: int
    last: int
    state: bytes

    def __str__(self) -> str:
        return f"shard {self.first}" if self.first == self.last else f"shards {self.first} to {self.last}"


class Done(NamedTuple):
    """The return value of a task: the state after its shard, and the warnings."""

    state: bytes
    warned: tuple[Warned, ...]


def learn_shard(plan: Plan, number: int, state: bytes | None, done: int, shard: Any) -> Done:
    """Learn a shard; with rounds, its part for one round, starting from the state after the previous round."""
    with recorded(plan.process) as warned:
        try:
            return Done(_learn(plan, state, done, shard, warned), warned.values())
        except SystemExit as error:
            raise RuntimeError(f"shard {number} called sys.exit({error.code!r})") from error
        except Exception as error:
            error.add_note(f"in shard {number}")
            for warning in warned.values():
                error.add_note(f"after the warning: {warning.text}")
            raise


def _learn(plan: Plan, state: bytes | None, done: int, shard: Any, warned: Recorder) -> bytes:
    learner: Any = restored(plan, state) if state else create(**plan.arguments)
    seen, supervised = learner.n_samples_seen_, learner.method.traits.supervised
    gaps, dtype = learner.rule.allows_gaps, learner.rule.dtype
    chunks = read_shard(shard, plan.columns, supervised, gaps)
    for X, y in _part(_agreeing(chunks) if supervised else chunks, done, plan.rounds, seen):
        rows, targets, now = X, y, learner.live_state
        if has_columns(X):
            known = plan.order or (now.feature_names if now else ())
            rows = read_columns(X, "X", known, width=_width(X), dtype=dtype)
        if has_columns(y) and not learner.method.traits.labels:
            known = plan.target_order or (now.target_names if now else ())
            targets = read_columns(y, "y", known, gaps, _width(y), dtype)
        if y is None and supervised:
            raise TypeError(
                f"{learner.method.name} learns targets, but these rows have none: pass target=, "
                f"the name of their column, or pairs (X, y)"
            )
        with warned.of_package():  # not while functions of the user read the shard
            learner.partial_fit(rows) if y is None else learner.partial_fit(rows, targets)
    with warned.of_package():
        learned: bytes = learner.flush().to_bytes()
    return learned


def _width(rows: Any) -> int | None:
    """The number of columns of a table or array; None for a single column, whose type may have no shape."""
    shape: tuple[int, ...] = getattr(rows, "shape", ())
    return shape[1] if len(shape) == 2 else None


def merge_states(plan: Plan, *parts: Learned) -> Learned:
    """Merge the states of consecutive shards."""
    learners: list[Any] = [restored(plan, part.state) for part in parts]
    states = [state for learner in learners if (state := learner.live_state) and state.n_samples]
    for names in [state.feature_names for state in states], [state.target_names for state in states]:
        if any(names) and not all(names) and len(max(names, key=len)) > 1:
            warn("shards: some have names of columns and others none: columns are matched by their order", UserWarning)
    first, *others = learners
    for other, part in zip(others, parts[1:], strict=True):
        try:
            first.merge(other)
        except Exception as error:
            before = Learned(parts[0].first, part.first - 1, b"")
            error.add_note(f"when {part} was merged with {before}")
            raise
    return Learned(parts[0].first, parts[-1].last, first.to_bytes())


def average_states(plan: Plan, before: Sequence[int], *states: bytes) -> tuple[list[bytes], list[int]]:
    """Give all states the mean of their weights; return them with the number of rows that each has learned.

    A shard is weighted by the rows learned since the last average, at which it had learned `before` rows.
    """
    learners: list[Any] = [restored(plan, state) for state in states]
    rows = [learner.n_samples_seen_ for learner in learners]
    new = [now - then for now, then in zip(rows, before, strict=True)]
    average(learners, new if any(new) else None)
    return [learner.to_bytes() for learner in learners], rows


def restored(plan: Plan, state: bytes) -> AnyLearner:
    """The learner with this state and the functions of the user."""
    return from_bytes(state, backend=plan.arguments["backend"], **plan.functions)


def _agreeing(chunks: Iterator[Rows]) -> Iterator[Rows]:
    """The chunks; raises ValueError for one whose targets have the row labels of X in another order."""
    for X, y in chunks:
        check_rows_agree(X, y, "y")  # here, since columns that are read from X have no labels
        yield X, y


def _part(chunks: Iterator[Rows], done: int, rounds: int, seen: int) -> Iterator[Rows]:
    """The part of the rows that is learned in round `done`, counted from 0; parts have equal lengths.

    Raises ValueError unless exactly `seen` rows precede the part, or if the numbers of rows and targets differ.
    """
    if rounds == 1:
        yield from chunks
        return
    kept = [(X, y, _count(X, "X")) for X, y in chunks]
    for _, y, count in kept:
        if y is not None and _count(y, "y") != count:
            raise ValueError(f"y: got {_count(y, 'y')} rows, want {count}, one for each row of X")
    n, first = sum(count for *_, count in kept), 0
    start, stop = n * done // rounds, n * (done + 1) // rounds
    if start != seen:
        raise ValueError(
            f"the shard has {n} rows in round {done + 1}, but had another number before ({seen} were learned, not "
            f"{start}): it must have the same rows whenever it is read; a callable must return a new iterator"
        )
    for X, y, count in kept:
        rows = slice(max(0, start - first), max(0, stop - first))
        yield take_rows(X, rows), None if y is None else take_rows(y, rows)
        first += count


def _count(rows: Any, name: str) -> int:
    """The number of rows of X or y; TypeError if rows cannot be taken from them."""
    if is_sparse(rows):
        if name == "y":
            raise TypeError("y: got a sparse array: pass y.toarray()")
        check_compressed(rows, name)
        return int(rows.shape[0])
    if wrong := without_slices(name, rows):
        raise TypeError(wrong)
    return len(rows)
