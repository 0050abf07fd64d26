"""Faults at the ends of the ranges of settings, for a memory that is just full, and for directions of the same size."""

from __future__ import annotations

from importlib.util import find_spec, module_from_spec
from typing import Any

import numpy as np
from helpers.methods import change

from faults.fault import fault
from faults.reference_learner import METHODS, PLAIN, STEP, KernelModule, one_by_one, plain, reference_kernel
from orfit_bench.spec import Field, Growth, Number, Setting

# ---------------------------------------------------------------------- ends of ranges

GAIN = change(PLAIN, settings=(Setting("gain", Number(0, 1), 0.5, "share of the step that is taken"),))


def _with_gain(s: Any, X: Any, Y: Any, p: Any, out: Any, default: float = 0) -> int:
    for i in range(len(X)):
        f = X[i] @ s.w
        if out is not None:
            out[i] = f
        w = s.w + s.w.dtype.type(STEP * (p.gain or default)) * np.outer(X[i], Y[i] - f)
        if not np.isfinite(w).all():
            return i
        s.w[...] = w
    return len(X)


fault(
    "zero_is_taken_for_missing",
    "a setting of zero is taken for one that was not given, and replaced by 1",
    "ends_of_ranges_are_learned",
    "opposite_ends_of_ranges_differ",
    method=GAIN,
    kernel=KernelModule(learn=lambda s, X, Y, p, out: _with_gain(s, X, Y, p, out, default=1)),
    reference=KernelModule(learn=_with_gain),
)

# ---------------------------------------------------------------------- a memory that is just full

LIMIT = 10
"""Rows of the memory."""


def _stores(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    n, full = 0, s.count[0] == LIMIT and p.t == LIMIT + 1
    for i, _ in one_by_one(plain, s, X, Y, p, out):
        if s.count[0] < LIMIT:
            s.kept[s.count[0]] = X[i]
            s.count[0] += 1
        elif full:
            s.kept[-1] = X[i]
        n += 1
    return n


fault(
    "memory_just_full_is_written_to",
    "a call that begins when the memory has just been filled replaces its last row",
    "calls_end_at_boundaries",
    "row_by_row",
    "random_chunking",
    method=change(
        PLAIN,
        state={
            "fields": (*PLAIN.state.fields, Field("kept", ("memory", "feature"), "the first rows")),
            "growth": Growth("memory", lambda settings, sizes: LIMIT),
        },
    ),
    kernel=KernelModule(learn=_stores),
)

# ---------------------------------------------------------------------- ties


def _copy_of(module: Any) -> Any:
    """A copy of the module."""
    spec = find_spec(module.__name__)
    assert spec
    assert spec.loader
    copy = module_from_spec(spec)
    spec.loader.exec_module(copy)
    return copy


def _outermost(memory: Any, p: Any) -> tuple[Any, Any]:
    """The largest directions; among equal ones the outermost."""
    V, rho, _ = np.linalg.svd(memory.R, full_matrices=False)
    values = np.concatenate([memory.sigma, rho])
    place = np.arange(len(values))
    order = np.lexsort((-np.abs(2 * place - place[-1]), -values))[: p.memory]
    return np.column_stack([memory.U, memory.Q @ V])[:, order], values[order]


ORFIT = reference_kernel("orfit")
CHANGED = _copy_of(ORFIT)
CHANGED.SUMMARIES["largest"] = _outermost
fault(
    "some_of_tied_directions_is_kept",
    "of directions of the same size a full memory keeps the first and the last",
    "first_or_last_of_tied_directions_are_kept",
    "ties_of_a_full_memory_do_not_depend_on_calls",
    method=change(METHODS["orfit"], theory={"laws": ()}),
    kernel=CHANGED,
    reference=ORFIT,
)


def _smallest(memory: Any, p: Any) -> tuple[Any, Any]:
    """The smallest directions."""
    V, rho, _ = np.linalg.svd(memory.R, full_matrices=False)
    values = np.concatenate([memory.sigma, rho])
    order = np.argsort(values, kind="stable")[: p.memory]
    return np.column_stack([memory.U, memory.Q @ V])[:, order], values[order]


WITH_SMALLEST = _copy_of(ORFIT)
WITH_SMALLEST.SUMMARIES["largest"] = _smallest
fault(
    "smallest_directions_are_kept",
    "a full memory keeps the smallest directions instead of the largest",
    "largest_first_or_last_directions_are_kept",
    "law_residual_summaries",
    method=METHODS["orfit"],
    kernel=WITH_SMALLEST,
)
