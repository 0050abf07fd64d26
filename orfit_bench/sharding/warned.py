"""Warnings of tasks: recorded where a shard is learned, and issued where `learn` was called."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from threading import Lock
from typing import Any, NamedTuple, TextIO
from uuid import uuid4

from orfit_bench.errors import recorded_warnings, warn

PROCESS = uuid4().hex
"""Identifies this process among all others."""


class Warned(NamedTuple):
    """A warning as plain values, which any process can read."""

    text: str
    category: tuple[str, str]
    """Module and name of the class of the warning."""
    place: tuple[str, int, str] | None = None
    """File, line and module; None for warnings of the package, which are issued at the line that called it."""


class Recorder:
    """The warnings of one task, each once."""

    def __init__(self) -> None:
        self._found: dict[Warned, None] = {}

    def values(self) -> tuple[Warned, ...]:
        """The warnings recorded so far."""
        return tuple(self._found)

    @contextmanager
    def of_package(self) -> Iterator[None]:
        """Record warnings of the package."""
        found: list[tuple[str, type[Warning]]] = []
        try:
            with recorded_warnings(found):
                yield
        finally:
            for text, category in found:
                self._found[Warned(text, _name(category))] = None

    def show(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        """Record a warning of other modules."""
        place = filename, lineno, _module_of(filename)
        self._found[Warned(str(message), _name(category), place)] = None


class _Hook:
    """Replaces `warnings.showwarning` in a process so that each recording thread gets its own warnings."""

    def __init__(self) -> None:
        self._lock, self._count = Lock(), 0

    def begin(self) -> None:
        """Start recording for a thread, regardless of the filters of this process."""
        with self._lock:
            if not self._count:
                self._before = warnings.catch_warnings()
                self._before.__enter__()
                self._show_others = warnings.showwarning
                warnings.simplefilter("always")
                warnings.showwarning = self._show
            self._count += 1

    def end(self) -> None:
        """Stop recording for a thread; the last thread restores `warnings`."""
        with self._lock:
            self._count -= 1
            if not self._count:
                self._before.__exit__(None, None, None)

    def _show(self, *arguments: Any, **more: Any) -> None:
        recorder = _recorder.get()
        show = self._show_others if recorder is None else recorder.show
        show(*arguments, **more)


_hook = _Hook()
_recorder: ContextVar[Recorder | None] = ContextVar("_recorder", default=None)
"""The recorder of the current thread."""
_given: dict[Any, Any] = {}
"""The registry in which Python marks warnings that are shown only once."""


def _name(category: type[Warning]) -> tuple[str, str]:
    return category.__module__, category.__qualname__


def _module_of(file: str) -> str:
    """The name of the running module with this file."""
    frame = inspect.currentframe()
    while frame and frame.f_code.co_filename != file:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", "")) if frame else ""


@contextmanager
def recorded(process: str) -> Iterator[Recorder]:
    """Record the warnings of a task. Warnings of other modules are recorded only outside the caller's process.

    Other processes do not have the caller's filters. In the caller's process the filters apply to all threads, so other
    modules warn as usual.
    """
    recorder = Recorder()
    if process == PROCESS:
        yield recorder
        return
    token = _recorder.set(recorder)
    _hook.begin()
    try:
        yield recorder
    finally:
        _hook.end()
        _recorder.reset(token)


class Reported:
    """Issues the warnings of several shards to the caller, each message once."""

    def __init__(self) -> None:
        self._texts: set[tuple[str, tuple[str, str]]] = set()

    def give(self, number: int, warned: Iterable[Warned]) -> None:
        """Issue the warnings that shard `number` is the first to give."""
        for item in warned:
            if (item.text, item.category) in self._texts:
                continue
            self._texts.add((item.text, item.category))
            category = _category(*item.category)
            if item.place is None:
                warn(f"{item.text} (shard {number})", category)
            else:
                file, line, module = item.place
                warnings.warn_explicit(item.text, category, file, line, module or None, _given)


def _category(module: str, name: str) -> type[Warning]:
    """The class of a warning; UserWarning if only the process of the task has it."""
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError):
        return UserWarning
    return found if isinstance(found, type) and issubclass(found, Warning) else UserWarning
