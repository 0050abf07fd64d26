"""Shared parts of the laws of layer-wise methods: a network followed step by step in float64."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.catalogue.laws.helpers import final_weights
from orfit_bench.catalogue.shared.lengths import unit_rows
from orfit_bench.spec import Array
from orfit_bench.spec.law import Rows
from orfit_bench.spec.model import Model


class LayerStep(NamedTuple):
    """One step of a learner on a layered model, recomputed only from the model."""

    before: list[Array]
    """The layers' matrices (inputs, outputs) before the step."""
    after: list[Array]
    move: list[Array]
    """J'(y - f): the gradient step of the layers with step 1."""
    inputs: list[Array]
    """Inputs of the layers before the step, (inputs,)."""
    then: list[Array]
    """Inputs of the layers after the step."""


def scaled_rows(rows: Rows, n: int, outputs: int = 1) -> tuple[Array, Array]:
    """The first n rows, scaled so that a network is nonlinear but not saturated, with targets of order 1."""
    X = unit_rows(rows.X[:n]) * np.sqrt(rows.X.shape[1])
    more = np.random.default_rng(rows.seed).standard_normal((n, outputs - 1))
    return X, np.column_stack([rows.y[:n] / abs(rows.y[:n]).max(), more])


def start_network(model: Model, X: Array, outputs: int) -> tuple[Array, list[Array]]:
    """Initial weights, and the inputs of each layer for the rows of X, (rows, inputs).

    Laws take their condition number from these inputs, which do not depend on a kernel.
    """
    draw = np.random.default_rng(0).standard_normal
    w = np.asarray(model.start(draw, X.shape[1], outputs))
    inputs = [model.layers(w, x) for x in X]  # type: ignore[misc]  # a layered model has it
    return w, [np.array(layer) for layer in zip(*inputs, strict=True)]


def follow(learner: Any, model: Model, X: Array, Y: Array) -> Iterator[LayerStep]:
    """Learn row by row and yield each step."""
    w = final_weights(learner.partial_fit(X[:0], Y[:0]))[:, 0]
    for x, y in zip(X, Y, strict=True):
        v = final_weights(learner.partial_fit(x[None], y[None]))[:, 0]
        g = model.jacobian(w, x).T @ (y - model.predict(w, x[None])[0])
        shapes, layers = model.shapes(len(x), len(y)), model.layers  # type: ignore[misc]  # a layered model has both
        yield LayerStep(*(layer_matrices(a, shapes) for a in (w, v, g)), *(list(layers(a, x)) for a in (w, v)))  # type: ignore[misc]
        w = v


def layer_matrices(w: Array, shapes: tuple[tuple[int, int], ...]) -> list[Array]:
    """The matrices of the layers; w (p,) holds one after another in C order."""
    # kernels share such a function, but laws compute independently of the code that they judge
    pieces = np.split(w, np.cumsum([n * m for n, m in shapes])[:-1])
    return [piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True)]
