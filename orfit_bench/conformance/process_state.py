"""State of the process that a library must not change, and other values for it, to notice repeated changes too."""

from __future__ import annotations

import decimal
import gc
import locale
import os
import random
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import FrameType
from typing import Any
from unittest.mock import patch

import numpy as np

GENERATORS = "the random generator of NumPy", "the random generator of Python"
SIGNALS = signal.SIGINT, signal.SIGTERM
CATEGORIES = locale.LC_COLLATE, locale.LC_MONETARY, locale.LC_NUMERIC, locale.LC_TIME
"""The parts of the locale for which "C" and "C.UTF-8" mean the same."""
NOWHERE = "/no folder of orfit_bench"
MARK = "ORFIT_BENCH_ALTERED"
"""An environment variable that nothing reads."""


def read() -> dict[str, Any]:
    """The state that a library must not change."""
    algorithm, *state = np.random.get_state()  # noqa: NPY002
    return {
        GENERATORS[0]: [algorithm, *(np.asarray(part).tobytes() for part in state)],
        GENERATORS[1]: random.getstate(),
        "NumPy's handling of errors": np.geterr(),
        "NumPy's print options": {**np.get_printoptions()},
        "the warning filters": list(warnings.filters),
        "the environment": dict(os.environ),
        "the working folder": os.getcwd(),
        "the import path": list(sys.path),
        "the locale": locale.setlocale(locale.LC_ALL),
        "the decimal context": repr(decimal.getcontext()),
        "the recursion limit": sys.getrecursionlimit(),
        "garbage collection": (gc.isenabled(), gc.get_threshold()),
        "a signal handler": [signal.getsignal(number) for number in SIGNALS],
        "the number of threads": threading.active_count(),
    }


@contextmanager
def variables_set() -> Iterator[set[str]]:
    """The names of the environment variables that are set or removed in the context."""
    names: set[str] = set()
    put, unset = os.putenv, os.unsetenv

    def putenv(name: Any, value: Any) -> None:
        names.add(os.fsdecode(name))
        put(name, value)

    def unsetenv(name: Any) -> None:
        names.add(os.fsdecode(name))
        unset(name)

    with patch.object(os, "putenv", putenv), patch.object(os, "unsetenv", unsetenv):
        yield names


@contextmanager
def altered(variables: Collection[str]) -> Iterator[None]:
    """Change the state, except the number of threads, to harmless values, and restore it at the end.

    Code that always sets the same value is noticed only if there was another value before. Of the environment, only the
    given variables are altered.
    """
    with ExitStack() as stack:
        for alter in (_generators, _decimal, _numpy, _warnings, _paths, _locale, _interpreter, _signals):
            alter(stack)
        stack.enter_context(patch.dict(os.environ, {MARK: "altered"}))  # code may have emptied the environment before
        for name in variables:
            if os.environ.pop(name, None) is None:
                os.environ[name] = "altered"
        yield


@contextmanager
def altered_generators() -> Iterator[None]:
    """Put other numbers into the random generators of NumPy and Python, and restore them at the end."""
    with ExitStack() as stack:
        _generators(stack)
        yield


def _generators(stack: ExitStack) -> None:
    stack.callback(np.random.set_state, np.random.get_state())  # noqa: NPY002
    stack.callback(random.setstate, random.getstate())
    np.random.seed(int.from_bytes(os.urandom(4), "little"))  # noqa: NPY002
    random.seed(os.urandom(8))


def _decimal(stack: ExitStack) -> None:
    stack.callback(decimal.setcontext, decimal.getcontext())
    context = decimal.getcontext().copy()
    context.prec += 1
    decimal.setcontext(context)


def _numpy(stack: ExitStack) -> None:
    stack.callback(np.set_printoptions, **np.get_printoptions())
    np.set_printoptions(precision=int(np.get_printoptions()["precision"]) + 1)
    stack.callback(np.seterrcall, np.seterrcall(lambda *_: None))
    stack.callback(np.seterr, **np.seterr(all="call"))


def _warnings(stack: ExitStack) -> None:
    stack.enter_context(warnings.catch_warnings())
    warnings.filterwarnings("ignore", "no warning has this text: 8f2c")


def _paths(stack: ExitStack) -> None:
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    with suppress(OSError):  # it was deleted
        stack.callback(os.chdir, os.getcwd())
        os.chdir(folder)
    stack.callback(setattr, sys, "path", sys.path)
    sys.path = [*sys.path, NOWHERE]


def _locale(stack: ExitStack) -> None:
    for category in CATEGORIES:
        before = locale.setlocale(category)
        with suppress(locale.Error):
            locale.setlocale(category, "C.UTF-8" if before == "C" else "C")
            stack.callback(locale.setlocale, category, before)


def _interpreter(stack: ExitStack) -> None:
    stack.callback(sys.setrecursionlimit, sys.getrecursionlimit())
    sys.setrecursionlimit(sys.getrecursionlimit() + 1)
    stack.callback(gc.enable if gc.isenabled() else gc.disable)
    first, *others = gc.get_threshold()
    stack.callback(gc.set_threshold, first, *others)
    gc.set_threshold(first + 1, *others)
    (gc.disable if gc.isenabled() else gc.enable)()


def _signals(stack: ExitStack) -> None:
    for number in SIGNALS:
        before = signal.getsignal(number)
        if before is None:  # not set by Python, so it could not be restored
            continue

        def handle(number: int, _: FrameType | None, before: Any = before) -> None:
            signal.signal(number, before)
            signal.raise_signal(number)

        with suppress(ValueError):  # not the main thread
            signal.signal(number, handle)
            stack.callback(signal.signal, number, before)
