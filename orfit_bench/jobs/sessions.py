"""Sessions with servers that fork a process for each call: a private server, or one shared by processes."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from orfit_bench.jobs.forking import Order, Reply, is_own
from orfit_bench.jobs.processes import ONE_THREAD, START_SECONDS, Call, DiedError, describe_death, uninterrupted

Prepare = tuple[Callable[..., Any], tuple[Any, ...]]
"""The module-level function that a server calls first, to import the modules that calls need, and its arguments."""
FEW_READERS = {"ARROW_IO_THREADS": "2"}
"""Number of threads with which pyarrow reads files: if the memory limit leaves no room for their stacks, it hangs."""
PROGRAM = (
    "import sys; sys.path[:] = {path!r}; from orfit_bench.jobs.forking import {function}; {function}({argument!r})"
)
"""The program of a server, which finds modules where its client finds them."""
NOT_IN_TIME = f"the server of the cells did not start in {START_SECONDS:g} s"
MAX_STARTS = 3
"""How often to start a shared server that ends at once."""

_shared: list[subprocess.Popen[bytes]] = []
"""Shared servers that this process has started; ended servers are removed when another one is started."""


class Answer(NamedTuple):
    """The result of a call and the end of its output."""

    value: Any
    """The result, or the TimeoutError or DiedError that ended the call."""
    output: str = ""


class Session:
    """A connection to a server, which runs one call at a time.

    Parameters
    ----------
    connection : multiprocessing.connection.Connection
        The connection to the server, which sends the result of its preparation, `prepared`.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        try:
            if not connection.poll(START_SECONDS):
                raise TimeoutError(NOT_IN_TIME)
            self.prepared = connection.recv()
        except (EOFError, ConnectionError):
            raise DiedError("the server of the cells died") from None

    @property
    def alive(self) -> bool:
        """Whether the server can run calls."""
        return not self._connection.closed and not self._connection.poll()  # readable only once the server has ended

    def close(self) -> None:
        """End the session and any running call."""
        with suppress(OSError), socket.socket(fileno=os.dup(self._connection.fileno())) as end:
            end.shutdown(socket.SHUT_RDWR)  # also wakes a thread that waits for a reply
        self._connection.close()

    def send(self, order: Order) -> Reply:
        """Run a call in a fresh process. All processes that it started end with it."""
        try:
            self._connection.send(order)
            reply: Reply = self._connection.recv()
        except (EOFError, OSError) as error:
            raise DiedError("the server of the cells died") from error
        return reply

    def call(self, call: Call, memory: float | None = None) -> Answer:
        """Run a call in a fresh process, which may allocate `memory` bytes in addition to those of the server."""
        return read_reply(self.send(order_of(call, memory)))


class ForkServer:
    """A server with one session for calls in fresh processes, in which BLAS uses one thread.

    Parameters
    ----------
    prepare : callable
        See `Prepare`.
    arguments : tuple
        Its arguments.
    """

    def __init__(self, prepare: Callable[..., Any], arguments: tuple[Any, ...] = ()) -> None:
        self._prepare: Prepare = prepare, arguments

    def __enter__(self) -> Session:
        here, there = socket.socketpair()
        connection = Connection(here.detach())
        with there:
            self._process = _start("serve", there.fileno(), pass_fds=[there.fileno()], stdin=subprocess.DEVNULL)
        try:
            with suppress(ConnectionError):
                connection.send(self._prepare)
            self._session = Session(connection)
        except DiedError:
            connection.close()
            raise DiedError(describe_death(self._process.wait())) from None
        except BaseException:
            connection.close()
            self._end()
            raise
        return self._session

    def __exit__(self, *_: object) -> None:
        self._session.close()
        self._end()

    def _end(self) -> None:
        try:
            self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def open_shared(name: str, prepare: bytes) -> Session:
    """Open a session with the server of this name, which is started if there is none.

    The server outlives its clients and ends when it is idle, so that a client that is killed and restarted finds it
    prepared.

    Parameters
    ----------
    name : str
        Name of the server; processes of this user that use the same name share it.
    prepare : bytes
        `Prepare`, pickled; this process does not read it.
    """
    deadline, starts = time.monotonic() + START_SECONDS, 0
    process: subprocess.Popen[bytes] | None = None
    while True:
        end = socket.socket(socket.AF_UNIX)
        try:
            end.connect(f"\0{name}")
            break
        except ConnectionRefusedError:
            end.close()
        if time.monotonic() > deadline:
            raise TimeoutError(NOT_IN_TIME)
        if process is None or process.poll() is not None:
            if process and starts == MAX_STARTS:
                raise DiedError(f"the server of the cells died {starts} times: {describe_death(process.poll())}")
            starts += 1
            process = _start_shared(name, prepare)
        time.sleep(0.01)
    if not is_own(end):
        end.close()
        raise PermissionError(f"another user has a server with the name {name}")
    return Session(Connection(end.detach()))


def order_of(call: Call, memory: float | None) -> Order:
    """The order for a call."""
    return Order(pickle.dumps((call.function, call.arguments)), call.timeout, memory)


def read_reply(reply: Reply) -> Answer:
    """The answer in a reply."""
    return Answer(pickle.loads(reply.value) if reply.error is None else reply.error, reply.output)


def _start_shared(name: str, prepare: bytes) -> subprocess.Popen[bytes]:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = _start("serve_shared", name, stdin=subprocess.PIPE, start_new_session=True, **quiet)
    if process.stdin:
        with suppress(BrokenPipeError), process.stdin as stdin:
            stdin.write(prepare)
    _shared[:] = [other for other in _shared if other.poll() is None] + [process]
    return process


def _start(function: str, argument: object, **options: Any) -> subprocess.Popen[bytes]:
    """Start a server, without multiprocessing, which refuses to start processes in a Dask worker."""
    program = PROGRAM.format(path=sys.path, function=function, argument=argument)
    with uninterrupted():
        return subprocess.Popen([sys.executable, "-c", program], env=FEW_READERS | os.environ | ONE_THREAD, **options)
