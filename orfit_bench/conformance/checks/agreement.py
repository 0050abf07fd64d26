"""The same result computed in another way: by the reference backend, from all rows at once, with an explicit model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from orfit_bench.conformance.acceptance import rows_until_refusal
from orfit_bench.conformance.check import Deviation, NotApplicable, check, ensure, names_settings, skip_if, worst
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.rows import Chunk
from orfit_bench.conformance.variants import Variant, variants
from orfit_bench.errors import with_place
from orfit_bench.spec import LINEAR, Integer, Model
from orfit_bench.spec.law import to_numpy64

STOPS = (0, 1, 2, 3, 5, 8, 13, 24)
MANY_FEATURES, LONG_STOPS = 403, (0, 1, 18)
"""A number of features above the sizes at which kernels change algorithms, and not a multiple of a block or loop."""


def _jacobian(w: Any, x: Any) -> Any:
    """(c, d c): x at the positions of the weights of each output, for w (d, c) flattened."""
    c, xp = w.shape[0] // x.shape[0], x.__array_namespace__()
    return xp.reshape(x[None, :, None] * xp.eye(c, dtype=w.dtype)[:, None, :], (c, -1))


EXPLICIT_LINEAR = Model(
    "explicit linear",
    predict=lambda w, X: X @ w.__array_namespace__().reshape(w, (X.shape[1], -1)),
    jacobian=_jacobian,
    parameters=lambda d, c: d * c,
    start=lambda draw, d, c: np.zeros(d * c),
)
"""The linear model as a user would write it: the kernel learns it with `update`, with one gradient for each output."""


SHAPES = (24, 5), (12, 15), (2, 5)
"""Numbers of rows and features for which batch solutions are computed."""


def needs_reference(context: CheckContext) -> str:
    """There must be a reference for comparison."""
    return context.reference_missing


def needs_linear_reference(context: CheckContext) -> str:
    """There must be a reference, and the method must learn the linear model."""
    return context.reference_missing or ("it learns models of layers only" if context.method.state.layered else "")


def needs_batch_solution(context: CheckContext) -> str:
    """The method must declare a batch solution for its weights."""
    if context.method.theory.batch is None or not context.method.traits.supervised:
        return "the method declares no batch solution for its weights"
    return ""


def needs_inverse_gram(context: CheckContext) -> str:
    """The method must declare which field is an inverse Gram matrix."""
    return "" if context.method.theory.inverse_gram else "the method declares no inverse Gram matrix"


def needs_models(context: CheckContext) -> str:
    """The kernel must learn models of any number of outputs."""
    if context.method.traits.labels:
        return "a model has an output for each class"
    return "" if context.allows("models") else "it learns only the linear model"


@check(needs_reference, numbers="any")
def agrees_with_reference(context: CheckContext) -> Deviation:
    """Predictions before each step, and the state after several numbers of rows, equal those of the reference."""
    return _compare_with_reference(context, context.rows(), STOPS)


@check(needs_linear_reference, numbers="any")
def agrees_with_reference_at_many_features(context: CheckContext) -> Deviation:
    """With 403 features, where kernels can use other algorithms, predictions and states equal the reference's."""
    skip_if(not is_linear(context), "models and transitions take too long")
    chunk, reference = context.rows(n=LONG_STOPS[-1], d=MANY_FEATURES), context.reference
    learned = rows_until_refusal(reference, reference.create(), chunk)
    stops = [stop for stop in LONG_STOPS if stop <= learned]
    skip_if(len(stops) == 1, "the reference refuses the rows")
    return _compare_with_reference(context, chunk, stops)


def _compare_with_reference(context: CheckContext, chunk: Chunk, stops: Sequence[int]) -> Deviation:
    """Compare predictions and state after each part of the rows."""
    reference = context.reference
    learner, expected = context.create(), reference.create()
    deviations = []
    for lo, hi in pairwise(stops):
        part = chunk.cut(lo, hi)
        predictions = context.learn(learner, part), reference.learn(expected, part)
        of = f"after row {hi}:"
        deviations.append(context.compare(chunk.cut(0, hi), (learner, expected), predictions, of=of))
    return worst(deviations)


@check(needs_batch_solution)
def agrees_with_batch_solution(context: CheckContext) -> Deviation:
    """After complete steps, the weights equal the batch solution that the method declares."""
    skip_if_not_linear(context)
    found = [deviation for n, d in SHAPES if (deviation := batch_solution_deviation(context, n, d))]
    skip_if(not found, "there is no batch solution for these settings")
    return worst(found)


