"""Servers that fork a process for each call: what runs in the servers and in the processes of the calls.

What a server has imported costs a call nothing, and nothing that a call changes reaches the next one. Needs Linux.
`orfit_bench.jobs.sessions` is the side of the client.
"""

from __future__ import annotations

import errno
import os
import pickle
import select
import signal
import socket
import struct
import sys
import tempfile
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import BinaryIO, NamedTuple, NoReturn

from orfit_bench.jobs import phases
from orfit_bench.jobs.processes import DiedError, describe_death

CAN_FORK = sys.platform == "linux"
POLL_SECONDS = 0.02
"""How soon the death of a process is noticed."""
OUTPUT_BYTES = 2000
"""So much of the end of what a call printed is kept."""
IDLE_SECONDS = 30.0
"""A shared server ends when it has had no session for so long."""
LENGTH = 8
SET_CHILD_SUBREAPER = 36
"""The option of prctl with which a process adopts the children of its descendants when these end."""


class Order(NamedTuple):
    """A call for a server."""

    work: bytes
    """Function and arguments, pickled; only the process of the call reads them."""
    timeout: float
    memory: float | None
    """The bytes that the call may allocate more than the server has."""


class Reply(NamedTuple):
    """How a call ended."""

    value: bytes
    """What it returned, pickled; only the client reads it."""
    error: TimeoutError | DiedError | None
    """What ended it instead."""
    output: str
    """The end of what it printed."""


def serve(descriptor: int) -> NoReturn:
    """Serve the client at the other end of this socket."""
    connection = Connection(descriptor)
    with suppress(EOFError, OSError):  # the client closed the connection, or died
        prepare, arguments = connection.recv()
        connection.send(prepare(*arguments))
        _obey(connection)
    os._exit(0)  # the end of the interpreter would take as long as several cells


def serve_shared(name: str) -> None:
    """Serve all clients of this user who connect to an abstract socket, each by a forked session.

    Function and arguments that prepare the server are read from stdin. Clients may connect before it is prepared. If
    there is a server of this name, nothing is done.
    """
    prepare, arguments = pickle.load(sys.stdin.buffer)
    with socket.socket(socket.AF_UNIX) as listener:
        try:
            listener.bind(f"\0{name}")
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return
            raise
        listener.listen()
        listener.settimeout(1.0)
        prepared = prepare(*arguments)
        sessions: set[int] = set()
        last = time.monotonic()
        while time.monotonic() < last + IDLE_SECONDS:
            sessions = {session for session in sessions if not os.waitpid(session, os.WNOHANG)[0]}
            if sessions:
                last = time.monotonic()
            with suppress(TimeoutError):
                end, _ = listener.accept()
                with end:
                    if is_own(end):
                        sessions.add(_fork_session(listener, end, prepared))


def is_own(end: socket.socket) -> bool:
    """Whether a process of the same user is at the other end: an abstract socket has no permissions."""
    size = struct.calcsize("3i")
    _, user, _ = struct.unpack("3i", end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return bool(user == os.geteuid())


def _fork_session(listener: socket.socket, end: socket.socket, prepared: object) -> int:
    session = os.fork()
    if session:
        return session
    listener.close()
    connection = Connection(end.detach())
    with suppress(EOFError, OSError):
        connection.send(prepared)
        _obey(connection)
    os._exit(0)


def _obey(connection: Connection) -> NoReturn:
    _adopt_orphans()
    while True:
        order: Order = connection.recv()
        connection.send(_run(order, connection))


def _run(order: Order, connection: Connection) -> Reply:
    """Fork, wait for the result, and kill all processes that the call has started."""
    own, (reader, writer) = _children(), os.pipe()
    with tempfile.TemporaryFile() as output, phases.new_memory() as shared:
        child = os.fork()
        if not child:
            phases.report_to(shared)
            _work(order, writer, output)
        os.close(writer)
        with suppress(OSError):
            os.setpgid(child, child)  # the child does the same; whoever comes first
        value, error = b"", None
        try:
            value = _wait(child, reader, order.timeout, connection)
        except (TimeoutError, DiedError) as found:
            during = phases.read(shared)
            error = type(found)(f"{found} while {during}") if during else found
        finally:
            os.close(reader)
            with suppress(OSError):
                os.killpg(child, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(child, 0)
            _end_orphans(own)
        size = output.seek(0, os.SEEK_END)
        output.seek(max(0, size - OUTPUT_BYTES))
        return Reply(value, error, output.read().decode(errors="replace"))


def _adopt_orphans() -> None:
    """Become the parent of processes whose parents have ended, also of those that left their process group."""
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _children() -> set[int]:
    """The child processes of this one."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # there are none, which is quickly known
        return set()
    found: set[int] = set()
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = file.read_text().rpartition(")")[2].split()[1]  # the name in parentheses may hold anything
            if int(parent) == os.getpid():
                found.add(int(file.parent.name))
    return found


def _end_orphans(own: set[int]) -> None:
    """Kill all children but those that were there before, and then the children that these have had."""
    while orphans := _children() - own:
        for pid in orphans:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        own = own | orphans  # one of another user stays


def _wait(child: int, reader: int, timeout: float, connection: Connection) -> bytes:
    """The result of the child. Raises the error that describes its end, and EOFError if the client is gone."""
    deadline, data = time.monotonic() + timeout, bytearray()
    ended: int | None = None
    while True:
        late = time.monotonic() > deadline  # before looking: if this process was stopped, an answer may have come
        ready, _, _ = select.select([reader, connection.fileno()], [], [], POLL_SECONDS)
        part = os.read(reader, 1 << 16) if reader in ready else b""
        data += part
        if len(data) >= LENGTH and len(data) == LENGTH + int.from_bytes(data[:LENGTH], "little"):
            return bytes(data[LENGTH:])
        if connection.fileno() in ready:  # nothing is sent while a call runs: the client is gone
            raise EOFError
        if ended is not None and (late or not part):
            raise DiedError(describe_death(ended))
        if ended is None:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                ended = os.waitstatus_to_exitcode(status)
                continue  # what it has sent is read once more
        if late:  # also while something is written, for that may never end
            raise TimeoutError(f"stopped after {timeout:g} s")


def _work(order: Order, writer: int, output: BinaryIO) -> NoReturn:
    """Run the call in the child and end it, without any clean-up of the server's objects."""
    code = 1
    try:
        os.setpgid(0, 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for stream in (1, 2):
            os.dup2(output.fileno(), stream)
        function, arguments = pickle.loads(order.work)
        if order.memory is not None:
            _limit_memory(order.memory)
        data = pickle.dumps(function(*arguments))
        sys.stdout.flush()
        sys.stderr.flush()
        message = len(data).to_bytes(LENGTH, "little") + data
        while message:
            message = message[os.write(writer, message) :]
        code = 0
    finally:
        os._exit(code)


def _limit_memory(memory: float) -> None:
    """Let this process allocate so many bytes more than it has; the system counts up to `sys.maxsize`."""
    import resource

    with open("/proc/self/statm") as file:
        data = int(file.read().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = sys.maxsize if hard == resource.RLIM_INFINITY else hard
    resource.setrlimit(resource.RLIMIT_DATA, (int(min(data + memory, most)), hard))
