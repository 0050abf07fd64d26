"""Declarations that contradict themselves are refused when they are made."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from helpers.methods import declare

from orfit_bench.spec import (
    Cost,
    Field,
    Integer,
    Matrix,
    MatrixOrTransition,
    Merge,
    Number,
    Setting,
    StateSpec,
    Theory,
    Weighting,
)

W = Field("w", ("parameter", "output"), "weights")
MOMENTS = Field("mean", ("parameter", "output"), ""), Field("covariance", ("parameter", "parameter"), "")
MOVED = Field("moved", (), "")
MOTION = (
    Setting("transition", MatrixOrTransition(), 1.0, ""),
    Setting("process_noise", Matrix(covariance=True), 0.0, ""),
    Setting("observation_noise", Matrix(covariance=True), 1.0, ""),
    Setting("initial_mean", Matrix(), None, "", optional=True),
)
BATCH = Setting("batch_size", Integer(1, 9), 1, "")
STEP = Setting("step", Number(0, 1, closed="right"), 1.0, "")

declared = partial(declare, "mine")


class Similar(Field):
    """A field of the author's own class."""


def named(name):
    return Setting(name, Number(0), 1.0, "")


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: Setting("step", "float", 1.0, ""), "setting 'step': type='float', want for example Number"),
        (lambda: Setting("t", Number(0, 1, closed="right"), 1.0, ""), "a Python identifier other than t, draws, at"),
        (lambda: Setting("row_scale", Number(0, 1), 1.0, ""), "a Python identifier other than t, draws, at"),
        (lambda: Setting("lambda", Number(0), 1.0, ""), "setting 'lambda': want a Python identifier"),
        (lambda: Field("lambda", (), ""), "field 'lambda': want a name that is a Python identifier"),
        (lambda: Field("_w", (), ""), "field '_w': want a name that is a Python identifier, no keyword"),
        (lambda: declared(W, settings=(named("backend"),)), "has the name of an argument of create, 'backend'"),
        (lambda: declared(W, settings=(named("seed"),)), "has the name of a parameter of estimators, 'seed'"),
        (lambda: replace(declared(W), theory=3), "method 'mine': theory=3, want a Theory"),
        (lambda: replace(declared(W), kernel=None), "method 'mine': kernel=None, want a KernelSpec"),
        (lambda: replace(declared(W), settings=("step",)), "settings=('step',), want a tuple of settings"),
        (lambda: replace(declared(W), examples=3), "examples=3, want a tuple of mappings"),
        (lambda: replace(declared(W), refuses=3), "refuses=3, want a function"),
        (lambda: replace(declared(W), theory=Theory(cost=None)), "theory.cost=None, want a Cost"),  # type: ignore[arg-type]
        (lambda: declared(W, theory={"cost": Cost(4, 3)}), "theory.cost.flops=4, want a function"),  # type: ignore[arg-type]
        (lambda: declared(W, theory={"batch": 3}), "theory.batch=3, want a function"),
        (lambda: declared(W, kernel={"draws": 1}), "kernel.draws=1, want a function"),
        (lambda: declared(W, kernel={"weighting": "errors"}), "kernel.weighting='errors', want a Weighting"),
        (lambda: declared(W, combine={"averages": "w"}), "combine.averages='w', want a tuple of str"),
        (lambda: declared(Field("w", ("output"), "")), "state.fields: Field.dims='output', want a tuple of str"),  # type: ignore[arg-type]
        (lambda: StateSpec(W), "state: fields=Field(name='w'"),  # type: ignore[arg-type]
        (lambda: declared(W, kernel={"blocks": 1}), "kernel.blocks=1, want True or False"),
        (lambda: declared(W, combine={"average_weights": 3}), "average_weights=3, want a mapping"),
        (lambda: declared(W, state={"lengths": 3}), "state.lengths=3, want a mapping"),
        (lambda: StateSpec((W,), warning=("w", "text")), "state: warning=('w', 'text'), want a PrecisionWarning"),  # type: ignore[arg-type]
        (lambda: declared(Similar("w", ("parameter", "output"), 3)), "state.fields: Field.meaning=3, want a string"),  # type: ignore[arg-type]
        (
            lambda: declared(W, kernel={"weighting": Weighting("repetitions")}),
            "weights as repetitions need a setting 'step_size'",
        ),
        (lambda: declared(W, Field("pending_X", ("feature",), "")), "'pending_X' is the name of another array"),
        (lambda: declared(W, settings=(named("_step"),)), "the name of the setting '_step' begins with an underscore"),
        (lambda: Setting("step", Number(1, 0), 0.5, ""), "low=1, high=0, closed='both': no interval"),
        (
            lambda: Setting("step", Number(0, 1, closed="right"), 2.0, ""),
            "setting 'step': its default is wrong: step=2.0: want a number in",
        ),
        (lambda: declared(Field("w", ("parametr", "output"), "")), "field 'w' has the dimension 'parametr'"),
        (lambda: declared(Field("v", ("parameter",), "")), "neither a field 'w' nor a solution nor predict"),
        (lambda: declared(W, combine={"averages": ("v",)}), "'v' is averaged, but no field"),
        (lambda: declared(W, theory={"inverse_gram": ("P", max)}), "'P' is an inverse Gram matrix, but no field"),
        (lambda: declared(Field("w", ("output",), "")), "its weights 'w' have the dimensions ('output',), want"),
        (
            lambda: declared(
                Field("mean", ("output",), ""),
                state={"predict": max},
                combine={"merge": Merge("averaged", "", max), "averages": ("mean",)},
            ),
            "a merge of kind 'averaged' takes the mean of the weights, but no field is named 'w'",
        ),
        (lambda: declared(W, settings=(STEP, STEP)), "two settings are named 'step'"),
        (
            lambda: declared(W, settings=(Setting("batch_size", Number(1, 9), 1.0, ""),)),
            "batch_size is no integer",
        ),
        (lambda: declared(W, settings=(BATCH,)), "batch_size needs kernel=KernelSpec(blocks=True)"),
        (
            lambda: declared(W, kind="subspace"),
            "a subspace needs a field 'basis'",
        ),
        (
            lambda: declared(Field("basis", ("feature",), ""), kind="subspace"),
            "a subspace needs a setting 'n_components'",
        ),
        (
            lambda: declared(
                Field("basis", ("feature", "n_components"), ""),
                kind="subspace",
                settings=(Setting("n_components", Integer(1, 9), 1, ""),),
                kernel={"weighting": Weighting("errors")},
            ),
            "a subspace cannot learn weighted rows: omit weighting",
        ),
        (
            lambda: declared(*MOMENTS, kind="filter", state={"weights": "mean"}, settings=MOTION),
            "a filter needs a field 'moved': every filter has mean, covariance, moved",
        ),
        (
            lambda: declared(*MOMENTS, MOVED, kind="filter", state={"weights": "mean"}, settings=MOTION[1:]),
            "a filter needs a setting 'transition'",
        ),
    ],
)
def test_contradictory_declaration_is_refused(declare: Callable[[], Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        declare()


def test_values_of_similar_types_are_accepted() -> None:
    state = StateSpec([W])  # type: ignore[arg-type]
    assert replace(declared(W, kernel={"models": np.True_}), state=state, settings=[STEP]).state.fields == [W]
