"""Merging and averaging, as the method declares them."""

from __future__ import annotations

import warnings
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np

from orfit_bench.conformance.acceptance import ensure_finite
from orfit_bench.conformance.causes import is_raised_on_purpose
from orfit_bench.conformance.check import Deviation, check, ensure, ensure_raises, skip_if, worst
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import host_arrays_of, layout_of, state_of
from orfit_bench.conformance.rows import Array, Chunk, frozen
from orfit_bench.errors import AccuracyWarning, DivergedError
from orfit_bench.learners.averaging import average
from orfit_bench.spec import LINEAR
from orfit_bench.spec.law import to_numpy64

TURNS = ((0, 1, 2), (1, 2, 0), (2, 0, 1))
"""Orders of three learners: the second and the third are each merged into the first."""

MIXTURE = "the weights of predictions, a mean of those of both learners"

COUNTS = ((1, 3), (0, 2), (2, 2))
"""Numbers of rows with which two learners are averaged."""


def needs_merge(context: CheckContext) -> str:
    """The method must declare a rule for merging."""
    return "" if context.method.combine.merge else "the method declares no rule for merging"


def needs_average(context: CheckContext) -> str:
    """The method must declare which fields are averaged."""
    return "" if context.method.combine.averages else "the method declares no average"


def merges_by_default(context: CheckContext, learner: Any) -> bool:
    """Whether the settings are the defaults and the learner can be merged; other settings may lack precision."""
    rule, linear = context.method.combine.merge, context.variant.model is LINEAR
    return bool(rule and not context.variant.settings and not rule.refuses(learner.settings, linear))


def train_two(context: CheckContext) -> tuple[Any, Any]:
    """Two learners of parts of a stream, without pending rows; with the same start only for an exact merge."""
    rule = context.method.combine.merge
    refusal = rule.refuses(context.create().settings, context.variant.model is LINEAR) if rule else ""
    skip_if(refusal, refusal)
    skip_if(context.variant.time_varying, "filters with a transition that varies with the rows cannot be merged")
    chunk = context.rows(n=12 * context.batch_size)
    cut = 4 * context.batch_size
    seed = context.seed + int(rule is not None and rule.kind != "exact")
    return context.train(chunk.cut(0, cut)), context.train(chunk.cut(cut, len(chunk.X)), random_state=seed)


def merge_or_skip(context: CheckContext, one: Any, other: Any) -> Any:
    """Merge; with settings other than the defaults, the rule can refuse for lack of precision by a ValueError."""
    try:
        return one.merge(other)
    except ValueError as error:
        skip_if(context.variant.settings and is_raised_on_purpose(error.__cause__ or error), str(error))
        raise


@check(needs_merge, numbers="any")
def merges_as_declared(context: CheckContext) -> Deviation | None:
    """An exact merge equals learning all rows of any size; an averaged merge is the mean weighted by rows.

    Every merge is finite.
    """
    one, other = train_two(context)
    chunk = context.rows(n=12 * context.batch_size)
    parts = [one.copy(), other.copy()]
    rows = one.n_samples_seen_ + other.n_samples_seen_
    merged = merge_or_skip(context, one, other)
    ensure(merged.n_samples_seen_ == rows, f"{merged.n_samples_seen_} rows seen, want {rows}")
    ensure_finite(context, merged, chunk)
    if context.method.traits.labels:
        merged.copy().learn_one(chunk.X[0], merged.classes_[-1])  # the merge may have changed the shape of fields
    kind = context.method.combine.merge.kind if context.method.combine.merge else ""
    if kind == "exact":
        pairs = [(merged, context.train(chunk)), *merged_small_rows(context, chunk)]
        return worst([context.compare(chunk, *pairs), *merged_classes(context, chunk)])
    if kind == "averaged":
        return worst(_deviations_from_means(context, chunk, merged, parts))
    return None


def _deviations_from_means(context: CheckContext, chunk: Chunk, merged: Any, parts: list[Any]) -> list[Deviation]:
    """The deviations of the weights from their mean over rows, and of those of predictions from the nearest mean."""
    name = "basis" if not context.method.traits.supervised else context.method.state.weights
    rows, classes = [part.n_samples_seen_ for part in parts], [getattr(part, "classes_", ()) for part in parts]
    learned, shown = (
        [_columns(context, weights(part), own, merged) for part, own in zip(parts, classes, strict=True)]
        for weights in (lambda part: part.array(name), _weights_of_predictions)
    )
    found = _weights_of_predictions(merged)
    deviations = [context.compare(chunk, (merged.array(name), np.average(learned, axis=0, weights=rows)), of=name)]
    if all(_predicts_with_a_field(one) for one in (merged, *parts)):  # not with a nonlinear function of averages
        deviations.append(context.compare(chunk, (found, _nearest_mixture(shown[0], shown[1], found)), of=MIXTURE))
    return deviations


