"""Tasks on a cluster of Dask: their results as they finish, and calls in fresh processes of the workers.

The task `run_order` passes on bytes that it does not read, and this module imports little: a worker that has just been
started is of use at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from typing import Any, NamedTuple

from orfit_bench.jobs.forking import CAN_FORK, Order, Reply
from orfit_bench.jobs.processes import MAX_DEATHS, DiedError, default_memory_limit
from orfit_bench.jobs.sessions import Session, open_shared


class AsFinished:
    """Futures with their values, in the order in which they finish.

    Values are fetched at once, so that a worker that dies later takes none with it. A task that Dask gives up since
    several workers in turn died while they ran it is started again.

    Parameters
    ----------
    client : distributed.Client
        The connection to the cluster.
    futures : iterable of distributed.Future
        What is waited for; more may be added while others are iterated over.
    """

    def __init__(self, client: Any, futures: Iterable[Any]) -> None:
        import distributed

        start: Any = distributed.as_completed  # has no types
        self._waiting = start(list(futures), client.loop, with_results=True, raise_errors=False)

    def add(self, future: Any) -> None:
        """Wait for this one too."""
        self._waiting.add(future)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        """Yield each future with its value; the value of a task that failed is its exception.

        Raises ConnectionError if the scheduler was lost.
        """
        from distributed import KilledWorker

        deaths: Counter[str] = Counter()
        for future, found in self._waiting:
            if isinstance(found, CancelledError):
                raise ConnectionError("the connection to the cluster was lost") from found
            value = found[1] if future.status == "error" else found  # type, exception and traceback
            if isinstance(value, KilledWorker) and deaths[future.key] < MAX_DEATHS:
                deaths[future.key] += 1
                future.retry()
                self._waiting.add(future)
                continue
            yield future, value


class Server(NamedTuple):
    """A shared server of a machine; see `open_shared`."""

    name: str
    prepare: bytes


class Finished(NamedTuple):
    """What a worker did."""

    prepared: Any
    """What the preparation of the server returned; the DiedError or TimeoutError that ended it."""
    reply: Reply | None
    """How the call ended; None if it was not begun."""


_free: dict[Server, list[Session]] = {}
"""Sessions of this worker that run no call, by server."""


def run_order(server: Server, order: Order) -> Finished:
    """Run a call in a fresh process of this machine, unless the first item of `prepared` is a reason not to.

    Parameters
    ----------
    server : Server
        Sessions with it are kept open for the next call; those with others are closed.
    order : Order
        Without a limit of memory, a share of the worker's is the limit.
    """
    from distributed import get_worker

    if not CAN_FORK:
        raise RuntimeError("workers that run cells need Linux")
    if order.memory is None:
        worker = get_worker()
        memory = default_memory_limit(worker.state.nthreads, worker.memory_manager.memory_limit)
        order = order._replace(memory=memory)
    try:
        session = _open(server)
    except (DiedError, TimeoutError) as error:
        return Finished(error, None)
    if session.prepared[0] is not None:
        session.close()
        return Finished(session.prepared, None)
    try:
        reply = session.send(order)
    except DiedError as error:
        session.close()
        return Finished(session.prepared, Reply(b"", error, ""))
    _free.setdefault(server, []).append(session)
    return Finished(session.prepared, reply)


def _open(server: Server) -> Session:
    """A free session, or a new one; threads may do this at the same time."""
    for other in [known for known in _free if known != server]:
        for session in _free.pop(other, []):
            session.close()
    free = _free.setdefault(server, [])
    while free:
        try:
            session = free.pop()
        except IndexError:
            break
        if session.alive:
            return session
        session.close()
    return open_shared(server.name, server.prepare)
