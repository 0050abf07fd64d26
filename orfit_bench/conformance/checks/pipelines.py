"""Saved, restored and damaged pipelines."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from orfit_bench.conformance.check import check, ensure, ensure_raises
from orfit_bench.conformance.checks.coordinates import needs_coordinates
from orfit_bench.conformance.context import CheckContext
from orfit_bench.learners.pipelines.factory import pipeline
from orfit_bench.learners.restoring import from_bytes, load, restore

SEEN, PLACES = 16, 16
"""Number of rows before a pipeline is saved, and number of places at which its bytes are changed."""


@check(needs_coordinates, all_variants=False)
def pipelines_continue_from_bytes_and_files(context: CheckContext) -> None:
    """A pipeline that was read from bytes, a file or a pickle continues like the saved one, bit by bit."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pipeline.npz")

        def through_file(steps: Any) -> Any:
            steps.save(path)
            return load(path)

        _ensure_continues(context, "read from bytes", lambda steps: from_bytes(steps.to_bytes()))
        _ensure_continues(context, "read from a file", through_file)
        _ensure_continues(context, "read from a pickle", lambda steps: pickle.loads(pickle.dumps(steps)))


@check(needs_coordinates, all_variants=False)
def pipelines_continue_from_states(context: CheckContext) -> None:
    """A copy of a pipeline, and one restored from a state, continue like the pipeline itself, bit by bit."""
    _ensure_continues(context, "copied", lambda steps: steps.copy())
    _ensure_continues(context, "restored", lambda steps: restore(steps.state()))


@check(needs_coordinates, all_variants=False)
def changed_pipelines_are_refused(context: CheckContext) -> None:
    """Changed or cut bytes and files of a pipeline raise ValueError; unchanged ones can be read."""
    data, rng = _trained(context).to_bytes(), np.random.default_rng(context.seed)

    def damaged() -> Iterator[tuple[str, bytes]]:
        for place in rng.integers(8, len(data), PLACES).tolist():  # after the bytes that identify a pipeline
            yield f"byte {place} changed", data[:place] + bytes([data[place] ^ 255]) + data[place + 1 :]
        for end in (9, 20, len(data) // 2, len(data) - 1):
            yield f"cut to {end} bytes", data[:end]
        yield "a byte too many", data + b"0"

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pipeline.npz")
        path.write_bytes(data)
        for found in (load(path), from_bytes(data)):
            ensure(found.to_bytes() == data, "a pipeline that was read has other bytes than the saved one")
        for what, content in damaged():
            path.write_bytes(content)
            ensure_raises(partial(from_bytes, content), ValueError, what)
            ensure_raises(partial(load, path), ValueError, what)


def _trained(context: CheckContext) -> Any:
    """A pipeline that has learned the first rows."""
    chunk = context.rows(n=SEEN)
    return pipeline("standardize", "intercept", context.create()).partial_fit(chunk.X, chunk.y)


def _ensure_continues(context: CheckContext, how: str, move: Callable[[Any], Any]) -> None:
    """The moved pipeline and the original learn the same, and predict the same."""
    stayed, rest = _trained(context), context.rows(n=2 * SEEN).cut(SEEN, 2 * SEEN)
    moved = move(stayed)
    for when in ("", f", {SEEN} rows later"):
        ensure(moved.to_bytes() == stayed.to_bytes(), f"a pipeline that was {how}{when} differs from the original")
        ask = "decision_function" if context.method.traits.labels else "predict"
        one, other = (context.backend.asnumpy(getattr(steps, ask)(rest.X)) for steps in (moved, stayed))
        ensure(np.array_equal(one, other), f"a pipeline that was {how}{when} predicts something else")
        for steps in (moved, stayed):
            steps.partial_fit(rest.X, rest.y)
