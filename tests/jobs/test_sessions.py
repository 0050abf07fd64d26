"""Shared servers: one for all clients of a name, which outlives them."""

import os
import pickle
import signal
import sys
import threading
import time
from uuid import uuid4

import pytest

from orfit_bench.jobs import on_dask
from orfit_bench.jobs.processes import Call, DiedError
from orfit_bench.jobs.sessions import open_shared, order_of, read_reply

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs fork and abstract sockets")


def start_slowly():
    """The process id of the server, after a delay."""
    time.sleep(0.3)
    return os.getpid()


def no_objection():
    """No reason to refuse this server, and its process id."""
    return None, os.getpid()


def end_the_session():
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(10)


def name():
    return f"orfit-bench-test-{uuid4().hex}"


def end(server):
    os.kill(server, signal.SIGKILL)


def test_clients_of_one_name_share_a_server():
    here, prepare, sessions = name(), pickle.dumps((start_slowly, ())), []
    clients = [threading.Thread(target=lambda: sessions.append(open_shared(here, prepare))) for _ in range(3)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    (server,) = {session.prepared for session in sessions}
    pids = [session.call(Call(os.getpid, (), 10)).value for session in sessions]
    assert len({*pids, server}) == 4, "each call has a process of its own"
    for session in sessions:
        session.close()
        assert not session.alive
    again = open_shared(here, prepare)
    assert again.prepared == server, "it outlives its sessions"
    again.close()
    end(server)


def test_a_server_that_died_is_started_again():
    here, prepare = name(), pickle.dumps((os.getpid, ()))
    first = open_shared(here, prepare)
    end(first.prepared)
    session = first.call(Call(os.getppid, (), 10)).value  # a session continues without the server
    os.kill(session, signal.SIGKILL)
    with pytest.raises(DiedError, match="the server of the cells died"):
        first.call(Call(os.getpid, (), 10))
    assert not first.alive
    second = open_shared(here, prepare)
    assert second.prepared != first.prepared
    second.close()
    end(second.prepared)


def test_a_server_that_dies_while_it_is_prepared_is_named():
    with pytest.raises(DiedError, match="the server of the cells died"):
        open_shared(name(), pickle.dumps((os._exit, (3,))))


def test_an_order_whose_session_dies_is_answered(monkeypatch):
    monkeypatch.setattr(on_dask, "_free", {})
    server = on_dask.Server(name(), pickle.dumps((no_objection, ())))
    found = on_dask.run_order(server, order_of(Call(end_the_session, (), 10), 10**9))
    assert str(found.reply.error) == "the server of the cells died"
    again = on_dask.run_order(server, order_of(Call(sum, ((1, 2),), 10), 10**9))
    assert read_reply(again.reply).value == 3
    for sessions in on_dask._free.values():
        for session in sessions:
            session.close()
    end(found.prepared[1])
