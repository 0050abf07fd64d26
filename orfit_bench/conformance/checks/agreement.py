"""The same numbers by other roads: the reference backend, the batch problem, the linear model as any other."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from orfit_bench.conformance.check import Gap, Inapplicable, check, unless, worst
from orfit_bench.conformance.rows import Chunk
from orfit_bench.conformance.trial import Trial
from orfit_bench.conformance.variants import Variant
from orfit_bench.spec import LINEAR, Integer, Model

STOPS = (0, 1, 2, 3, 5, 8, 13, 24)


def _each_output_alone(w: Any, x: Any) -> Any:
    """(c, d c): x at the places of an output's own weights, of w (d, c) flattened."""
    c = len(w) // len(x)
    return (x[None, :, None] * x.__array_namespace__().eye(c, dtype=w.dtype)[:, None, :]).reshape(c, -1)


LINE = Model(
    "line",
    predict=lambda w, X: X @ w.reshape(X.shape[1], -1),
    jacobian=_each_output_alone,
    parameters=lambda d, c: d * c,
    start=lambda draw, d, c: np.zeros(d * c),
)
"""The linear model as a user would write it: its rows go through the kernel's `update`, an output a gradient."""


def needs_reference(trial: Trial) -> str:
    """There must be another backend to agree with."""
    return trial.reference_lacks


def needs_batch_solution(trial: Trial) -> str:
    """The method must declare what its weights solve."""
    if trial.method.theory.batch is None or not trial.method.traits.supervised:
        return "the method declares no batch problem for its weights"
    return ""


def needs_inverse_information(trial: Trial) -> str:
    """The method must declare which field is an inverse information."""
    return "" if trial.method.theory.inverse_gram else "the method declares no inverse information"


def needs_models(trial: Trial) -> str:
    """Only kernels with `update` learn models."""
    return "" if trial.can("models") else "it learns no other model than the linear one"


@check(needs_reference)
def agrees_with_reference(trial: Trial) -> Gap:
    """Every prediction before a step, and the state after every few rows, are those of the reference backend."""
    chunk, truth = trial.rows(), trial.truth
    mine, other = trial.create(), truth.create()
    gaps = []
    for lo, hi in pairwise(STOPS):
        told = [t.learn(learner, chunk.cut(lo, hi)) for t, learner in ((trial, mine), (truth, other))]
        gaps.append(trial.gap(chunk.cut(0, hi), (mine, other), (told[0], told[1]), of=f"after row {hi}:"))
    return worst(gaps)


@check(needs_batch_solution)
def agrees_with_batch_solution(trial: Trial) -> Gap:
    """The weights after the last row solve the batch problem that the method declares, whole steps learned."""
    unless(trial.variant.model is not LINEAR or trial.variant.along, "it speaks of linear models at rest")
    gaps = [gap for n, d in ((24, 5), (12, 15), (2, 5)) if (gap := _from_batch(trial, n, d))]
    unless(not gaps, "the batch problem does not cover these settings")
    return worst(gaps)


def _from_batch(trial: Trial, n: int, d: int) -> Gap | None:
    chunk = trial.rows(n=trial.batch_size * max(1, n // trial.batch_size), d=d)
    learner, batch = trial.learned(chunk), trial.method.theory.batch
    Y = trial.targets(learner, chunk)
    assert batch
    want = batch(np.asarray(chunk.X, float), Y, trial.first_weights(learner, chunk), learner.settings)
    if want is None:
        return None
    got = learner.state()[trial.method.state.weights].values
    said = f"{trial.method.state.weights} after {n} rows of {d}"
    return trial.gap(chunk, (np.asarray(got), np.asarray(want).reshape(got.shape)), of=said)


@check(needs_inverse_information)
def agrees_with_inverse_information(trial: Trial) -> Gap:
    """The inverse information that is carried along is the inverse of the information of all rows."""
    chunk = trial.rows()
    gap = from_information(trial, trial.learned(chunk), chunk)
    if gap is None:
        raise Inapplicable("the information does not cover this")
    return gap


def from_information(trial: Trial, learner: Any, chunk: Chunk) -> Gap | None:
    """How far the inverse information is from its declaration; None where that does not speak of these settings."""
    if not trial.method.theory.inverse_gram or trial.variant.model is not LINEAR or trial.variant.along:
        return None
    name, rows = trial.method.theory.inverse_gram
    X = np.asarray(chunk.X, float)
    A = rows(X[~np.isnan(trial.targets(learner, chunk)).any(axis=1)], learner.settings)
    if A is None or name not in learner.state():
        return None
    half = np.linalg.inv(np.linalg.qr(np.asarray(A), mode="r"))
    return trial.gap(chunk, (np.asarray(learner.state()[name].values), half @ half.T), of=name)


@check(needs_models)
def linear_model_agrees_with_rows(trial: Trial) -> Gap:
    """Rows handed over as gradients and errors of a model that happens to be linear change the state as rows do."""
    linear = trial.variant.model is LINEAR and not trial.variant.outputs and not trial.variant.along
    unless(not linear, "it compares linear models of one output")
    chunk, mine = trial.rows(), trial.learned(trial.rows())
    return trial.gap(chunk, (_as_model(trial, chunk, 1), mine))


@check(needs_models)
def separate_gradients_agree_with_shared(trial: Trial) -> Gap:
    """A linear model of two outputs fits the same weights whether its outputs share gradients or have their own."""
    linear = trial.variant.model is LINEAR and trial.variant.outputs == 2 and not trial.variant.along
    unless(not linear, "it compares linear models of two outputs")
    counts = [s.name for s in trial.method.settings if isinstance(s.type, Integer)]
    unless(
        set(counts) & set(trial.variant.settings),
        "what is counted in gradients is more with gradients of their own",
    )
    chunk, name = trial.rows(), trial.method.state.weights
    shared = np.asarray(trial.learned(chunk).state()[name].values)
    own = np.asarray(_as_model(trial, chunk, 2).state()[name].values)
    return trial.gap(chunk, (own.reshape(shared.shape), shared), of=name)


def _as_model(trial: Trial, chunk: Chunk, outputs: int) -> Any:
    """A learner of the rows through the model LINE."""
    other = replace(trial, variant=Variant(trial.variant.settings, LINE, outputs))
    y = None if chunk.y is None else chunk.y.reshape(-1, outputs)
    return other.learned(chunk._replace(y=y))
