"""Cells on a Dask cluster: each is a task, which a worker runs in a fresh process with limits."""

from __future__ import annotations

import os
import pickle
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any, Self
from uuid import uuid4

from orfit_bench.bench import roofline
from orfit_bench.bench.cell import Cell, make_record
from orfit_bench.bench.executors import record_of
from orfit_bench.bench.isolation import KernelKey, Limits, call_of, kernels_of, prepare
from orfit_bench.errors import UnavailableError
from orfit_bench.jobs.notes import describe_error
from orfit_bench.jobs.on_dask import AsFinished, Finished, Server, run_order
from orfit_bench.jobs.processes import ONE_THREAD, threads
from orfit_bench.jobs.provenance import provenance, versions
from orfit_bench.jobs.sessions import order_of, read_reply

TIMING = "timing"
"""The Dask resource of workers on which cells are timed; one worker per machine should have it."""
CONNECT_SECONDS = 20.0


class DaskExecutor:
    """Runs each cell as a task of a cluster, in a fresh process of a worker.

    A cell whose worker is lost is run again, by another worker, and its record is yielded once.

    Parameters
    ----------
    client : distributed.Client
        The connection to the cluster.
    timed : bool
        Whether to measure times. Then cells run only on workers with the resource `TIMING`.
    """

    def __init__(self, client: Any, timed: bool) -> None:
        self._client, self._timed = client, timed
        self._kernels: list[KernelKey] = []
        self._futures: dict[Any, tuple[str, list[KernelKey]]] = {}
        self._name = f"orfit-bench-{uuid4().hex[:12]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._client.status == "running":
            self._client.cancel(list(self._futures))  # tasks that had not started when the run ended early

    @property
    def threads(self) -> dict[str, str]:
        """The environment variables for numbers of threads in the cells, if they are set here."""
        return threads(os.environ | ONE_THREAD)

    def prepare(self, cells: Collection[Cell]) -> dict[str, float]:
        """Store the kernels, which the servers on the workers' machines import and compile when they start."""
        self._kernels = kernels_of(cells)
        return {}

    def run_all(self, cells: Mapping[str, Cell], limits: Limits) -> Iterator[tuple[str, dict[str, Any]]]:
        """Run cells, and yield the key and the record of each as it finishes."""
        try:
            yield from self._finish(cells, limits)
        except ConnectionError as error:
            raise ConnectionError(f"{error}; finished cells are stored: give the same command again") from error

    def _finish(self, cells: Mapping[str, Cell], limits: Limits) -> Iterator[tuple[str, dict[str, Any]]]:
        from distributed import KilledWorker

        futures = [self._submit(key, cell, limits) for key, cell in cells.items()]
        waiting = AsFinished(self._client, futures, resource=TIMING if self._timed else None)
        for future, found in waiting:
            key, kernels = self._futures.pop(future)
            if isinstance(found, KilledWorker):
                yield key, make_record(cells[key], "crashed", "every worker that ran it died")
            elif isinstance(found, Exception):
                raise RuntimeError(
                    f"a worker of the cluster cannot run cells: {describe_error(found)}; install the same "
                    "distributions on all workers"
                ) from found
            elif found.reply is None:
                self._leave_out(found, kernels)
                waiting.add(self._submit(key, cells[key], limits))
            else:
                record, there = record_of(cells[key], read_reply(found.reply)), found.prepared[1]
                if record["status"] == "failed" and (other := _other_versions(there["versions"])):
                    record["reason"] += f"; its worker has other versions: {other}"
                yield key, record | {"origin": there}

    def _submit(self, key: str, cell: Cell, limits: Limits) -> Any:
        name = f"{self._name}-{len(self._kernels)}"
        server = Server(name, pickle.dumps((prepare_on_worker, (self._kernels, self._timed))))
        future = self._client.submit(
            run_order,
            server,
            order_of(call_of(cell, limits, self._timed), limits.memory),
            key=f"{name}-{key}",
            pure=False,
            **({"resources": {TIMING: 1}} if self._timed else {}),
        )
        self._futures[future] = key, self._kernels
        return future

    def _leave_out(self, found: Finished, kernels: list[KernelKey]) -> None:
        """Leave kernels whose import ends a server, or that replace functions, to their own cells.

        `kernels` are the kernels of that server; later reports of other cells about it change nothing.
        """
        if not isinstance(found.prepared, Exception):
            self._kernels = [kernel for kernel in self._kernels if kernel != found.prepared[0]]
        elif not kernels:
            raise RuntimeError(
                f"the servers of cells on the cluster do not start: {found.prepared}"
            ) from found.prepared
        elif kernels == self._kernels:
            self._kernels = []


def _other_versions(there: Mapping[str, str]) -> str:
    """The distributions of which a worker has other versions than this process; empty if there are none."""
    here = versions()
    other = [name for name in {**here, **there} if here.get(name) != there.get(name)]
    return ", ".join(f"{name} {there.get(name, 'missing')}, here {here.get(name, 'missing')}" for name in other)


def connect(address: str) -> Any:
    """A client of the scheduler at this address.

    Raises ValueError if the address is invalid, and UnavailableError or ConnectionError if there is no connection.
    """
    try:
        from distributed import Client
    except ImportError:
        raise UnavailableError(
            "a cluster requires Dask, which is not installed: pip install orfit-bench[dask]"
        ) from None
    try:
        return Client(address, timeout=CONNECT_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]
    except ValueError as error:
        raise ValueError(f"{address}: want the URL of a scheduler, such as tcp://host:8786 ({error})") from error
    except (OSError, TimeoutError) as error:
        raise ConnectionError(f"no scheduler of Dask answers at {address} within {CONNECT_SECONDS:g} s") from error


def describe_workers(client: Any) -> str:
    """The number of workers of a cluster, and of those on which cells can be timed."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    if not workers:
        return "no workers yet; cells run as soon as there are some"
    machines = {worker["host"] for worker in workers}
    timing = sum(worker["resources"].get(TIMING, 0) >= 1 for worker in workers)
    return f"workers: {len(workers)}, machines: {len(machines)}, workers with the resource {TIMING}: {timing}"


def prepare_on_worker(kernels: list[KernelKey], timed: bool) -> tuple[KernelKey | None, dict[str, Any]]:
    """Prepare a server as `prepare` does, and also return the provenance of its machine."""
    if timed:
        with suppress(Exception):  # only the share of the roofline limit would be missing
            roofline.ensure_measured()
    return prepare(kernels), provenance(threads())
