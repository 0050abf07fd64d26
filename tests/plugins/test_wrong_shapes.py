"""Functions of a declaration that return arrays of wrong shapes are named."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.methods import declare

import orfit_bench as ob
from orfit_bench.spec import Diagonal, Field, Method

X, Y = np.ones((4, 5)), np.ones(4)
WEIGHTS = ("parameter", "output")


def offer(registered: Callable[..., str], method: Method) -> ob.Learner:
    """A learner of this method."""
    kernel = SimpleNamespace(learn=lambda s, X, Y, p, out: len(X))
    hooks = {"methods": lambda: (method,), "kernels": lambda: {("numpy", method.name): kernel}}
    registered(SimpleNamespace(SPEC_VERSION=(1, 0), **{name: ob.hookimpl(hook) for name, hook in hooks.items()}))
    return ob.create(method.name)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (lambda s, z, draw: np.zeros(5), r"returned shape \(5,\), want \(5, 1\)"),
        (lambda s, z, draw: np.zeros((1, 5)), r"returned shape \(1, 5\), want \(5, 1\)"),
        (lambda s, z, draw: 0.0, r"returned shape \(\), want \(5, 1\)"),
        (lambda s, z, draw: Diagonal(1.0, 5), r"returned shape \(5, 5\), want \(5, 1\)"),
    ],
)
def test_the_start_of_a_field(start: Any, message: str, registered: Callable[..., str]) -> None:
    learner = offer(registered, declare("mine", Field("w", WEIGHTS, "weights", start=start)))
    with pytest.raises(ValueError, match=r"start of w: <lambda> \(test_wrong_shapes.py:\d+\) " + message):
        learner.partial_fit(X, Y)


@pytest.mark.parametrize(
    ("predict", "message"),
    [
        (lambda s, X, settings: X[:, 0], r"returned shape \(4,\), want predictions of shape \(4, 1\)"),
        (lambda s, X, settings: X @ s.w @ np.ones((1, 2)), r"returned shape \(4, 2\), want"),
        (lambda s, X, settings: None, "returned NoneType, want predictions of shape"),
        (lambda s, X, settings: np.full((4, 1), "a"), "returned an array of dtype <U1, want numbers"),
    ],
)
def test_predictions(predict: Any, message: str, registered: Callable[..., str]) -> None:
    learner = offer(registered, declare("mine", Field("w", WEIGHTS, "weights"), state={"predict": predict}))
    learner.partial_fit(X, Y)
    with pytest.raises(ValueError, match=r"<lambda> \(test_wrong_shapes.py:\d+\) " + message):
        learner.predict(X)


@pytest.mark.parametrize("length", [-1, 2.0, 1e30, None])
def test_the_length_of_a_dimension(length: Any, registered: Callable[..., str]) -> None:
    fields = Field("w", WEIGHTS, "weights"), Field("b", ("window", "feature"), "rows")
    learner = offer(registered, declare("mine", *fields, state={"lengths": {"window": lambda s, z: length}}))
    place = r"mine: length of window: <lambda> \(test_wrong_shapes.py:\d+\)"
    with pytest.raises(ValueError, match=rf"{place} returned {re.escape(str(length))}, want an integer of at least 0"):
        learner.partial_fit(X, Y)


def test_a_field_for_which_there_is_no_memory(registered: Callable[..., str]) -> None:
    fields = Field("w", WEIGHTS, "weights"), Field("b", ("window",), "rows")
    learner = offer(registered, declare("mine", *fields, state={"lengths": {"window": lambda s, z: 10**15}}))
    with pytest.raises(MemoryError, match=r"mine: no memory for b of shape \(10{15},\): "):
        learner.partial_fit(X, Y)
