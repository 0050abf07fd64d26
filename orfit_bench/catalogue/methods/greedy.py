"""Greedy: the baseline that remembers only the last target."""

from __future__ import annotations

from typing import Any

from orfit_bench.catalogue.laws.greedy import LAWS
from orfit_bench.spec.merge import Merge
from orfit_bench.spec.method import Cost, Field, Method


def predict(s: Any, X: Any, settings: Any) -> Any:
    """The last target for every row."""
    return X[:, :1] * 0 + s.last


METHOD = Method(
    name="greedy",
    summary="predict the target of the last row, whatever the features (baseline)",
    use_when="You need the baseline of complete forgetting: any useful learner must predict better than the last "
    "label. It also predicts well where targets change slowly compared with the rate of rows.",
    avoid_when="The prediction should depend on the features: it never does.",
    formulas="f <- y",
    source="thesis, section 5.1",
    settings=(),
    fields=(Field("last", ("output",), "the last target"),),
    cost=Cost(flops=lambda s, z: 0, floats=lambda s, z: z["output"]),
    laws=LAWS,
    predict=predict,
    merge=Merge("exact", "the last target of the other learner", lambda a, b, settings: dict(b.fields)),
)
