"""The environment of a kernel: the process, its memory, the interpreter, and the arrays that it receives."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import replace
from typing import Any, TextIO

import numpy as np

from orfit_bench.conformance import process_state
from orfit_bench.conformance.check import Violation, check, ensure
from orfit_bench.conformance.checks.evidence import device_of, needs_complete_backend, scalars_of
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import host_arrays_of
from orfit_bench.errors import LackingError
from orfit_bench.learners.arguments import DTYPES, is_complex
from orfit_bench.spec.arrays import array_type, dtype_name

PASSES, CHUNK = 30, 100
"""The largest number of passes over the same rows until no objects remain, and the number of rows of a pass."""


@check(all_variants=False)
def process_is_left_as_it_was(context: CheckContext) -> None:
    """Learning and predicting print nothing and do not change the process (random generators, error handling, paths).

    Output of C code counts too. Rows are learned before, since loading and compiling can change more. Then everything
    is set to other values, so that a repeated change is noticed too.
    """
    chunk = context.rows(n=10, d=3)
    with process_state.variables_set() as variables:
        context.predict(context.train(chunk), chunk.X)
    with process_state.altered(variables):
        before = process_state.read()
        with _output() as file:
            learner = context.create()
            for i in range(10):
                context.learn(learner, chunk.cut(i, i + 1))
            context.predict(learner, chunk.X)
            found = process_state.read()
            size = file.tell()
    changed = [name for name in before if found[name] != before[name]]
    ensure(not changed, f"learning changed {', '.join(changed)}")
    ensure(not size, f"learning 10 rows printed {size} characters")


@contextmanager
def _output() -> Iterator[TextIO]:
    """A file that receives the standard output of Python and C code."""
    with tempfile.TemporaryFile("w+") as file:
        sys.stdout.flush()
        saved = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            with redirect_stdout(file), redirect_stderr(file):
                yield file
        finally:
            os.dup2(saved, 1)
            os.close(saved)


@check(all_variants=False)
def no_objects_are_left_behind(context: CheckContext) -> None:
    """Learning rows does not leave Python objects behind: fewer than one for every two rows."""
    chunk = context.rows(n=CHUNK)
    learner = context.train(chunk)
    allowed = CHUNK // 2
    for _ in range(PASSES):  # caches fill in the first passes
        gc.collect()
        before = sys.getallocatedblocks()
        for i in range(0, CHUNK, 5):
            context.learn(learner, chunk.cut(i, i + 5))
        gc.collect()
        if (more := sys.getallocatedblocks() - before) < allowed:
            return
    raise Violation(f"{CHUNK} rows left {more} objects behind, in each of {PASSES} passes")


ROWS_AND_TARGETS = "the rows", "the targets"
"""The arrays that a kernel receives in addition to the fields of the state."""


class Inspected:
    """A kernel with a function that receives every array before the kernel."""

    def __init__(self, kernel: Any, inspect: Callable[[str, Any], None]) -> None:
        self._kernel, self._inspect = kernel, inspect

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._kernel, name)
        if name not in ("learn", "step", "update", "slopes", "move"):
            return function

        def inspected(s: Any, *given: Any) -> Any:
            named = {field: getattr(s, field) for field in s._fields}
            for argument, array in {**named, **dict(zip(ROWS_AND_TARGETS, given, strict=False))}.items():
                if hasattr(array, "dtype"):
                    self._inspect(argument, array)
            return function(s, *given)

        return inspected


@check(all_variants=False)
def kernel_is_given_arrays_of_the_backend(context: CheckContext) -> None:
    """The rows and fields that a kernel receives are arrays of the backend's type, on the declared device.

    Rows and targets have the learner's dtype, regardless of the user's input.
    """
    expected, device = array_type(context.backend.namespace()), context.backend.device
    scalars = scalars_of(context.initialize(context.rows()))

    def inspect(name: str, array: Any) -> None:
        if name in scalars and type(array) is np.ndarray:
            return
        ensure(isinstance(array, expected), f"{name}: the kernel got a {type(array).__name__}, want {expected}")
        ensure_dtype(context, name, array)
        found = device_of(array) if device else ""
        ensure(found.split(":")[0] == device, f"{name}: the kernel got an array on {found}, want {device}")

    inspected = replace(context, wrap=lambda kernel: Inspected(kernel, inspect))
    inspected.train(context.rows())
    integers = context.rows().numbers(lambda a: np.where(a < 0, -1, 1))
    if context.accepts(integers) and not context.variant.time_varying:
        inspected.train(integers)


def ensure_dtype(context: CheckContext, name: str, array: Any) -> None:
    """The rows and targets that a kernel receives must have the learner's dtype."""
    found = dtype_name(array)
    ensure(name not in ROWS_AND_TARGETS or found == context.dtype, f"{name}: the kernel got numbers of {found}")


@check(needs_complete_backend, all_variants=False, once=True)
def complete_backend_has_every_dtype(context: CheckContext) -> None:
    """On a backend that declares itself complete, a learner of each real dtype can be created and learns rows."""
    for dtype in (dtype for dtype in DTYPES if not is_complex(dtype)):
        try:
            learner = replace(context, dtype=dtype).initialize(context.rows())
        except LackingError as error:
            raise Violation(f"{dtype} is lacking: {error}") from error
        kept = {array.dtype.name for array in host_arrays_of(learner).values()}
        ensure(kept == {dtype}, f"the arrays of a learner in {dtype} are of {', '.join(sorted(kept))}")