def _predicts_with_a_field(learner: Any) -> bool:
    """Whether the weights of predictions are a field of the state."""
    shown = _weights_of_predictions(learner)
    return any(np.array_equal(shown, a) for a in host_arrays_of(learner).values())


def _weights_of_predictions(learner: Any) -> Array:
    """The weights with which a learner predicts; the basis of a subspace."""
    if not learner.method.traits.supervised:
        return np.asarray(learner.array("basis"))
    return np.array(learner.backend.asnumpy(learner.rule.prediction_weights(state_of(learner))))


def _nearest_mixture(one: Array, other: Array, merged: Array) -> Array:
    """The weighted mean of two arrays, with any weights of at least zero, that is nearest to the merged one."""
    difference, size = one - other, float(np.linalg.norm(one - other))
    share = float(np.vdot(difference, merged - other).real) / size**2 if size else 0.0
    return np.asarray(other + min(1.0, max(0.0, share)) * difference)


def merged_classes(context: CheckContext, chunk: Chunk) -> list[Deviation]:
    """The deviation of an exact merge, of parts of which only the second has a second class, from learning all rows."""
    if not context.method.traits.labels:
        return []
    cut, n = 4 * context.batch_size, len(chunk.X)
    rows = chunk._replace(y=frozen(np.array(["a"] * cut + ["b", "a"] * n)[:n]))
    merged = merge_or_skip(context, context.train(rows.cut(0, cut)), context.train(rows.cut(cut, n)))
    return [context.compare(rows, (merged, context.train(rows)), of="with a class that one has not seen:")]


