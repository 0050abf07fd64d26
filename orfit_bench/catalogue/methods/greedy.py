"""Greedy: the baseline that remembers only the last target."""

from __future__ import annotations

from typing import Any

from orfit_bench.catalogue.laws.greedy import LAWS
from orfit_bench.spec import Combine, Cost, Field, Merge, Method, StateSpec, Theory


def predict(s: Any, X: Any, settings: Any) -> Any:
    """The last target for every row."""
    return X[:, :1] * 0 + s.last


METHOD = Method(
    name="greedy",
    summary="predict the target of the last row, regardless of the features (baseline)",
    use_when="You need the baseline of complete forgetting: any useful learner must predict better than the last "
    "target. It also predicts well if targets change slowly compared with the rate of rows.",
    avoid_when="The prediction should depend on the features: it never does.",
    formulas="f <- y",
    source="thesis, section 5.1",
    settings=(),
    state=StateSpec((Field("last", ("output",), "the last target"),), predict=predict),
    theory=Theory(laws=LAWS, cost=Cost(flops=lambda s, z: 0, floats=lambda s, z: z["output"])),
    combine=Combine(Merge("exact", "the last target of the other learner", lambda a, b, settings: dict(b.fields))),
)
