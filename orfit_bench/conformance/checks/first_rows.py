"""The first rows: whether a kernel learns at all."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from orfit_bench.conformance.check import Violation, check
from orfit_bench.conformance.context import CheckContext
from orfit_bench.errors import DivergedError
from orfit_bench.plugins.registry import registry

WANTED = {
    "learn": "the number of rows learned",
    "update": "True (applied) or False (not finite, state untouched)",
    "step": "True (applied) or False (not finite, state untouched)",
}
"""The return values of the functions of a kernel."""


@check(all_variants=False)
def learns_first_rows(context: CheckContext) -> None:
    """A learner with default settings can be created, learns one row, and then a chunk of rows."""
    try:
        _learn_first_rows(context)
    except DivergedError as error:
        kernel = registry().kernel(context.backend.name, context.method.name)
        with _missing_results(kernel) as missing, suppress(DivergedError):
            _learn_first_rows(context)
        if missing:
            raise Violation(missing[0]) from error
        raise


def _learn_first_rows(context: CheckContext) -> None:
    chunk = context.rows()
    learner = context.train(chunk.cut(0, 1))
    context.learn(learner, chunk.cut(1, len(chunk.X)))


@contextmanager
def _missing_results(kernel: Any) -> Iterator[list[str]]:
    """Yield a list that is filled with the functions of the kernel that return None, as messages.

    A `learn` that calls `update` treats None like False, so that the host only sees a refused step.
    """
    codes = {getattr(getattr(kernel, name, None), "__code__", None): name for name in WANTED}
    found: list[str] = []

    def notice(frame: FrameType, event: str, result: object) -> None:
        if event == "return" and result is None and (name := codes.get(frame.f_code)):
            place = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
            found.append(f"{name} returned None ({place}), want {WANTED[name]}")

    before = sys.getprofile()
    sys.setprofile(notice)
    try:
        yield found
    finally:
        sys.setprofile(before)
