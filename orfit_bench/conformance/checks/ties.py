"""A full memory: rows in orthogonal directions, of equal or different sizes, some of which a method keeps."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from orfit_bench.conformance.acceptance import learn_or_skip
from orfit_bench.conformance.check import check, ensure, skip_if
from orfit_bench.conformance.checks.agreement import skip_if_not_linear
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import host_arrays_of, layout_of
from orfit_bench.conformance.rows import Array, Chunk

TIED = 12
"""Number of features and rows: more than a memory of the variants holds, and a multiple of their batches."""
TIED_CUTS = (0, 1, 3, 6, 7, TIED)
"""Calls that end before, at and after the memory is full."""


def needs_memory(context: CheckContext) -> str:
    """The method must declare a dimension along which fields grow, and sums must not depend on the shapes of arrays."""
    if context.backend.device not in ("", "cpu"):
        return "on a device the last bit of a product depends on its shape, so equal sizes are not exact ties"
    return "" if context.method.state.growth else "the method declares no memory that grows"


def needs_memory_that_is_not_drawn(context: CheckContext) -> str:
    """A memory must grow, and the method must not draw what it keeps with its default settings."""
    draws = context.method.kernel.draws(context.method.check_settings({}))
    return needs_memory(context) or ("it draws which directions are kept" if draws else "")


@check(needs_memory)
def ties_of_a_full_memory_do_not_depend_on_calls(context: CheckContext) -> None:
    """The kept directions, out of many of the same size, do not depend on the calls or on the backend."""
    chunk = _tied(context)
    single, several = context.create(), context.create()
    learn_or_skip(context, single, chunk)
    for lo, hi in pairwise(TIED_CUTS):
        context.learn(several, chunk.cut(lo, hi))
    if context.is_exact:
        context.ensure_identical(several, single, "with calls of other lengths")
    others = {"with calls of other lengths": several}
    if not context.reference_missing:
        others["on the reference backend"] = context.reference.train(chunk)
    kept = _kept(single)
    for where, other in others.items():
        for name, axes in _kept(other).items():
            what = f"of {TIED} directions of the same size {name} keeps {axes} {where}"
            ensure(axes == kept[name], f"{what}, want {kept[name]}")


@check(needs_memory_that_is_not_drawn)
def first_or_last_of_tied_directions_are_kept(context: CheckContext) -> None:
    """Of many directions of the same size, a full memory keeps the first ones or the last ones, unless it draws."""
    chunk = _tied(context)
    learner = context.create()
    skip_if(context.method.kernel.draws(learner.settings), "it draws which directions are kept")
    learn_or_skip(context, learner, chunk)
    for name, axes in _kept(learner).items():
        n = len(axes)
        ensure(
            axes in (list(range(n)), list(range(TIED - n, TIED))),
            f"of {TIED} directions of the same size {name} keeps {axes}, want the first {n} or the last",
        )


@check(needs_memory_that_is_not_drawn)
def largest_first_or_last_directions_are_kept(context: CheckContext) -> None:
    """Of directions of different sizes, a full memory keeps the largest, the first or the last, unless it draws."""
    chunk, sizes = _tied(context), np.roll(np.arange(1, TIED + 1), TIED // 2)  # the largest and smallest in the middle
    chunk = chunk.with_rows(np.diag(sizes))
    learner = context.create()
    skip_if(context.method.kernel.draws(learner.settings), "it draws which directions are kept")
    learn_or_skip(context, learner, chunk)
    for name, axes in _kept(learner).items():
        n = len(axes)
        largest = sorted(np.argsort(-sizes)[:n].tolist())
        ensure(
            axes in (largest, list(range(n)), list(range(TIED - n, TIED))),
            f"of directions of the sizes {sizes.tolist()} {name} keeps {axes}, want the largest {largest}, the first "
            f"{n} or the last",
        )


def _kept(learner: Any) -> dict[str, list[int]]:
    """The axis of each row of a memory, by field; -1 for a row along several axes."""
    growth, arrays = learner.method.state.growth, host_arrays_of(learner)
    fields = [f for f in layout_of(learner).fields if f.dims[:1] == (growth.dim,) and f.role in ("basis", "rows")]
    return {f.name: sorted(_axis(row) for row in np.abs(arrays[f.name])) for f in fields}


def _axis(row: Array) -> int:
    """The index of the only entry that is not small; -1 if there are several."""
    (large,) = np.nonzero(row > row.max() / 2)
    return int(large[0]) if len(large) == 1 else -1


def _tied(context: CheckContext) -> Chunk:
    """Rows along the axes, all of the same size."""
    skip_if_not_linear(context)
    return context.rows(n=TIED, d=TIED).with_rows(2 * np.eye(TIED))
