"""Chunks and steps: how a stream is cut decides nothing."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from orfit_bench.conformance.check import Gap, check, require, unless
from orfit_bench.conformance.trial import Trial

CUTS = (0, 0, 1, 2, 7, 7, 8, 20, 24)


def needs_blocks(trial: Trial) -> str:
    """Only methods with a block rule take several rows as one step."""
    return "" if trial.can("blocks") else "it learns row by row and has no rule for a block"


def needs_predictions(trial: Trial) -> str:
    """A subspace predicts nothing."""
    return "it learns a subspace and predicts nothing" if not trial.method.traits.supervised else ""


def needs_batch_size(trial: Trial) -> str:
    """Only methods with a setting batch_size make rows wait."""
    has = any(s.name == "batch_size" for s in trial.method.settings)
    return needs_blocks(trial) if has else "it has no setting batch_size"


@check()
def any_chunking(trial: Trial) -> Gap:
    """A stream cut anywhere, into chunks of no rows and of one too, gives the state and predictions of the whole."""
    chunk = trial.rows()
    whole, cut = trial.create(), trial.create()
    told = trial.learn(whole, chunk)
    parts = [trial.learn(cut, chunk.cut(lo, hi)) for lo, hi in pairwise(CUTS)]
    return trial.gap(chunk, (cut, whole), (trial.joined(parts), told))


@check()
def row_by_row(trial: Trial) -> Gap:
    """A stream fed one row a call gives the state and predictions of the whole."""
    chunk = trial.rows()
    whole, cut = trial.create(), trial.create()
    told = trial.learn(whole, chunk)
    parts = [trial.learn(cut, chunk.cut(i, i + 1)) for i in range(len(chunk.X))]
    return trial.gap(chunk, (cut, whole), (trial.joined(parts), told))


@check()
def empty_chunk_changes_nothing(trial: Trial) -> None:
    """Learning no rows leaves a learner as it was, to the bit."""
    chunk = trial.rows()
    learner = trial.learned(chunk.cut(0, 5))
    before = learner.copy()
    trial.learn(learner, chunk.cut(5, 5))
    trial.same(learner, before, "after a chunk of no rows")


@check(needs_predictions)
def predicts_before_each_step(trial: Trial) -> Gap:
    """`prequential` returns what `predict` says just before each step, and learns what `partial_fit` learns."""
    chunk = trial.rows()
    whole, alone, silent = trial.create(), trial.begun(chunk), trial.create()
    told = trial.learn(whole, chunk)
    said = []
    for i in range(len(chunk.X)):
        row = chunk.cut(i, i + 1)
        said.append(trial.forecast(alone, row))
        trial.learn(alone, row)
    silent.partial_fit(chunk.X, chunk.y, **chunk.along)
    return trial.gap(chunk, (told, trial.joined(said)), (silent, whole))


@check(needs_blocks)
def batch_is_one_step(trial: Trial) -> Gap:
    """`partial_fit` of batch_size rows (one, without that setting) changes the state as `step` of these rows does."""
    unless(trial.variant.along, "a step takes no motion for each row")
    B = trial.batch_size
    chunk = trial.rows(n=4 * B)
    rows, steps = trial.learned(chunk), trial.begun(chunk)
    for i in range(0, len(chunk.X), B):
        trial.step(steps, chunk.cut(i, i + B))
    return trial.gap(chunk, (steps, rows))


@check(needs_batch_size)
def incomplete_batch_is_pending(trial: Trial) -> Gap:
    """Rows short of a batch wait, count as seen, are ignored by predictions, and are one shorter step on `flush`."""
    B = trial.batch_size
    unless(B == 1, "every row is a batch")
    chunk = trial.rows(n=3 * B - 1)
    learner, whole = trial.learned(chunk), trial.learned(chunk.cut(0, 2 * B))
    require(learner.pending == B - 1, f"{learner.pending} rows wait, want {B - 1}")
    require(learner.n_samples_seen_ == len(chunk.X), f"{learner.n_samples_seen_} rows seen, want {len(chunk.X)}")
    same = np.array_equal(trial.ask(learner, chunk.X), trial.ask(whole, chunk.X))
    require(same, "predictions depend on rows that wait")
    learner.flush()
    require(learner.pending == 0, f"{learner.pending} rows wait after a flush")
    trial.step(whole, chunk.cut(2 * B, 3 * B - 1))
    return trial.gap(chunk, (learner, whole))
