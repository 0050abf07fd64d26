"""Rows, invalid entries and the calls that learn, for tests of what callers pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from helpers.cases import EVERY

import orfit_bench as ob

METHODS = sorted({name for name, _ in EVERY})
BLOCKS = [name for name in METHODS if ob.methods()[name].kernel.blocks]
X = np.random.default_rng(0).standard_normal((6, 3))
y = np.random.default_rng(1).standard_normal(6)


def each_call(method: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The calls that learn, with the name that their messages give to the first argument."""
    yield "X", lambda learner, X, y: learner.partial_fit(X, y)
    yield "X", lambda learner, X, y: learner.prequential(X, y)
    if method in BLOCKS:
        yield "A", lambda learner, X, y: learner.step(X, y)
