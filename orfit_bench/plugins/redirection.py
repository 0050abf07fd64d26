"""Output of plugins during loading: it goes to stderr, since stdout is for the results of commands."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Any


class _Bytes(io.BufferedIOBase):
    """Writes bytes to stderr."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        _OnStderr().write(bytes(data).decode(errors="replace"))
        return len(data)

    def flush(self) -> None:
        _OnStderr().flush()

    def close(self) -> None:
        """Close nothing: it is only lent to plugins."""


class _OnStderr(io.TextIOBase):
    """Writes text to the current stderr, even after the plugin was loaded."""

    encoding, errors = "utf-8", "replace"

    @property
    def buffer(self) -> _Bytes:
        return _Bytes()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if sys.stderr is not None:
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        if sys.stderr is not None:
            sys.stderr.flush()

    def fileno(self) -> int:
        return sys.stderr.fileno()

    def reconfigure(self, **_: Any) -> None:
        """Change nothing."""

    def close(self) -> None:
        """Close nothing: it is only lent to plugins."""


@contextmanager
def printed_on_stderr() -> Iterator[None]:
    """Redirect output of Python code to stderr."""
    with redirect_stdout(_OnStderr()):
        yield


@contextmanager
def written_on_stderr() -> Iterator[None]:
    """Redirect output of C code and other processes to stderr."""
    try:
        saved = os.dup(1)
    except OSError:  # the stream does not exist
        yield
        return
    try:
        with suppress(AttributeError, ValueError, OSError):  # it is None, closed, or a pipe without a reader
            sys.stdout.flush()
        with suppress(OSError):
            os.dup2(2, 1)
        yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)
