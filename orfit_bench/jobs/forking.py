"""Calls that each run in a fresh process: a server that never runs a call itself is forked for each of them.

What the server has imported costs a call nothing, and nothing that a call changes reaches the next one. Needs Linux.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, BinaryIO, NamedTuple, Self

from orfit_bench.jobs.processes import START_SECONDS, Call, DiedError, describe_death, uninterrupted

CAN_FORK = sys.platform == "linux"
POLL_SECONDS = 0.02
"""How soon the death of a process is noticed."""
OUTPUT_BYTES = 2000
"""So much of the end of what a call printed is kept."""
LENGTH = 8


class Answer(NamedTuple):
    """What a call returned, and the end of what it printed."""

    value: Any
    """The result, or the TimeoutError or DiedError that ended the call."""
    output: str = ""


class ForkServer:
    """A server for calls in fresh processes.

    Parameters
    ----------
    prepare : callable
        Module-level function that the server calls first, to import what calls need. Its result is `prepared`.
    arguments : tuple
        Its arguments.
    """

    def __init__(self, prepare: Callable[..., Any], arguments: tuple[Any, ...] = ()) -> None:
        self._prepare = prepare, arguments

    def __enter__(self) -> Self:
        context = get_context("spawn")
        self._connection, other = context.Pipe()
        with uninterrupted():
            self._process = context.Process(target=_serve, args=(other, *self._prepare), daemon=True)
            self._process.start()
        other.close()
        try:
            if not self._connection.poll(START_SECONDS):
                raise TimeoutError(f"the server of the cells did not start in {START_SECONDS:g} s")
            self.prepared = self._connection.recv()
        except EOFError:
            self._process.join()
            raise DiedError(describe_death(self._process.exitcode)) from None
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError), socket.socket(fileno=os.dup(self._connection.fileno())) as end:
            end.shutdown(socket.SHUT_RDWR)  # also wakes a thread that waits for an answer
        self._connection.close()  # the server ends, and ends a running call
        self._process.join(1.0)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    @property
    def alive(self) -> bool:
        """Whether the server can run calls."""
        return self._process.is_alive()

    def call(self, call: Call, memory: int | None = None) -> Answer:
        """Run a call in a fresh process, which may allocate `memory` bytes more than the server has.

        All processes that it started are ended with it.
        """
        try:
            self._connection.send((call, memory))
            answer: Answer = self._connection.recv()
        except (EOFError, OSError) as error:
            raise DiedError("the server of the cells died") from error
        return answer


def _serve(connection: Connection, prepare: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    connection.send(prepare(*arguments))
    with suppress(EOFError, OSError):  # the client closed the connection, or died
        while True:
            call, memory = connection.recv()
            connection.send(_run(call, memory, connection))
    os._exit(0)  # the end of the interpreter would take as long as several cells


def _run(call: Call, memory: int | None, connection: Connection) -> Answer:
    """Fork, wait for the result, and kill the whole process group."""
    reader, writer = os.pipe()
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if not child:
            _work(call, memory, writer, output)
        os.close(writer)
        with suppress(OSError):
            os.setpgid(child, child)  # the child does the same; whoever comes first
        try:
            value = _wait(child, reader, call.timeout, connection)
        finally:
            os.close(reader)
            with suppress(OSError):
                os.killpg(child, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(child, 0)
        size = output.seek(0, os.SEEK_END)
        output.seek(max(0, size - OUTPUT_BYTES))
        return Answer(value, output.read().decode(errors="replace"))


def _wait(child: int, reader: int, timeout: float, connection: Connection) -> Any:
    """The result of the child, or the error that describes its end."""
    deadline, data = time.monotonic() + timeout, b""
    ended: int | None = None
    while True:
        ready, _, _ = select.select([reader, connection.fileno()], [], [], POLL_SECONDS)
        if reader in ready and (part := os.read(reader, 1 << 16)):
            data += part
            if len(data) >= LENGTH and len(data) == LENGTH + int.from_bytes(data[:LENGTH], "little"):
                return pickle.loads(data[LENGTH:])
            continue
        if connection.fileno() in ready:  # nothing is sent while a call runs: the client is gone
            raise EOFError
        if ended is not None:
            return DiedError(describe_death(ended))
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            ended = os.waitstatus_to_exitcode(status)  # what it has sent is read once more
        elif time.monotonic() > deadline:
            return TimeoutError(f"stopped after {timeout:g} s")


def _work(call: Call, memory: int | None, writer: int, output: BinaryIO) -> None:
    """Run the call in the child and end it, without any clean-up of the server's objects."""
    code = 1
    try:
        os.setpgid(0, 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for stream in (1, 2):
            os.dup2(output.fileno(), stream)
        if memory is not None:
            _limit_memory(memory)
        data = pickle.dumps(call.function(*call.arguments))
        sys.stdout.flush()
        sys.stderr.flush()
        message = len(data).to_bytes(LENGTH, "little") + data
        while message:
            message = message[os.write(writer, message) :]
        code = 0
    finally:
        os._exit(code)


def _limit_memory(memory: int) -> None:
    """Let this process allocate so many bytes more than it has."""
    import resource

    with open("/proc/self/statm") as file:
        data = int(file.read().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = data + memory if hard == resource.RLIM_INFINITY else min(data + memory, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
