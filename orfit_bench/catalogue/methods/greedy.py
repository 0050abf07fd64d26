"""Greedy: the extreme of forgetting."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.spec.law import Law, Measured, Rows, deviation
from orfit_bench.spec.method import Cost, Field, Method


def predict(s: Any, X: Any, settings: Any) -> Any:
    """The last label for every row."""
    return X[:, :1] * 0 + s.last


def last_label(create: Any, rows: Rows) -> Measured:
    """Every prediction is the label of the last row learned, whatever is asked; zero before the first."""
    learner = create()
    told = learner.prequential(rows.X, rows.y)
    asked = learner.predict(rows.X[:3])
    want = np.concatenate([[0.0], rows.y[:-1], np.repeat(rows.y[-1], 3)])
    return Measured(deviation(np.concatenate([told, asked]), want), len(rows.X), 1.0)


METHOD = Method(
    name="greedy",
    summary="predict the label of the last row, whatever is asked",
    formulas="f <- y",
    source="thesis, section 5.1",
    settings=(),
    fields=(Field("last", ("output",), "the last label"),),
    cost=Cost(flops=lambda s, z: 0, floats=lambda s, z: z["output"]),
    laws=(Law(last_label, "thesis, section 5.1", exponent=0),),
    predict=predict,
)
