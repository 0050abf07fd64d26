"""Estimators and River models of methods of plugins: names of classes and of settings."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.methods import declare

import orfit_bench as ob
from orfit_bench.river import ESTIMATORS as MODELS
from orfit_bench.sklearn import ESTIMATORS
from orfit_bench.spec import Field, Integer, Method, Setting

W = Field("w", ("parameter", "output"), "weights")


def learn(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    s.w[...] = Y[-1]
    return len(X)


class OneMethod:
    """A plugin with a method and its kernel."""

    SPEC_VERSION = (1, 0)

    def __init__(self, method: Method) -> None:
        self.method = method

    @ob.hookimpl
    def methods(self) -> Any:
        return (self.method,)

    @ob.hookimpl
    def kernels(self) -> Any:
        return {("numpy", self.method.name): SimpleNamespace(learn=learn)}


def test_classes_of_methods_with_dots_in_their_names_are_pickled(registered: Callable[..., str]) -> None:
    registered(OneMethod(declare("my.own-rule", W)))
    estimator = ESTIMATORS["my.own-rule"](fit_intercept=False).fit([[1.0]], [2.0])
    assert type(estimator).__name__ == "MyDotown-ruleRegressor"
    assert pickle.loads(pickle.dumps(estimator)).predict([[3.0]]) == [6.0]
    assert type(pickle.loads(pickle.dumps(MODELS["my.own-rule"]()))) is MODELS["my.own-rule"]


@pytest.mark.parametrize(
    ("name", "classes"),
    [("learner", MODELS), ("fit", ESTIMATORS), ("n_samples_seen_", ESTIMATORS), ("n_features_in_", MODELS)],
)
def test_settings_with_names_of_attributes_are_refused(name: str, classes: Any, registered: Callable[..., str]) -> None:
    registered(OneMethod(declare("mine", W, settings=(Setting(name, Integer(0), 1, "a setting"),))))
    assert ob.create("mine", **{name: 2}).partial_fit([[1.0]], [2.0]).n_samples_seen_ == 1
    with pytest.raises(KeyError, match=f"no estimator of 'mine': its setting '{name}' has the name of an attribute"):
        classes["mine"]
    assert "mine" not in dict(classes)
