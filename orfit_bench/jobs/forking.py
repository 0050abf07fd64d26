"""Servers that fork a process for each call: the code that runs in the servers and in the processes of the calls.

Calls need not import the modules that the server has imported, and changes by a call do not affect the next one.
Requires Linux.
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
"""Interval at which the death of a process is noticed, in seconds."""
OUTPUT_BYTES = 2000
"""Number of bytes kept from the end of the output of a call."""
IDLE_SECONDS = 30.0
"""Number of seconds without a session after which a shared server ends."""
LENGTH = 8
SET_CHILD_SUBREAPER = 36
"""The option of prctl with which a process adopts the children of its descendants when the descendants end."""


class Order(NamedTuple):
    """A call for a server."""

    work: bytes
    """Function and arguments, pickled; only the process of the call reads them."""
    timeout: float
    memory: float | None
    """Number of bytes that the call may allocate in addition to those of the server."""


class Reply(NamedTuple):
    """The outcome of a call."""

    value: bytes
    """The return value, pickled; only the client reads it."""
    error: TimeoutError | DiedError | None
    """The error that ended the call, if any."""
    output: str
    """The end of the printed output."""


def serve(descriptor: int) -> NoReturn:
    """Serve the client at the other end of this socket."""
    connection = Connection(descriptor)
    with suppress(EOFError, OSError):  # the client closed the connection, or died
        prepare, arguments = connection.recv()
        connection.send(prepare(*arguments))
        _obey(connection)
    os._exit(0)  # shutting down the interpreter would take as long as several cells


def serve_shared(name: str) -> None:
    """Serve all clients of this user who connect to an abstract socket, each by a forked session.

    The function and arguments that prepare the server are read from stdin. Clients can connect before it is prepared.
    Nothing is done if a server of this name exists.
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
    """Whether the process at the other end belongs to the same user: an abstract socket has no permissions."""
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
            os.setpgid(child, child)  # the child does the same; the order does not matter
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
    """Become the parent of processes whose parents have ended, even if they left their process group."""
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _children() -> set[int]:
    """The child processes of this one."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # there are none; this check is fast
        return set()
    found: set[int] = set()
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = file.read_text().rpartition(")")[2].split()[1]  # the name in parentheses can contain anything
            if int(parent) == os.getpid():
                found.add(int(file.parent.name))
    return found


def _end_orphans(own: set[int]) -> None:
    """Kill all children except `own`, and then the orphaned children of the killed ones."""
    while orphans := _children() - own:
        for pid in orphans:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        own = own | orphans  # processes of other users remain


def _wait(child: int, reader: int, timeout: float, connection: Connection) -> bytes:
    """The result of the child. Raises the error that describes its end, and EOFError if the client is gone."""
    deadline, data = time.monotonic() + timeout, bytearray()
    ended: int | None = None
    while True:
        late = time.monotonic() > deadline  # before reading: an answer may have arrived while this process was stopped
        ready, _, _ = select.select([reader, connection.fileno()], [], [], POLL_SECONDS)
        part = os.read(reader, 1 << 16) if reader in ready else b""
        data += part
        if len(data) >= LENGTH and len(data) == LENGTH + int.from_bytes(data[:LENGTH], "little"):
            return bytes(data[LENGTH:])
        if connection.fileno() in ready:  # clients send nothing during a call, so the client is gone
            raise EOFError
        if ended is not None and (late or not part):
            raise DiedError(describe_death(ended))
        if ended is None:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                ended = os.waitstatus_to_exitcode(status)
                continue  # read what it has sent
        if late:  # even if output is being written, which might never end
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
    """Let this process allocate this number of additional bytes; the system counts up to `sys.maxsize`."""
    import resource

    with open("/proc/self/statm") as file:
        data = int(file.read().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = sys.maxsize if hard == resource.RLIM_INFINITY else hard
    resource.setrlimit(resource.RLIMIT_DATA, (int(min(data + memory, most)), hard))
