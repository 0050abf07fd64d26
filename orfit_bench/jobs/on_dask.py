"""Tasks on a Dask cluster: their results as they finish, and calls in fresh processes of the workers.

The task `run_order` passes on bytes without reading them, and this module imports little, so that a new worker can be
used immediately.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from typing import Any, NamedTuple

from orfit_bench.errors import warn
from orfit_bench.jobs.forking import CAN_FORK, Order, Reply
from orfit_bench.jobs.processes import MAX_DEATHS, DiedError, default_memory_limit
from orfit_bench.jobs.sessions import Session, open_shared

NO_WORKERS_SECONDS = 300.0
"""Number of seconds that a cluster may be without workers after it had some."""
CHECK_SECONDS = 5.0
"""Number of seconds between two checks for workers."""


class ClusterLostError(ConnectionError):
    """The scheduler was lost, or all workers."""


def check_client(client: Any) -> None:
    """Raise TypeError unless this is a client of Dask whose calls wait for their results."""
    if not hasattr(client, "submit"):
        raise TypeError(f"client: got {type(client).__name__}, want a distributed.Client")
    if getattr(client, "asynchronous", False):
        raise TypeError(
            "client: got an asynchronous client, want one whose calls wait for their results: create it without "
            "asynchronous=True"
        )


class AsFinished:
    """Futures with their values, in the order in which they finish.

    Values are fetched immediately, so that they are not lost if a worker dies later. A task that Dask gives up, because
    several workers died while running it, is started again.

    Parameters
    ----------
    client : distributed.Client
        The connection to the cluster.
    futures : iterable of distributed.Future
        The futures to wait for; more can be added during the iteration.
    retries : int
        How often a task that Dask gave up is started again. After that, its value is a KilledWorker.
    resource : str, optional
        The resource that workers must have; others do not count. If only others exist, a warning explains how to start
        a worker with the resource.
    """

    def __init__(
        self, client: Any, futures: Iterable[Any], retries: int = MAX_DEATHS, resource: str | None = None
    ) -> None:
        import distributed

        start: Any = distributed.as_completed  # has no types
        self._waiting = start(list(futures), client.loop, with_results=True, raise_errors=False)
        self._workers, self._retries = _Workers(client, resource), retries

    def add(self, future: Any) -> None:
        """Wait for another future."""
        self._waiting.add(future)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        """Yield each future with its value; the value of a task that failed is its exception.

        Raises ClusterLostError if the scheduler was lost, or if all workers were lost for a long time.
        """
        from distributed import KilledWorker

        deaths: Counter[str] = Counter()
        while not self._waiting.is_empty():
            if not self._waiting.has_ready():
                self._wait()
                continue
            future, found = next(self._waiting)
            if isinstance(found, CancelledError):
                raise ClusterLostError("the connection to the cluster was lost") from found
            value = found[1] if future.status == "error" else found  # type, exception and traceback
            if isinstance(value, KilledWorker) and deaths[future.key] < self._retries:
                deaths[future.key] += 1
                future.retry()
                self._waiting.add(future)
                continue
            yield future, value

    def _wait(self) -> None:
        """Wait for the next future, at most a tenth of a second."""
        self._workers.check()
        with self._waiting.thread_condition:
            self._waiting.thread_condition.wait(0.1)


class _Workers:
    """Checks whether a cluster has workers with a resource. Clusters of a batch system can start without workers."""

    def __init__(self, client: Any, resource: str | None) -> None:
        self._client, self._resource = client, resource
        self._due = 0.0
        self._seen: float | None = None
        """The last time at which there were workers."""
        self._warned = False

    def check(self) -> None:
        """Raise ClusterLostError if all workers are lost for a long time. Warn once of workers without the resource."""
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + CHECK_SECONDS
        workers = self._client.scheduler_info(n_workers=1 if self._resource is None else -1)["workers"]
        if workers and (self._resource is None or any(map(self._offers, workers.values()))):
            self._seen = now
        elif self._seen is not None and now - self._seen > NO_WORKERS_SECONDS:
            what = "" if self._resource is None else f" with the resource {self._resource}"
            raise ClusterLostError(
                f"the cluster lost all its workers{what}, and none has come for {NO_WORKERS_SECONDS:g} s"
            )
        elif workers and not self._warned:
            self._warned = True
            warn(
                f"no worker of the cluster has the resource {self._resource}: tasks that need it are waiting; "
                f"start one by: dask worker {self._client.scheduler.address} --nthreads 1 "
                f"--resources {self._resource}=1",
                UserWarning,
            )

    def _offers(self, worker: Mapping[str, Any]) -> bool:
        return bool(worker["resources"].get(self._resource, 0) >= 1)


class Server(NamedTuple):
    """A shared server of a machine; see `open_shared`."""

    name: str
    prepare: bytes


class Finished(NamedTuple):
    """The result of a worker."""

    prepared: Any
    """The result of preparing the server, or the DiedError or TimeoutError that ended it."""
    reply: Reply | None
    """The outcome of the call; None if it was not started."""


_free: dict[Server, list[Session]] = {}
"""Sessions of this worker that run no call, by server."""


def run_order(server: Server, order: Order) -> Finished:
    """Run a call in a fresh process on this machine, unless the first item of `prepared` is a reason not to.

    Parameters
    ----------
    server : Server
        Sessions with this server are kept open for the next call; those with others are closed.
    order : Order
        Without a memory limit, the limit is a share of the worker's memory limit.
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
    """A free session, or a new one; several threads can call this at the same time."""
    for other in [known for known in list(_free) if known != server]:
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
