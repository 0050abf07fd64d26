"""`orfit_bench.learn`: one learner from shards of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from orfit_bench.jobs.on_dask import check_client
from orfit_bench.jobs.processes import open_processes
from orfit_bench.learners.factory import AnyLearner, create
from orfit_bench.plugins.registry import registry
from orfit_bench.sharding.arguments import check_rounds, check_workers
from orfit_bench.sharding.dask_executor import OnDask
from orfit_bench.sharding.dask_parts import check_computable, planned_for
from orfit_bench.sharding.executors import Executor, InThisProcess, Processes
from orfit_bench.sharding.listing import check_sendable, list_shards
from orfit_bench.sharding.shards import Columns, column_names, target_names
from orfit_bench.sharding.tasks import FAN_IN, Learned, Plan, average_states, learn_shard, merge_states, restored
from orfit_bench.sharding.warned import Reported
from orfit_bench.state.binary import own_functions


def learn(
    method: str,
    shards: Any,
    client: Any = None,
    rounds: int | None = None,
    *,
    target: str | Sequence[str] | None = None,
    drop: Sequence[str] = (),
    workers: int | None = None,
    **settings: Any,
) -> AnyLearner:
    """Learn shards of the rows in parallel, and merge the results into one learner.

    Parameters
    ----------
    method : str
        The name of a method whose learners can be merged.
    shards : list or collection of Dask
        Parts of the rows in their order. A shard is a tuple (X, y), X alone for a subspace, a table with the columns
        `target`, the path or URL of a file (extra `files`), or a callable that returns one of these, or a new iterator
        of them. Alternatively a frame or an array of Dask, or a pair (X, y) of two frames or two arrays that are cut at
        the same rows: their partitions are the shards.
    client : distributed.Client, optional
        A cluster of Dask on which the tasks run (extra `dask`). By default they run in processes of this machine. A
        collection of Dask is computed where the tasks run; one that a cluster holds needs the client of this cluster.
    rounds : int, optional
        Only for methods whose merge is an average: the number of averages; only 1 for those that declare no average
        between rounds. In each round every learner starts from the last average and learns the next part of its shard;
        the average weights each learner by the rows that it has learned in the round. The last average is the result.
        Shards are read again in each round.
    target : str or list of str, optional
        The columns of tables and files that are predicted. A column of pandas whose label is no string is named by the
        Python form of its label, such as "2".
    drop : sequence of str
        Further columns of tables and files that are not learned, such as identifiers and dates.
    workers : int, optional
        Number of processes. With 1, shards are learned in the calling process; with more, always in separate processes.
        Ignored with a client. Default: the number of cores that this process may use.
    **settings
        Settings of the method, and `backend`, `dtype`, `random_state`, `initial_weights` and `model` of `create`.

    Returns
    -------
    Regressor, Classifier, Filter or Subspace
        A learner that has seen all rows. For methods with an exact merge it equals, to rounding, one that learned the
        shards in their order.

    Raises
    ------
    ValueError
        If there are several shards and the method has no merge, or its merge is an average and `rounds` is not given;
        if `rounds` is given for another method, or is above 1 for one without averages between rounds; if there are no
        shards; if a cluster of Dask holds them and no client is given; or if the method, backend or kernel was
        registered in this process and other processes would learn.
    TypeError
        If `shards` is neither a list nor a Dask collection, or if shards have no targets.
    UnavailableError
        As in `create`.
    DiedError
        If the processes or workers that learn a shard die repeatedly; the message names the shard.
    ConnectionError
        If the connection to the cluster is lost, or if all workers are lost and no new one starts within five minutes.

    Notes
    -----
    A task is a pure function of its shard and of a state. The task of a process that died is replayed, so the result
    has the same bits regardless of the number of processes and of deaths. States are returned as bytes as soon as their
    shards are learned, and the calling process merges eight neighbours at a time. The data transferred are the
    shards that are passed as arrays or tables, and one state per shard, or with `rounds` one per shard, round and
    direction. Warnings of learners are issued in the calling process in the order of the shards, each message once with
    the number of its first shard. With a setting `batch_size`, the last step of each shard may have fewer rows.

    In a script, call it below ``if __name__ == "__main__":``, since new processes import the script. Callables must be
    functions of a module, unless a client is given.

    Examples
    --------
    >>> import numpy as np
    >>> import orfit_bench as ob
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> shards = [(X[:3], X[:3] @ [1, 2]), (X[3:], X[3:] @ [1, 2])]
    >>> learner = ob.learn("rls", shards, workers=1, backend="numpy", ridge=1e-6)
    >>> learner.n_samples_seen_
    6
    >>> learner.predict([[1.0, 1.0]]).round(3)
    array([3.])
    """
    blank, workers = create(method, **settings), check_workers(workers)
    if client is not None or workers > 1:
        pair = blank.backend.name, blank.method.name
        used = (("methods", pair[1]), ("backends", pair[0]), ("kernels", pair))
        registry().require_installed(used, "pass workers=1 and no client")
    columns = Columns.of(target, drop)
    with planned_for(client):
        parts = list_shards(shards)
    if not parts:
        raise ValueError("shards: got no shards, want one or more")
    times = check_rounds(blank.rule, rounds, len(parts))
    learns_numbers = blank.method.traits.supervised and not blank.method.traits.labels
    try:
        order = column_names(parts[0], columns)
        target_order = target_names(parts[0]) if learns_numbers else ()
    except Exception as error:
        error.add_note("in shard 0")
        raise
    arguments, functions = {"method": method, **settings, "backend": blank.backend.name}, own_functions(blank.rule)
    plan = Plan(arguments, functions, columns, times, order, target_order)
    rows, reported = [0] * len(parts), Reported()
    with _open_executor(client, workers, parts, functions) as executor:
        states = _learn_round(executor, plan, parts, [None] * len(parts), 0, reported)
        for done in range(1, times):
            averaged, rows = average_states(plan, rows, *states)
            states = _learn_round(executor, plan, parts, averaged, done, reported)
        if times > 1:  # the merge counts all rows and leaves equal weights unchanged
            states = iter(average_states(plan, rows, *states)[0])
        learned = (Learned(number, number, state) for number, state in enumerate(states))
        merged: Learned = merge_neighbours(learned, lambda some: merge_states(plan, *some))
    return restored(plan, merged.state)


def _learn_round(
    executor: Executor, plan: Plan, parts: list[Any], before: Sequence[bytes | None], done: int, reported: Reported
) -> Iterator[bytes]:
    """Yield the states of the shards after a round, in order; the warnings of each are issued before its state."""
    calls = ((plan, i, before[i], done, part) for i, part in enumerate(parts))
    for number, (state, warned) in enumerate(executor.map(learn_shard, calls)):
        reported.give(number, warned)
        yield state


@contextmanager
def _open_executor(client: Any, workers: int, parts: list[Any], functions: Mapping[str, Any]) -> Iterator[Executor]:
    """Yield an executor, whose tasks end with the context. Processes have one BLAS thread and end with this process."""
    if client is not None:
        check_client(client)
        with OnDask(client) as executor:
            yield executor
        return
    check_computable(parts)
    if workers == 1:
        yield InThisProcess()
    else:
        called = {f"shard {number}": part for number, part in enumerate(parts) if callable(part)}
        for name, value in {**functions, **called}.items():
            check_sendable(name, value)
        with open_processes(min(workers, len(parts))) as processes:
            yield Processes(processes)


def merge_neighbours(states: Iterable[Any], merge: Callable[[list[Any]], Any]) -> Any:
    """Merge states in order by a tree, as they arrive: as soon as a level has eight consecutive states.

    The tree depends only on the number of states, and at most eight states of each level wait.
    """
    levels: list[list[Any]] = [[]]
    for state in states:
        levels[0].append(state)
        for k in range(len(levels)):
            if len(levels[k]) < FAN_IN:
                break
            if k + 1 == len(levels):
                levels.append([])
            levels[k + 1].append(merge(levels[k]))
            levels[k] = []
    last: list[Any] = []
    for waiting in levels:  # states of a higher level precede those of a lower one
        last = [*waiting, *last]
        last = [merge(last)] if len(last) > 1 else last
    return last[0]
