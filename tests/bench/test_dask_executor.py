"""How the executor handles the replies of workers, without a cluster."""

import pickle
from types import SimpleNamespace

import pytest
from helpers.suites import suite

from orfit_bench.bench import cluster
from orfit_bench.bench.cell import make_record
from orfit_bench.bench.isolation import Limits
from orfit_bench.jobs.forking import Reply
from orfit_bench.jobs.on_dask import Finished
from orfit_bench.jobs.processes import DiedError

pytest.importorskip("distributed")
CELLS = {cell.key: cell for cell, _ in suite("lms", "rls", "nlms").cells()}


class Replies(list):
    """Futures with scripted values that replace `AsFinished`; added ones come last."""

    def __init__(self, client, futures, resource):
        super().__init__(futures)

    add = list.append

    def __iter__(self):
        while self:
            future = self.pop(0)
            yield future, future.value


def run(monkeypatch, answer):
    """Run all cells; `answer(kernels, cell)` replaces a worker whose server has these kernels."""

    def submit(_, server, order, **more):
        (kernels, _), ((cell, *_),) = pickle.loads(server.prepare)[1], pickle.loads(order.work)[1:]
        return type("Future", (), {"value": answer(kernels, cell)})()

    client = SimpleNamespace(submit=submit, status="running", cancel=lambda futures: None)
    monkeypatch.setattr(cluster, "AsFinished", Replies)
    with cluster.DaskExecutor(client, timed=False) as executor:
        executor.prepare(CELLS.values())
        return dict(executor.run_all(CELLS, Limits(10.0)))


def done(cell):
    return Finished((None, {"machine": {}}), Reply(pickle.dumps(make_record(cell, "ok")), None, ""))


def test_kernels_at_whose_import_servers_die_are_left_to_their_cells(monkeypatch):
    died = Finished(DiedError("signal 11"), None)
    found = run(monkeypatch, lambda kernels, cell: died if kernels else done(cell))
    assert {key: record["status"] for key, record in found.items()} == dict.fromkeys(CELLS, "ok")


def test_a_kernel_that_replaces_functions_is_left_to_its_cell(monkeypatch):
    bad = ("numpy", "rls", "float64")
    refused = Finished((bad, {}), None)
    found = run(monkeypatch, lambda kernels, cell: refused if bad in kernels else done(cell))
    assert {key: record["status"] for key, record in found.items()} == dict.fromkeys(CELLS, "ok")


def test_servers_that_never_start_end_the_run(monkeypatch):
    with pytest.raises(RuntimeError, match="the servers of cells on the cluster do not start: signal 11"):
        run(monkeypatch, lambda kernels, cell: Finished(DiedError("signal 11"), None))


def test_a_session_that_dies_costs_its_cell(monkeypatch):
    dead = Finished((None, {}), Reply(b"", DiedError("the server of the cells died"), ""))
    found = run(monkeypatch, lambda kernels, cell: dead if cell.method == "rls" else done(cell))
    ended = {CELLS[key].method: (record["status"], record["reason"]) for key, record in found.items()}
    assert ended == {"lms": ("ok", ""), "nlms": ("ok", ""), "rls": ("crashed", "the server of the cells died")}


def test_the_loss_of_the_connection_says_how_to_go_on(monkeypatch):
    def lose(self, client, futures, resource):
        raise ConnectionError("the connection to the cluster was lost")

    monkeypatch.setattr(Replies, "__init__", lose)
    with pytest.raises(ConnectionError, match="was lost; finished cells are stored: give the same command again"):
        run(monkeypatch, lambda kernels, cell: done(cell))
