"""Streams of every shape."""

from __future__ import annotations

from dataclasses import replace

from orfit_bench.conformance.check import Gap, check
from orfit_bench.conformance.checks.numbers import settles
from orfit_bench.conformance.trial import Trial
from orfit_bench.conformance.variants import smallest


@check()
def one_row(trial: Trial) -> Gap:
    """A stream of one row is learned."""
    return settles(trial, trial.rows(n=1))


@check()
def one_feature(trial: Trial) -> Gap:
    """Rows of one feature are learned, by as few components as there may be."""
    few = {name: value for name, value in smallest(trial.method).items() if name != "batch_size"}
    narrow = replace(trial, variant=replace(trial.variant, settings={**trial.variant.settings, **few}))
    return settles(narrow, narrow.rows(d=1))


@check()
def more_features_than_rows(trial: Trial) -> Gap:
    """Fewer rows than features, which leave some directions unseen, are learned."""
    return settles(trial, trial.rows(n=7, d=12))


@check()
def more_rows_than_features(trial: Trial) -> Gap:
    """Many more rows than features, which fill every memory, are learned."""
    return settles(trial, trial.rows(n=60, d=4))
