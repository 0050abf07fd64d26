"""Whether laws or a batch solution would notice wrong numbers, and whether a learner learns at all."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from orfit_bench.conformance.check import Deviation, NotApplicable, Note, Unproven, check, ensure
from orfit_bench.conformance.checks.agreement import agrees_with_batch_solution, needs_batch_solution
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.data_sets import data_sets_of
from orfit_bench.conformance.inspection import layout_of, with_kernel
from orfit_bench.conformance.laws import LawCase, cases, measure_law
from orfit_bench.conformance.rows import Chunk, frozen
from orfit_bench.conformance.variants import variants
from orfit_bench.conformance.wrong_kernels import LONG, WrongKernel, factors, with_larger_predictions
from orfit_bench.errors import DivergedError, LackingError
from orfit_bench.learners.factory import create

N_EASY, D_EASY = 400, 5
"""Numbers of rows and features of the easy stream."""
Wrong = Callable[[Any], WrongKernel]
"""Makes a wrong kernel from a right one."""
Accepts = Callable[[CheckContext, Wrong], bool]
"""Whether a test accepts the learners of the context with wrong kernels."""


@check(all_variants=False, once=True)
def wrong_numbers_are_noticed(context: CheckContext) -> Note | None:
    """Laws or the batch solution reject learners that do not learn, step the wrong way or half as far, or 1 % off."""
    tests = evidence(context)
    if not tests:
        raise Unproven("the method declares neither a law nor a batch solution, so nothing would notice wrong numbers")
    rejected = _rejections(tests, context)
    if missed := [wrong for wrong in factors(context.method) if not any(wrong in found for found in rejected.values())]:
        raise Unproven(
            f"{', '.join(tests)} {'accepts' if len(tests) == 1 else 'accept'} a learner that "
            f"{' and one that '.join(missed)}: declare a law that compares its numbers with another computation"
        )
    vacuous = [name for name, found in rejected.items() if not found]
    if not vacuous:
        return None
    wrong = "; ".join(factors(context.method))
    return Note(
        f"a law that accepts every wrong learner ({wrong}) proves nothing about its steps: {', '.join(vacuous)}"
    )


def _rejections(tests: Mapping[str, Accepts], context: CheckContext) -> dict[str, list[str]]:
    """The wrong learners that each test rejects. Decided cases are not tried again.

    A test of a feature that the kernel lacks shows nothing and is left out.
    """
    rejected: dict[str, list[str]] = {name: [] for name in tests}
    for wrong, factor in factors(context.method).items():
        noticed = False
        for name in list(rejected):
            if noticed and rejected[name]:
                continue
            try:
                accepted = tests[name](context, _wrong(context, factor))
            except LackingError:
                del rejected[name]
                continue
            if not accepted:
                rejected[name].append(wrong)
                noticed = True
    return rejected


def evidence(context: CheckContext) -> Mapping[str, Accepts]:
    """The laws and the batch solution of a method, each as a test of wrong learners."""
    known = [case for case in cases(context.method.name) if not case.absence(context.backend.name)]
    found: dict[str, Accepts] = {f"law_{case.law.name}": partial(_law_accepts, case) for case in known}
    return found if needs_batch_solution(context) else {**found, "the batch solution": _batch_solution_accepts}


def _law_accepts(case: LawCase, context: CheckContext, wrong: Wrong) -> bool:
    return _law_holds(case, context, lambda learner: with_kernel(learner, wrong))


def _law_holds(case: LawCase, context: CheckContext, change: Callable[[Any], Any]) -> bool:
    """Whether a law holds on all of its data sets for changed learners of the method."""

    def make(name: str, **settings: Any) -> Any:
        learner = create(name, **settings)
        return change(learner) if name == context.method.name else learner

    def holds(data_set: str) -> bool:
        found = measure_law(case, data_set, context.backend.name, context.dtype, context.seed, make)
        return bool(found.inconclusive) or found.holds

    return all(_accepts(partial(holds, name)) for name in data_sets_of(case.law))


def _batch_solution_accepts(context: CheckContext, wrong: Wrong) -> bool:
    def holds() -> bool:
        found = agrees_with_batch_solution(replace(context, wrap=wrong))
        return isinstance(found, Deviation) and found.holds

    return _accepts(holds)


def _wrong(context: CheckContext, factor: float, *fields: str) -> Wrong:
    return partial(WrongKernel, method=context.method, xp=context.backend.namespace(), factor=factor, fields=fields)


def _accepts(holds: Callable[[], bool]) -> bool:
    """Whether a test passes. Any error that it raises for impossible numbers counts as a rejection.

    A step refused by the learner itself shows nothing about the test. LackingError is passed on.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return holds()
        except LackingError:
            raise
        except (NotApplicable, DivergedError):
            return True
        except Exception:
            return False


# ---------------------------------------------------------------------- predictions by other fields than the weights


def needs_other_predictions(context: CheckContext) -> str:
    """Predictions must not be those of a model at the weights at which gradients are computed."""
    other = context.method.state.prediction_weights or _predicts_numbers(context)
    return "" if other else "predictions use the weights, which another check tries"