@check(needs_batch_solution, all_variants=False, own_settings=True)
def batch_solution_exists(context: CheckContext) -> None:
    """The declared batch solution is not None for some settings of the method."""
    found = (replace(context, variant=variant) for variant in variants(context.method))
    linear = [one for one in found if is_linear(one) and not one.lacking]
    ensure(
        any(batch_solution_deviation(one, n, d) for one in linear for n, d in SHAPES),
        f"the batch solution is None for all {len(linear)} settings that were tried, so it is compared with nothing: "
        f"let it return the weights, or leave it out of the declaration",
    )


@names_settings
def batch_solution_deviation(context: CheckContext, n: int, d: int) -> Deviation | None:
    """The deviation of the weights from the batch solution after n rows; None if it is None for these settings."""
    assert context.method.theory.batch
    chunk = context.rows(n=context.batch_size * max(1, n // context.batch_size), d=d)
    learner = context.train(chunk)
    X, Y = to_numpy64(chunk.X), context.encode_targets(learner, chunk)
    expected = context.method.theory.batch(X, Y, context.initial_weights(learner, chunk), learner.settings)
    if expected is None:
        return None
    weights = learner.array(context.method.state.weights)
    of = f"{context.method.state.weights} after {n} rows of {d} features, by the kernel and by the batch solution"
    shape = np.shape(expected)
    ensure(
        math.prod(shape) == math.prod(weights.shape),
        f"{with_place(context.method.theory.batch)} returned shape {shape} as the batch solution for {n} rows of {d} "
        f"features, want {weights.shape}, that of {context.method.state.weights}",
    )
    return context.compare(chunk, (weights, np.asarray(expected).reshape(weights.shape)), of=of)


@check(needs_inverse_gram, numbers="any")
def agrees_with_inverse_gram(context: CheckContext) -> Deviation:
    """The inverse Gram matrix in the state equals the inverse computed from all rows."""
    chunk = context.rows()
    deviation = inverse_gram_deviation(context, context.train(chunk), chunk)
    if deviation is None:
        raise NotApplicable("the declaration does not cover these settings")
    return deviation


def inverse_gram_deviation(context: CheckContext, learner: Any, chunk: Chunk) -> Deviation | None:
    """The deviation of the inverse Gram matrix from its declaration; None if there is none for the settings."""
    if not context.method.theory.inverse_gram or not is_linear(context):
        return None
    name, rows = context.method.theory.inverse_gram
    X = to_numpy64(chunk.X)
    A = rows(X[~np.isnan(context.encode_targets(learner, chunk)).any(axis=1)], learner.settings)
    if A is None or name not in learner.state():
        return None
    half = np.linalg.inv(np.linalg.qr(np.asarray(A), mode="r"))
    return context.compare(chunk, (learner.array(name), half @ half.conj().T), of=name)


@check(needs_models)
def linear_model_agrees_with_rows(context: CheckContext) -> Deviation:
    """A linear model given by its gradients and errors is learned like the rows themselves."""
    chunk = context.rows()
    skip_if(not is_linear(context) or chunk.y is None or chunk.y.ndim != 1, "it compares linear models of one output")
    return context.compare(chunk, (_train_explicit(context, chunk, 1), context.train(chunk)))


@check(needs_models)
def separate_gradients_agree_with_shared(context: CheckContext) -> Deviation:
    """A linear model of two outputs learns the same weights with shared and with separate gradients."""
    skip_if(not is_linear(context) or context.variant.outputs != 2, "it compares linear models of two outputs")
    counts = {s.name for s in context.method.settings if isinstance(s.type, Integer)}
    skip_if(counts & set(context.variant.settings), "a limit on gradients means something else for separate gradients")
    chunk, name = context.rows(), context.method.state.weights
    shared = np.asarray(context.train(chunk).array(name))
    separate = np.asarray(_train_explicit(context, chunk, 2).array(name))
    return context.compare(chunk, (separate.reshape(shared.shape), shared), of=name)


def is_linear(context: CheckContext) -> bool:
    """Whether rows are learned by the linear model, without a transition for each."""
    return context.variant.model is LINEAR and not context.variant.time_varying


def skip_if_not_linear(context: CheckContext) -> None:
    """Raise NotApplicable unless rows are learned by the linear model, without a transition for each."""
    skip_if(not is_linear(context), "the model is not linear in the features, or varies with the rows")


def _train_explicit(context: CheckContext, chunk: Chunk, outputs: int) -> Any:
    """A learner that has learned the rows with the model EXPLICIT_LINEAR."""
    other = replace(context, variant=Variant(context.variant.settings, EXPLICIT_LINEAR, outputs))
    y = None if chunk.y is None else chunk.y.reshape(-1, outputs)
    return other.train(chunk._replace(y=y))
