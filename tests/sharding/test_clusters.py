"""Shards on a cluster whose workers die or do not start, and plans for a client that is not the default."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

import orfit_bench as ob
from orfit_bench.jobs import on_dask
from orfit_bench.jobs.on_dask import AsFinished, ClusterLostError
from orfit_bench.jobs.processes import DiedError
from orfit_bench.sharding import dask_executor
from orfit_bench.sharding.dask_executor import OnDask
from orfit_bench.sharding.dask_parts import planned_for
from orfit_bench.sharding.listing import list_shards

distributed = pytest.importorskip("distributed")
dd = pytest.importorskip("dask.dataframe")

TABLE = pd.DataFrame(np.random.default_rng(0).standard_normal((100, 3)), columns=["a", "b", "y"])
LOCAL: dict[str, Any] = {"processes": False, "dashboard_address": ":0", "silence_logs": 50, "set_as_default": False}


def assert_learned_all(learner: Any) -> None:
    want = ob.create("rls", backend="numpy").partial_fit(TABLE[["a", "b"]], TABLE["y"])
    assert learner.n_samples_seen_ == 100
    np.testing.assert_allclose(learner.array("w"), want.array("w"), rtol=1e-9)


def test_shuffles_without_a_cluster_are_computed_here() -> None:
    shuffled = dd.from_pandas(TABLE, npartitions=4).set_index("a").reset_index()
    assert_learned_all(ob.learn("rls", shuffled, target="y", workers=1, backend="numpy"))


def test_shuffles_are_planned_for_a_client_that_is_not_the_default() -> None:
    shuffled = dd.from_pandas(TABLE, npartitions=4).set_index("a").reset_index()
    with distributed.Client(n_workers=1, threads_per_worker=1, **LOCAL) as client:
        with planned_for(client):
            graph = list_shards(shuffled)[0].dask
        assert not any("partd" in str(key) for key in graph)  # by files of one machine
        assert_learned_all(ob.learn("rls", shuffled, client, target="y", backend="numpy"))


class Task:
    """A future that Dask gives up a number of times before it has a value."""

    given_up: ClassVar[list[int]] = []
    """For each number, how often its task will still be given up."""

    def __init__(self, number: int) -> None:
        self.key, self.number, self.is_released = f"key-{number}", number, False

    def release(self) -> None:
        """Release the future."""
        self.is_released = True

    def value(self) -> Any:
        """The value; while Dask gives the task up, an error."""
        if not self.given_up[self.number]:
            return self.number
        self.given_up[self.number] -= 1
        return distributed.scheduler.KilledWorker(self.key, SimpleNamespace(address="tcp://there"), 1)


class Finished(list[Task]):
    """A replacement of `AsFinished`, whose futures end one after the other."""

    def __init__(self, client: Any, futures: Iterable[Task], retries: int) -> None:
        assert retries == 0
        super().__init__(futures)

    def add(self, task: Task) -> None:
        """Add a task that is started again, which must run alone."""
        assert not self
        self.append(task)

    def __iter__(self) -> Iterator[tuple[Task, Any]]:
        """The futures with their values."""
        while self:
            task = self.pop(0)
            yield task, task.value()
            assert task.is_released


def run(monkeypatch: pytest.MonkeyPatch, *given_up: int) -> list[int]:
    """The values of tasks that are given up the given numbers of times, each time after two deaths."""
    monkeypatch.setattr(dask_executor, "AsFinished", Finished)
    monkeypatch.setattr(Task, "given_up", list(given_up))
    client = SimpleNamespace(submit=lambda task, number, pure: task(number))
    return [*OnDask(client).map(Task, [(i,) for i in range(len(given_up))])]


def test_tasks_that_were_given_up_run_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, 0, 1, 2, 0, 2) == [0, 1, 2, 3, 4]


def test_a_task_whose_workers_die_each_time_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DiedError, match=r"shard 1: the worker died 12 times while it learned this shard alone.*tcp://"):
        run(monkeypatch, 1, 99, 0)


def cluster_with(*workers: int) -> Any:
    """A client whose scheduler reports these numbers of workers in turn, and then the last one."""
    numbers = list(workers)

    def scheduler_info(n_workers: int) -> dict[str, Any]:
        return {"workers": range(numbers.pop(0) if len(numbers) > 1 else numbers[0])}

    return SimpleNamespace(scheduler_info=scheduler_info)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the time after which workers count as missing."""
    monkeypatch.setattr(on_dask, "NO_WORKERS_SECONDS", 0.5)
    monkeypatch.setattr(on_dask, "CHECK_SECONDS", 0.05)


