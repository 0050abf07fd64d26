"""The declared cost: growth of bytes and operations if the features double. Benchmarks measure the time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from orfit_bench.conformance.check import check, ensure
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.counting import Counted, Counting, count_flops
from orfit_bench.conformance.inspection import arrays_of, bytes_of, layout_of, with_kernel
from orfit_bench.conformance.rows import ROWS

SIZES = (32, 64)
"""Numbers of features: enough for the leading power of d to dominate, few enough for a cubic kernel."""
MORE, LESS = 64, 8
"""Largest factors by which the counted operations may exceed, or fall below, the declared ones.

A cost is declared to leading order and for the best grouping of rows into blocks; a factorization counts up to 25 times
the cube of its size.
"""
SINGLE_ROW_FACTOR = 32
"""The factor for a single row in both directions, since a method can leave much of its work to later rows."""
MANY = 512
"""Number of features with which a cost with another power of d differs by more than these factors."""
SLACK = float(np.sqrt(2))
"""Half of the distance to the next power of d, on a logarithmic scale."""


def needs_numpy_arithmetic(context: CheckContext) -> str:
    """The kernel must compute with NumPy's functions, whose operations can be counted."""
    if context.backend.namespace() is not np or context.backend.compiled:
        return "operations can be counted in NumPy's functions only"
    return ""


@check(all_variants=False)
def state_size_grows_as_declared(context: CheckContext) -> None:
    """With twice the features, the bytes of the state grow by at most the factor of the declared cost."""
    sizes = [_state_bytes(context.train(context.rows(d=d))) for d in SIZES]
    _ensure_growth(context, "bytes of the state", sizes, "floats", "flops")  # a block touches some arrays only once


@check(needs_numpy_arithmetic, all_variants=False)
def flops_grow_as_declared(context: CheckContext) -> None:
    """With twice the features, the counted operations per row grow by at most the factor of the declared cost."""
    counts = [count_flops(context, d) for d in SIZES]
    free = not context.method.theory.cost.flops(*_arguments(context, SIZES[0]))
    ensure(
        free or min(counts) > 0, "no operation was counted: a backend that compiles its kernels sets Backend.compiled"
    )
    _ensure_growth(context, "operations", counts, "flops")


@check(needs_numpy_arithmetic, all_variants=False)
def cost_is_of_declared_size(context: CheckContext) -> None:
    """The declared operations and numbers of a row equal the counted ones, within a constant factor."""
    cost, d = context.method.theory.cost, SIZES[1]
    arguments = _arguments(context, d)
    chunk = context.rows(d=d)
    counted, flops, floats = count_flops(context, d) / len(chunk.X), *(f(*arguments) for f in (cost.flops, cost.floats))
    _ensure_near(f"with {d} features a row", counted, flops, MORE, LESS)
    entries = sum(math.prod(a.shape) for a in arrays_of(context.train(chunk)))
    least, most = min(entries, d) / LESS, LESS * (3 * counted + entries + d)
    ensure(
        least <= floats <= most,
        f"with {d} features a state of {entries} numbers is read or written by {counted:.0f} operations per row, "
        f"Cost.floats declares {floats:.0f} numbers: declare between {least:.0f} and {most:.0f}",
    )


@check(all_variants=False)
def state_is_of_declared_size_at_many_features(context: CheckContext) -> None:
    """With 512 features, the state has at most 64 times as many numbers as a row reads, writes or computes."""
    learner = context.initialize(context.rows(n=1, d=MANY))
    cost, arguments = context.method.theory.cost, _arguments(context, MANY, rows=1)
    declared = max(cost.floats(*arguments), cost.flops(*arguments))
    entries = sum(math.prod(a.shape) for a in arrays_of(learner))
    what = f"with {MANY} features the state has {entries} numbers"
    ensure(entries <= MORE * declared, f"{what}, the declared cost of a row is {declared:.0f} numbers or operations")


@check(needs_numpy_arithmetic, all_variants=False)
def row_of_many_features_costs_as_declared(context: CheckContext) -> None:
    """A single row of 512 features needs the declared operations and reads, within a constant factor."""
    chunk, cost = context.rows(n=2, d=MANY), context.method.theory.cost
    learner = with_kernel(context.create(), Counting)
    context.learn(learner, chunk.cut(0, 1))
    Counted.flops = 0.0
    context.learn(learner, chunk.cut(1, 2))
    flops, floats = (f(*_arguments(context, MANY, rows=2)) for f in (cost.flops, cost.floats))
    _ensure_near(f"a row of {MANY} features", Counted.flops, flops, SINGLE_ROW_FACTOR, SINGLE_ROW_FACTOR)
    entries = sum(math.prod(a.shape) for a in arrays_of(learner))
    least, most = min(MANY, entries) / LESS, LESS * (3 * Counted.flops + entries + MANY)
    what = f"for a row of {MANY} features Cost.floats declares {floats:.0f} numbers"
    ensure(least <= floats <= most, f"{what}: declare between {math.ceil(least)} and {math.floor(most)}")


def _ensure_near(what: str, counted: float, declared: float, more: int, less: int) -> None:
    """The declared operations must equal the counted ones, within these factors."""
    says = f"{what} takes {counted:.0f} counted operations, Cost.flops declares {declared:.0f}"
    least, most = math.ceil(counted / more), math.floor(less * max(counted, 1))
    ensure(counted <= more * max(declared, 1), f"{says}: declare at least {least} operations")
    ensure(declared <= less * max(counted, 1), f"{says}: declare at most {most} operations")


def _ensure_growth(context: CheckContext, what: str, measured: list[float], *costs: str) -> None:
    declared = [[getattr(context.method.theory.cost, cost)(*_arguments(context, d)) for d in SIZES] for cost in costs]
    allowed = max(last / max(first, 1) for first, last in declared)
    growth = measured[1] / max(measured[0], 1)
    factors = f"grow by a factor of {growth:.2f}, the declared {' or '.join(costs)} by {allowed:.2f}"
    ensure(growth <= SLACK * max(allowed, 1), f"from {SIZES[0]} to {SIZES[1]} features {what} {factors}")


def _arguments(context: CheckContext, d: int, rows: int = ROWS) -> tuple[Any, dict[str, int]]:
    """The settings and sizes that are passed to a declared cost."""
    learner = context.train(context.rows(n=rows, d=d))
    layout = layout_of(learner)
    return learner.settings, {**layout.sizes_of_first_layer, "count": layout.count(arrays_of(learner))}


def _state_bytes(learner: Any) -> float:
    return float(bytes_of(arrays_of(learner)))
