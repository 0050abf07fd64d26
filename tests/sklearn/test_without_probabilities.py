"""Classification methods of plugins without probabilities: libraries use their labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import orfit_bench as ob
from orfit_bench.sklearn import ESTIMATORS

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
LABELS = np.where(X[:, 0] > 0, "up", "down")


@pytest.fixture(scope="module", autouse=True)
def plain_classifier() -> Iterator[None]:
    """`class_rls` without its probabilities, as the method of a plugin."""
    from orfit_bench.catalogue.methods.class_rls import METHOD
    from orfit_bench_numpy import class_rls

    method = replace(METHOD, name="plain_classifier", state=replace(METHOD.state, probabilities=None))

    class Plugin:
        SPEC_VERSION = (1, 0)

        @ob.hookimpl
        def methods(self) -> tuple[Any, ...]:
            return (method,)

        @ob.hookimpl
        def kernels(self) -> dict[tuple[str, str], Any]:
            return {("numpy", "plain_classifier"): class_rls}

    ob.register(Plugin())
    yield
    ob.unregister("Plugin")


def test_scikit_learn_sees_no_probabilities() -> None:
    estimator = ESTIMATORS["plain_classifier"](backend="numpy")
    assert not hasattr(estimator, "predict_proba")
    assert hasattr(ESTIMATORS["class_rls"](), "predict_proba")
    assert estimator.fit(X, LABELS).score(X, LABELS) > 0.9
    with pytest.raises(AttributeError, match="predict_proba") as raised:
        estimator.predict_proba(X)
    assert "plain_classifier defines no probabilities: use decision_function" in str(raised.value.__cause__)


def test_river_predicts_labels() -> None:
    from orfit_bench.river import ESTIMATORS as MODELS

    model, table = MODELS["plain_classifier"](backend="numpy"), pd.DataFrame(X, columns=list("abc"))
    rows = table.to_dict("records")
    assert model.predict_one(rows[0]) is None
    assert model.predict_many(table).empty
    model.learn_many(table, pd.Series(LABELS))
    one_by_one = [model.predict_one(row) for row in rows]
    assert model.predict_many(table).tolist() == one_by_one
    assert np.mean(np.array(one_by_one) == LABELS) > 0.9
    with pytest.raises(NotImplementedError):
        model.predict_proba_one(rows[0])
