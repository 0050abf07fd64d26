"""Processes that measure a commit."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from orfit_bench.errors import UnavailableError
from orfit_bench.tracking import serving
from orfit_bench.tracking.environment import Environment

if TYPE_CHECKING:
    import execnet

WORKLOADS = Path(__file__).parent / "workloads" / "__init__.py"
SECONDS = 300.0
"""Time limit of a measurement, which can include compilation."""


class MeasureError(RuntimeError):
    """The measurement failed, or the process hung or died."""


class MissingError(MeasureError):
    """The commit has no such method or backend, or the measurement does not apply."""


class CommitProcess:
    """A process that measures a commit; after a crash or hang, the next request starts a new one."""

    def __init__(self, where: Environment, variables: dict[str, str] | None = None) -> None:
        self.where, self._variables = where, {**where.variables, **(variables or {})}
        self._group: execnet.Group | None = None  # with a single process, so that it can be terminated alone
        self._asked: tuple[Any, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def ask(self, measure: str, *arguments: Any) -> Any:
        """Return a measurement. Raises MissingError or MeasureError with the reason."""
        self.begin(measure, *arguments)
        return self.finish()

    def begin(self, measure: str, *arguments: Any) -> None:
        """Request a measurement; `finish` waits for the answer, so two processes can work in parallel."""
        if self._group is None:
            self._start()
        self._asked = (measure, *arguments)
        with suppress(OSError):  # it died since its last answer; `finish` reports that
            self._channel.send(list(self._asked))

    def finish(self) -> Any:
        """Return the answer to the last request."""
        try:
            status, value = self._channel.receive(SECONDS)
        except self._channel.TimeoutError as error:
            self._end()
            raise MeasureError(f"{self._what}: no answer in {SECONDS:g} s") from error
        except (EOFError, self._channel.RemoteError) as error:
            self._end()
            reason = (str(error).strip().splitlines() or ["without a message"])[-1]
            raise MeasureError(f"{self._what}: the process died ({reason})") from error
        if status == "ok":
            return value
        raise (MissingError if status == "missing" else MeasureError)(value)

    @property
    def _what(self) -> str:
        return " ".join(map(str, self._asked[:3]))

    def _start(self) -> None:
        try:
            self._open()
        except BaseException:
            self._end()
            raise

    def _open(self) -> None:
        """Start the process, and check that it imports the distributions of the commit."""
        with _environment(self._variables):  # the option `env` of execnet is applied too late for PYTHONPATH
            self._group = _group()
            python = f"python={shlex.quote(sys.executable)}"
            gateway = self._group.makegateway(f"popen//{python}//chdir={self.where.home}")
        self._channel = gateway.remote_exec(serving)
        self._channel.send(str(WORKLOADS))
        self._asked = ("where", *self.where.distributions)
        self._channel.send(list(self._asked))
        for name, place in self.finish().items():
            if Path(place) not in self.where.path:
                raise RuntimeError(
                    f"{name} of {self.where.commit[:12]} would be imported from {place}, which is not its environment"
                )

    def _end(self) -> None:
        if self._group is not None:
            self._group.terminate(timeout=1.0)
            self._group = None


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Set environment variables of this process temporarily, for a process started meanwhile."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _group() -> Any:
    """A group of execnet. Raises UnavailableError if execnet is not installed."""
    try:
        import execnet
    except ImportError:
        raise UnavailableError("the gate requires execnet and memray: pip install 'orfit-bench[gate]'") from None
    return execnet.Group()