def merged_small_rows(context: CheckContext, chunk: Chunk) -> list[tuple[Any, Any]]:
    """The predictions after an exact merge of parts of the chunk, and after all rows, as a pair to compare.

    The rows are so small that their information is rounding compared with a prior. There is no pair if a method refuses
    them or warns of lost digits.
    """
    small = chunk.scale_rows(-(int(np.finfo(context.dtype).nmant) // 2 + 2))
    cut = 4 * context.batch_size
    if not context.accepts(small):
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", AccuracyWarning)
            one, other = context.train(small.cut(0, cut)), context.train(small.cut(cut, len(small.X)))
            found = (context.predict(learner, chunk.X) for learner in (one.merge(other), context.train(small)))
            return [tuple(map(to_numpy64, found))]
    except (ValueError, DivergedError, AccuracyWarning):
        return []


@check(needs_merge, all_variants=False)
def merge_uses_every_field(context: CheckContext) -> None:
    """With default settings, every field that differs between two learners affects their merge."""
    learners = [context.train(part) for part in _parts_of_unlike_lengths(context)]
    own = [host_arrays_of(learner) for learner in learners]
    merged = {(i, j): host_arrays_of(learners[i].copy().merge(learners[j])) for i, j in permutations(range(3), 2)}
    for name in (f.name for f in layout_of(learners[0]).fields if f.compared == "entries"):
        turns = [(i, j, k) for i, j, k in TURNS if not np.array_equal(own[j][name], own[k][name])]
        ensure(  # at least in one order: the labels of the first learner can hide those of the others
            not turns or any(not np.array_equal(merged[i, j][name], merged[i, k][name]) for i, j, k in turns),
            f"{name} does not depend on the learner that is merged: let the merge rule return {name!r}, or let "
            "combine.derive compute it",
        )


def _parts_of_unlike_lengths(context: CheckContext) -> list[Chunk]:
    """Three parts of a stream, of 3, 4 and 5 steps; each begins with all classes, if there are classes."""
    B = context.batch_size
    chunk, first, parts = context.rows(n=12 * B, d=40), 0, []  # with fewer features a basis can be full
    for steps in (3, 4, 5):
        parts.append(with_all_classes(context, chunk.cut(first, first + steps * B), chunk))
        first += steps * B
    return parts


def with_all_classes(context: CheckContext, part: Chunk, chunk: Chunk) -> Chunk:
    """A part of a chunk whose first rows have all classes of the chunk, if there are classes."""
    if not context.method.traits.labels:
        return part
    y, classes = np.array(part.y), np.unique(np.asarray(chunk.y))
    y[: len(classes)] = classes
    return part._replace(y=frozen(y))


def _columns(context: CheckContext, weights: Any, classes: Any, merged: Any) -> Array:
    """The weights with the columns of the merged learner's classes, zero for unknown classes."""
    own: Array = to_numpy64(weights)
    if not len(classes):
        return own
    model = context.variant.model
    if model.with_outputs:
        place = {label: i for i, label in enumerate(classes.tolist())}
        source = [place.get(label, -1) for label in merged.classes_.tolist()]
        return np.asarray(model.with_outputs(own[:, 0], merged.n_features_in_, source))[:, None]
    wide, known = np.zeros((len(own), len(merged.classes_))), merged.classes_.tolist()
    wide[:, [known.index(label) for label in classes.tolist()]] = own
    return wide


@check(needs_merge, numbers="any")
def merge_leaves_other_unchanged(context: CheckContext) -> None:
    """The learner that is merged into another stays unchanged, bit by bit, and does not share memory with it."""
    one, other = train_two(context)
    before = other.copy()
    merge_or_skip(context, one, other)
    context.ensure_identical(other, before, "after the merge, the other learner")
    context.learn(one, context.rows())
    context.ensure_identical(other, before, "after the merged learner learned more rows, the other learner")


@check(needs_average, numbers="any")
def averages_as_declared(context: CheckContext) -> Deviation:
    """`average` gives every learner the mean of the declared fields, and changes no other field.

    Numbers of rows, if given, are the weights of the mean.
    Afterwards only fields without dimensions can differ: each array is averaged, or derived from averaged ones.
    """
    chunk, size = context.rows(n=12 * context.batch_size), 4 * context.batch_size
    parts = [context.train(with_all_classes(context, chunk.cut(lo, lo + size), chunk)) for lo in (0, size)]
    fields = [{name: to_numpy64(a) for name, a in host_arrays_of(p).items()} for p in parts]
    expected = _declared_mean(context, fields, parts[0].settings, (1, 1))
    copies = [[learner.copy() for learner in parts] for _ in COUNTS]
    average(parts)
    for learner in parts:
        ensure_finite(context, learner, chunk)
    average(parts[:1])  # a single learner is its own mean
    for rows in ((-1, 2), (0, 0)):
        ensure_raises(partial(average, parts, rows=rows), ValueError, f"an average by rows={rows}", "rows=")
    pairs = []
    for learners, rows in zip(copies, COUNTS, strict=True):
        average(iter(learners), rows=rows)
        means = _declared_mean(context, fields, parts[0].settings, rows)
        pairs += [(to_numpy64(host_arrays_of(a)[n]), mean) for a in learners for n, mean in means.items()]
    for learner, own in zip(parts, fields, strict=True):
        after, want = host_arrays_of(learner), own | expected
        pairs += [(to_numpy64(after[n]), want[n]) for n in want]
    one, other = map(host_arrays_of, parts)
    arrays = [f.name for f in layout_of(parts[0]).fields if f.dims]
    unequal = [n for n in arrays if n not in expected and not np.array_equal(one[n], other[n])]
    ensure(
        not unequal,
        f"averaged learners still differ in {', '.join(unequal)}: name every array in Combine.averages, or let "
        "Combine.derive compute it",
    )
    pairs += [(to_numpy64(one[n]), to_numpy64(other[n])) for n in arrays]
    return context.compare(chunk, *pairs, of="an average")


def _declared_mean(
    context: CheckContext, fields: list[dict[str, Any]], settings: Any, rows: tuple[int, int]
) -> dict[str, Any]:
    """The averaged fields, and those derived from them, of learners with these fields and numbers of rows."""
    combine, means = context.method.combine, dict[str, Any]()
    for name in (n for n in combine.averages if n in fields[0]):
        weights = [float(n) for n in rows]
        if name in combine.average_weights.values():
            weights = [1.0] * len(fields)
        if name in combine.average_weights:
            weights = [float(own[combine.average_weights[name]].real) for own in fields]
        values = [own[name] for own in fields]
        means[name] = np.average(values, axis=0, weights=weights) if sum(weights) else values[0]
    return means | (dict(combine.derive(fields[0] | means, settings)) if combine.derive else {})
