"""Streams of every shape."""

from __future__ import annotations

from orfit_bench.conformance.acceptance import assert_learns
from orfit_bench.conformance.check import Deviation, check, skip_if
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.variants import smallest_counts


@check()
def one_row(context: CheckContext) -> Deviation:
    """A stream of one row is learned."""
    return assert_learns(context, context.rows(n=1))


@check()
def one_feature(context: CheckContext) -> Deviation:
    """Rows of one feature are learned, with as few components as possible."""
    few = {name: value for name, value in smallest_counts(context.method).items() if name != "batch_size"}
    narrow = context.with_settings(**few)
    skip_if(narrow.lacking, narrow.lacking)
    return assert_learns(narrow, narrow.rows(d=1))


@check()
def more_features_than_rows(context: CheckContext) -> Deviation:
    """Fewer rows than features are learned, although some directions are never observed."""
    return assert_learns(context, context.rows(n=7, d=12))


@check()
def more_rows_than_features(context: CheckContext) -> Deviation:
    """Many more rows than features are learned, even if they fill a memory."""
    return assert_learns(context, context.rows(n=60, d=4))