def _predicts_numbers(context: CheckContext) -> bool:
    """Whether the method declares how it predicts numbers; labels do not depend on the scale of their scores."""
    return context.method.state.predict is not None and not context.method.traits.labels


@check(needs_other_predictions, all_variants=False, once=True)
def wrong_predictions_are_noticed(context: CheckContext) -> None:
    """Laws or the batch solution reject a learner that changes a field that predictions use by 1 % too much.

    If the method declares `predict`, a law rejects a learner whose predictions are 1 % too large.
    """
    tests = evidence(context)
    if _predicts_numbers(context):
        known = [case for case in cases(context.method.name) if not case.absence(context.backend.name)]
        if all(_accepts_larger_predictions(case, context) for case in known):
            raise Unproven(
                "predictions that are 1 % too large are accepted by every law: declare a law that compares predictions "
                "with another computation"
            )
    for name in _fields_of_predictions(context) if context.method.state.prediction_weights else ():
        (factor,) = LONG.values()
        wrong = _wrong(context, factor, name)
        if all(_accepts(partial(test, context, wrong)) for test in tests.values()):
            raise Unproven(
                f"predictions use {name}, and a learner that changes it by 1 % too much is accepted by "
                f"{', '.join(tests) or 'everything'}: declare a law that compares predictions with another computation"
            )


def _accepts_larger_predictions(case: LawCase, context: CheckContext) -> bool:
    """Whether a law accepts predictions that are 1 % too large; a law of a lacking feature shows nothing."""
    try:
        return _law_holds(case, context, with_larger_predictions)
    except LackingError:
        return True


def _fields_of_predictions(context: CheckContext) -> list[str]:
    """The numeric fields other than the weights on which predictions of some variant depend."""
    found = []
    for variant in variants(context.method):
        one = replace(context, variant=variant)
        if one.lacking or variant.time_varying:
            continue
        chunk = one.rows()
        try:
            learner = one.train(chunk)
        except (DivergedError, ValueError):
            continue
        before = one.predict(learner, chunk.X)
        for field in layout_of(learner).fields:
            if field.name != context.method.state.weights and field.compared != "nothing":
                other = learner.copy()
                array = getattr(other.live_state.arrays, field.name)
                array[...] = array * 1.5
                found += [field.name] if not np.array_equal(one.predict(other, chunk.X), before) else []
    return sorted(set(found))


# ---------------------------------------------------------------------- it learns


@check(all_variants=False)
def learns_an_easy_stream(context: CheckContext) -> None:
    """With default settings, a learner predicts new rows better after an easy stream than before it."""
    axes = range(1 if context.method.traits.supervised else D_EASY)  # a basis may start near some axes by chance
    before, after = np.mean([_errors_before_and_after(context, easy_rows(context, axis)) for axis in axes], axis=0)
    ensure(after < before, f"the error on new rows is {after:.3g}, and was {before:.3g} before learning")


def _errors_before_and_after(context: CheckContext, chunk: Chunk) -> tuple[float, float]:
    """The errors on the second half of the rows, before and after the first half is learned."""
    seen, new = chunk.cut(0, N_EASY // 2), chunk.cut(N_EASY // 2, N_EASY)
    learner = context.initialize(seen.cut(0, 1))
    context.learn(learner, seen.cut(0, 1) if context.method.traits.labels else seen.cut(0, 0))
    before = _error(context, learner, new)
    context.learn(learner, seen)
    context.flush(learner)
    return before, _error(context, learner, new)


def easy_rows(context: CheckContext, axis: int) -> Chunk:
    """Standardized rows: a constant feature determines most of the target; a subspace has this axis and the next."""
    rng = np.random.default_rng([context.seed, N_EASY])
    X = rng.standard_normal((N_EASY, D_EASY))
    if not context.method.traits.supervised:
        X[:, [axis, (axis + 1) % D_EASY]] *= 5
        return Chunk(frozen(X.astype(context.dtype)), None, {})
    X[:, 0] = 1
    y: Any = X @ np.array([3.0, 0.5, -0.5, 0.5, -0.5])
    if context.method.traits.labels:
        y = np.where(X[:, 1] < 0, "a", "b")
    else:
        y = (y if context.accepts(Chunk(X, y, {})) else np.where(y < 0, -1.0, 1.0)).astype(context.dtype)
    return Chunk(frozen(X.astype(context.dtype)), frozen(y), {})


def _error(context: CheckContext, learner: Any, chunk: Chunk) -> float:
    """The share of wrong labels or signs, the mean squared error, or the mean squared distance from the subspace."""
    if context.method.traits.labels:
        return float(np.mean(learner.predict(chunk.X) != chunk.y))
    if chunk.y is not None and not chunk.has_any_numbers and not context.accepts(chunk._replace(y=2 * chunk.y)):
        return float(np.mean(np.sign(context.predict(learner, chunk.X)) != np.sign(chunk.y)))
    expected = chunk.X if chunk.y is None else chunk.y
    with np.errstate(over="ignore"):
        return float(np.mean((context.predict(learner, chunk.X) - expected) ** 2))
