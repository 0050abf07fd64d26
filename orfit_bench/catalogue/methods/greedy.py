"""Greedy: the extreme of forgetting."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.spec.law import Law, Measured, Rows, deviation, largest
from orfit_bench.spec.merge import Merge
from orfit_bench.spec.method import Cost, Field, Method


def predict(s: Any, X: Any, settings: Any) -> Any:
    """The last label for every row."""
    return X[:, :1] * 0 + s.last


def last_label(create: Any, rows: Rows) -> Measured:
    """Every prediction is the label of the last row learned, whatever is asked; zero before the first."""
    learner = create()
    told = learner.prequential(rows.X, rows.y)
    asked = learner.predict(rows.X[:3])
    before, last = np.concatenate([[0.0], rows.y[:-1]]), np.repeat(rows.y[-1], 3)
    return Measured(largest(deviation(told, before), deviation(asked, last)), len(rows.X), 1.0)


def merges(create: Any, rows: Rows) -> Measured:
    """A merged learner says what the one that follows says, whose row was the last."""
    half = len(rows.X) // 2
    parts = ((rows.X[:half], rows.y[:half]), (rows.X[half:], rows.y[half:]))
    one, other = (create().partial_fit(*part) for part in parts)
    return Measured(deviation(one.merge(other).predict(rows.X[:3]), np.repeat(rows.y[-1], 3)), len(rows.X), 1.0)


METHOD = Method(
    name="greedy",
    summary="predict the label of the last row, whatever is asked",
    formulas="f <- y",
    source="thesis, section 5.1",
    settings=(),
    fields=(Field("last", ("output",), "the last label"),),
    cost=Cost(flops=lambda s, z: 0, floats=lambda s, z: z["output"]),
    laws=(
        Law(last_label, "thesis, section 5.1", exponent=0),
        Law(merges, "thesis, section 5.1", exponent=0),
    ),
    predict=predict,
    merge=Merge("exact", "the last label is the other's", lambda a, b, settings: dict(b.fields)),
)
