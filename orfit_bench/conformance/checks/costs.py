"""The declared cost: how bytes and flops grow as the features double. Time belongs to the benchmarks."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.conformance.check import check, require
from orfit_bench.conformance.counting import flops_of
from orfit_bench.conformance.inspection import arrays_of, layout_of
from orfit_bench.conformance.trial import Trial

SIZES = (32, 64)
"""Large enough that the leading power of d shows, small enough that a cubic kernel comes to its end."""
SLACK = float(np.sqrt(2))
"""Half-way, on a logarithmic scale, from one power of d to the next: a kernel of a higher power is beyond."""


def needs_numpy_arithmetic(trial: Trial) -> str:
    """Arithmetic can be counted where the kernel does it with NumPy's functions."""
    if trial.backend.namespace() is not np or trial.backend.compiled:
        return "only what NumPy's own functions compute can be counted"
    return ""


@check(every=False)
def state_size_grows_as_declared(trial: Trial) -> None:
    """Twice the features make the state's arrays at most as many times larger as what a row takes."""
    got = [_bytes(trial.learned(trial.rows(d=d))) for d in SIZES]
    _in_proportion(trial, "bytes of the state", got, "floats", "flops")  # a block of rows touches some arrays once


@check(needs_numpy_arithmetic, every=False)
def flops_grow_as_declared(trial: Trial) -> None:
    """Twice the features make a row's counted operations at most as many times more as the declared cost says."""
    got = [flops_of(trial, d) for d in SIZES]
    free = not trial.method.theory.cost.flops(*_at(trial, SIZES[0]))
    require(free or min(got) > 0, "no operation was counted: a backend that computes itself says so (Backend.compiled)")
    _in_proportion(trial, "operations", got, "flops")


def _in_proportion(trial: Trial, what: str, got: list[float], *prices: str) -> None:
    costs = [[getattr(trial.method.theory.cost, price)(*_at(trial, d)) for d in SIZES] for price in prices]
    grown, declared = got[1] / max(got[0], 1), max(last / max(first, 1) for first, last in costs)
    price = " or ".join(prices)
    said = f"{what} grow {grown:.2f} times from {SIZES[0]} to {SIZES[1]} features, {price} as declared {declared:.2f}"
    require(grown <= SLACK * max(declared, 1), said)


def _at(trial: Trial, d: int) -> tuple[Any, dict[str, int]]:
    """Settings and sizes as the declaration of costs takes them."""
    learner = trial.learned(trial.rows(d=d))
    layout = layout_of(learner)
    return learner.settings, {**layout.sizes_of_layer(1), "count": layout.count(arrays_of(learner))}


def _bytes(learner: Any) -> float:
    return float(sum(a.nbytes for a in arrays_of(learner)))
