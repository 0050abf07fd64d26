"""Dask clusters on this machine; each scheduler and worker is a separate process that can be killed."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from helpers.commands import wait_for, words


class Cluster:
    """A scheduler and workers, each in a separate process."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder, self.environment, self.processes = folder, environment, ExitStack()
        self.workers: list[subprocess.Popen[bytes]] = []
        self.file = folder / "scheduler.json"

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        """Start a process of the cluster, which ends with the test."""
        log = self.processes.enter_context((self.folder / "log").open("ab"))
        process = subprocess.Popen(
            [sys.executable, "-m", *command], env=self.environment, stdout=log, stderr=log, cwd=self.folder
        )
        self.processes.callback(process.wait)
        self.processes.callback(process.kill)
        return process

    def start_scheduler(self) -> None:
        """Start the scheduler, at a new address."""
        self.file.unlink(missing_ok=True)
        options = words("distributed.cli.dask_scheduler --host 127.0.0.1 --port 0 --no-dashboard --scheduler-file")
        self.scheduler = self.start(*options, str(self.file))
        wait_for(self.file.exists)

    def start_worker(self, *options: str) -> None:
        """Start a worker with one thread."""
        worker = words("distributed.cli.dask_worker --nthreads 1 --no-dashboard --no-nanny --scheduler-file")
        self.workers.append(self.start(*worker, str(self.file), *options))

    @property
    def address(self) -> str:
        """The URL of the scheduler."""
        return str(json.loads(self.file.read_text())["address"])

    @contextmanager
    def worker_killed_every_second(self, most: int | None = None) -> Iterator[list[int]]:
        """Kill a worker once a second and start another one in its place; yields the list of those killed.

        At most this number are killed: a shuffle restarts after each, and takes longer than a second on a busy machine.

        Workers are killed only while two are connected: on a busy machine, starting one takes longer than two kills.
        """
        ended, choose = threading.Event(), random.Random(0).choice
        killed: list[int] = []

        def kill() -> None:
            while not ended.wait(1.0) and len(killed) != most:
                if len(client.scheduler_info(n_workers=-1)["workers"]) < 2:
                    continue
                worker = choose(self.workers)
                self.workers.remove(worker)
                worker.kill()
                killed.append(worker.pid)
                self.start_worker()

        with self.client() as client:
            killer = threading.Thread(target=kill)
            killer.start()
            try:
                yield killed
            finally:
                ended.set()
                killer.join()

    def client(self) -> Any:
        """A connection to the scheduler."""
        from distributed import Client

        return Client(self.address, set_as_default=False)


@contextmanager
def open_cluster(folder: Path, environment: Mapping[str, str], *options: str) -> Iterator[Cluster]:
    """A scheduler and two workers, which end with the context."""
    opened = Cluster(folder, environment)
    with opened.processes:
        opened.start_scheduler()
        for _ in range(2):
            opened.start_worker(*options)
        yield opened
