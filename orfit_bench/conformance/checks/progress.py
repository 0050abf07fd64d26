"""Progress: on a repeated row, on rows of any scale, and after very many steps."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from orfit_bench.conformance.acceptance import ensure_finite_state, rows_until_refusal
from orfit_bench.conformance.check import Deviation, check, ensure
from orfit_bench.conformance.checks.equivariance import needs_linear_model
from orfit_bench.conformance.checks.state import needs_derived_fields
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import host_arrays_of, learned_fields
from orfit_bench.conformance.rows import ROWS, Chunk
from orfit_bench.learners.restoring import restore
from orfit_bench.spec.law import to_numpy64

COPIES = 12
"""Number of times that the same row is learned."""
HALF = ROWS // 2
MANY_STEPS = 2**40
"""More steps than any stream of the kit has, and than fit into a 32-bit integer."""


def needs_telling_rows(context: CheckContext) -> str:
    """A single row must carry information."""
    return "one class alone may be certain" if context.method.traits.labels else ""


@check(needs_telling_rows, all_variants=False)
def the_same_row_is_approached(context: CheckContext) -> None:
    """The error of a row is smaller after learning it twelve times in one call than after once, or almost zero.

    A method can leave out a row that it knows, but then also in twelve calls.
    """
    row = context.rows(n=1)
    row = row.with_rows(0.5 * row.X / np.linalg.norm(row.X))
    often = row.repeat(COPIES)
    learners = context.initialize(row), context.train(row), context.train(often)
    before, once, after = (_error(context, learner, row) for learner in learners)
    errors = f"{before:.1e} at the start, {once:.1e} after learning it once, {after:.1e} after {COPIES} times"
    ensure(after < before, f"the error of a row does not become smaller: {errors}")
    if after >= once and after > 0.01 * before:
        several = context.train(row)
        for _ in range(COPIES - 1):
            context.learn(several, row)
        ensure(_error(context, several, row) == once, f"the error of a row does not become smaller: {errors}")


def _error(context: CheckContext, learner: Any, row: Chunk) -> float:
    """The distance of a prediction from the target, or of a row from its projection."""
    found = to_numpy64(context.predict(learner, row.X)).reshape(1, -1)
    return float(np.linalg.norm(found - (row.X if row.y is None else row.y.reshape(1, -1))))


@check(needs_linear_model, all_variants=False)
def rows_of_any_scale_count(context: CheckContext) -> None:
    """Rows and targets of large scale that are not refused change the weights; those of small scale are not refused."""
    chunk = context.rows(d=2 * ROWS)  # so that some directions remain unobserved
    first, rest = chunk.cut(0, HALF), chunk.cut(HALF, ROWS)
    exponent = np.finfo(context.dtype).maxexp
    for what, powers in (
        ("rows", (-exponent + 8, -exponent // 2 - 8, exponent // 4, exponent // 2 + 8, exponent - 8)),
        ("targets", (-exponent // 4, exponent // 4, exponent // 2 + 8)),
    ):
        for power in powers if what == "rows" or context.method.traits.numbers else ():
            scaled = rest.scale_rows(power) if what == "rows" else rest.scale_targets(power)
            if not context.accepts(scaled):
                continue
            learner = context.train(first)
            before = _weights(learner)
            n = rows_until_refusal(context, learner, scaled)
            ensure_finite_state(learner, f"{what} of scale 2^{power}")
            ensure(n == len(rest.X) or power > 0, f"{what} of scale 2^{power} are refused from row {n} on: {SMALL}")
            counts = n < len(rest.X) or power < 0 or _weights(learner) != before
            ensure(counts, f"{what} of scale 2^{power} are learned, but change nothing")


SMALL = "learn them, or leave the state as it is, for example by dividing a row by its largest entry before squaring"
"""Advice for kernels that refuse small numbers."""


def _weights(learner: Any) -> bytes:
    """The bytes of the weights, or of the basis, or, if there are neither, of all fields."""
    fields = host_arrays_of(learner)
    return b"".join(fields[name].tobytes() for name in learned_fields(learner))


def _after_many_steps(context: CheckContext, chunk: Chunk) -> Any:
    """A learner of the rows whose state counts very many steps and rows."""
    state = context.train(chunk).state()
    head = json.loads(state.attrs["orfit_bench"])
    head |= {"t": MANY_STEPS, "n_samples_seen": MANY_STEPS * context.batch_size}
    state.attrs["orfit_bench"] = json.dumps(head)
    return restore(state, **context.model)


@check()
def any_number_of_steps_is_possible(context: CheckContext) -> None:
    """A learner whose state counts 2^40 steps learns more rows, and counts them."""
    B = context.batch_size
    chunk = context.rows(n=12 * B)
    learner = _after_many_steps(context, chunk.cut(0, 4 * B))
    context.learn(learner, chunk.cut(4 * B, 12 * B))
    ensure_finite_state(learner, "after 2^40 steps")
    steps = learner.state().attrs["t"] - MANY_STEPS
    ensure(steps == 8, f"{8 * B} rows after 2^40 steps were counted as {steps} steps, want 8")
    rows = learner.n_samples_seen_ - MANY_STEPS * B
    ensure(rows == 8 * B, f"{8 * B} rows after {MANY_STEPS * B} were counted as {rows}")


@check(needs_derived_fields)
def derived_fields_are_right_at_any_step(context: CheckContext) -> Deviation:
    """The derived fields equal those computed from the other fields, also after 2^40 steps.

    A field that every row updates accumulates a rounding error for every row.
    """
    assert context.method.combine.derive
    B = context.batch_size
    chunk = context.rows(n=12 * B)
    learner = _after_many_steps(context, chunk.cut(0, 4 * B))
    context.learn(learner, chunk.cut(4 * B, 12 * B))
    fields = {name: to_numpy64(a) for name, a in host_arrays_of(learner).items()}
    derived = context.method.combine.derive(fields, learner.settings)
    pairs = ((fields[name], np.asarray(a)) for name, a in derived.items())
    found = context.compare(chunk, *pairs, of=", ".join(derived))
    return found._replace(bound=found.bound * len(chunk.X))