def ones() -> Any:
    return np.ones((3, 2)), np.ones(3)


@pytest.mark.usefixtures("hurried")
def test_a_cluster_that_lost_all_workers_ends_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    with distributed.Client(n_workers=0, **LOCAL) as client:
        monkeypatch.setattr(client, "scheduler_info", cluster_with(2, 0).scheduler_info)
        with pytest.raises(
            ClusterLostError, match=r"lost all its workers.*; shards that are not learned: 0, 1, 2, 3, 4, \.\.\."
        ):
            ob.learn("rls", [ones] * 7, client, backend="numpy")


def test_shards_whose_workers_died_are_named_when_the_cluster_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lost(Finished):
        """Tasks as they finish; the first task that runs alone ends its worker."""

        def add(self, task: Task) -> None:
            """Add a task that ends its worker, which is the last one."""

        def __iter__(self) -> Iterator[tuple[Task, Any]]:
            yield from super().__iter__()
            raise ClusterLostError("the cluster lost all its workers")

    monkeypatch.setattr(dask_executor, "AsFinished", Lost)
    monkeypatch.setattr(Task, "given_up", [0, 2, 0, 1])
    client = SimpleNamespace(submit=lambda task, number, pure: task(number))
    with pytest.raises(ClusterLostError, match=r"not learned: 1, 3; several workers died .* shard 1, 3$"):
        [*OnDask(client).map(Task, [(i,) for i in range(4)])]


@pytest.mark.usefixtures("hurried")
def test_workers_that_come_late_or_again_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with distributed.Client(n_workers=0, **LOCAL) as client:
        monkeypatch.setattr(client, "scheduler_info", cluster_with(*[0] * 12, 1, 0, 0, 1, 0, 0, 1).scheduler_info)
        waiting = iter(AsFinished(client, [client.submit(len, "four")]))
        client.loop.call_later(3.0, client.cluster.scale, 1)
        assert next(waiting)[1] == 4


def plain_and(*numbers: int) -> Any:
    """Replies of a scheduler with one plain worker, and these numbers of workers for timing, then the last one."""
    left, plain = list(numbers), {"resources": {}}

    def scheduler_info(n_workers: int) -> dict[str, Any]:
        count = left.pop(0) if len(left) > 1 else left[0]
        return {"workers": {-1: plain, **{i: {"resources": {"timing": 1.0}} for i in range(count)}}}

    return scheduler_info


@pytest.mark.usefixtures("hurried")
def test_workers_without_the_resource_are_warned_of_and_others_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with distributed.Client(n_workers=1, threads_per_worker=1, **LOCAL) as client:
        monkeypatch.setattr(client, "scheduler_info", plain_and(0))
        future = client.submit(len, "four", resources={"timing": 1})
        client.loop.call_later(1.0, future.cancel)
        waiting = iter(AsFinished(client, [future], resource="timing"))
        start = r"start one by: dask worker \S+ --nthreads 1 --resources timing=1"
        with (
            pytest.warns(UserWarning, match=f"no worker of the cluster has the resource timing: .*{start}") as caught,
            pytest.raises(ClusterLostError, match="the connection to the cluster was lost"),
        ):
            next(waiting)
        assert len(caught) == 1


@pytest.mark.usefixtures("hurried")
@pytest.mark.filterwarnings("ignore:no worker of the cluster has the resource")
def test_a_cluster_that_lost_the_workers_with_the_resource_ends_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    with distributed.Client(n_workers=1, threads_per_worker=1, **LOCAL) as client:
        monkeypatch.setattr(client, "scheduler_info", plain_and(1, 0))
        waiting = iter(AsFinished(client, [client.submit(len, "four", resources={"timing": 1})], resource="timing"))
        with pytest.raises(ClusterLostError, match="lost all its workers with the resource timing, and none has come"):
            next(waiting)
