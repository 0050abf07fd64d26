"""Models and transitions that are functions of the user, which no saved state contains."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.conformance.acceptance import calls_that_learn
from orfit_bench.conformance.check import check, ensure, ensure_raises
from orfit_bench.conformance.checks.agreement import needs_models
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.rows import FEATURES
from orfit_bench.learners.restoring import from_bytes, load, restore
from orfit_bench.spec import Model, Transition

Given = Mapping[str, Any]
"""The arguments `model` and `transition` for reading a state."""


class Case(NamedTuple):
    """A trained learner, the functions that it learned with, and other functions, with which reading must fail."""

    learner: Any
    own: Given
    wrong: tuple[Given, ...]


def needs_functions(context: CheckContext) -> str:
    """The kernel must learn models of the user, or transitions that are functions."""
    return "" if _learns_models(context) or _learns_transitions(context) else "it uses no function of the user"


@check(needs_functions, all_variants=False)
def states_are_restored_with_their_functions(context: CheckContext) -> None:
    """A state is restored with the model and the transition that it was learned with, and with no others."""
    for case in _cases(context):
        for _ in range(2):  # parts of bytes are cached, but not the functions
            copied = from_bytes(case.learner.to_bytes(), **case.own)
            _ensure_belongs(context, case, partial(restore, copied.state()))
        _ensure_belongs(context, case, partial(from_bytes, copied.to_bytes()))


@check(needs_functions, all_variants=False)
def files_are_read_with_their_functions(context: CheckContext) -> None:
    """Bytes and files are read with the model and the transition that they were learned with, and with no others."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "state.npz")
        for case in _cases(context):
            case.learner.save(path)
            for read in (partial(from_bytes, case.learner.to_bytes()), partial(load, path)):
                _ensure_belongs(context, case, read)


# ---------------------------------------------------------------------- functions that fail


class Failing:
    """The linear model, given as functions, which fail at a chosen call."""

    def __init__(self, fail: Callable[[Any], Any]) -> None:
        self.left = -1
        """Number of calls until the failing one; if negative, none fails."""
        self._fail = fail

    @property
    def model(self) -> Model:
        """The model."""
        predict, jacobian = (lambda w, X: self._call((X @ w)[:, None])), (lambda w, x: self._call(x[None, ...]))
        return Model("failing", predict, jacobian, FEATURES, _start)

    def _call(self, value: Any) -> Any:
        self.left -= 1
        return self._fail(value) if self.left == 0 else value


@check(needs_models, all_variants=False)
def model_that_raises_changes_nothing(context: CheckContext) -> None:
    """An error that a model raises at any row of a call is passed on, and the learner is unchanged by the call."""

    def fail(value: Any) -> Any:
        raise ZeroDivisionError("the model fails")

    _ensure_unchanged(context, Failing(fail), ZeroDivisionError)
    _ensure_start_refused(context, np.nan)


@check(needs_models, all_variants=False)
def model_of_a_wrong_shape_changes_nothing(context: CheckContext) -> None:
    """A model that returns an array of a wrong shape at any row of a call raises ValueError, and nothing changes."""
    _ensure_unchanged(context, Failing(lambda value: value[..., None]), ValueError)
    _ensure_start_refused(context, np.inf)


def _ensure_start_refused(context: CheckContext, value: float) -> None:
    """A model whose start is not finite must be refused by its name."""
    model = replace(_model("start"), start=lambda draw, d, c: np.full(d, value))
    act = partial(context.train, context.rows(), model=model)
    ensure_raises(act, ValueError, f"a model whose start is {value}", "start of model 'model start'")


def _ensure_unchanged(context: CheckContext, failing: Failing, error: type[Exception]) -> None:
    """Each call that learns, failing early or late, raises the error, changes nothing, and works afterwards."""
    B, chunk = context.batch_size, context.rows()
    learner, rows = context.train(chunk.cut(0, B), model=failing.model), chunk.cut(B, 4 * B)
    for (name, act), calls in product(calls_that_learn(context).items(), (1, 2, 3, 5)):
        tried, want, failing.left = learner.copy(), learner.copy(), calls
        try:
            act(tried, rows)
        except error:
            context.ensure_identical(tried, learner, f"after call {calls} of the model failed in {name}")
        else:
            ensure(failing.left > 0, f"call {calls} of the model failed in {name}, and no error was raised")
            continue  # the model is called less often
        finally:
            failing.left = -1
        for one in (tried, want):
            act(one, rows)
        context.ensure_identical(tried, want, f"learned again, after call {calls} of the model failed in {name}")


def _learns_models(context: CheckContext) -> bool:
    return context.supports("models") and context.method.traits.numbers and not context.method.state.layered


def _learns_transitions(context: CheckContext) -> bool:
    return any(setting.type.kind == "transition" for setting in context.method.settings)


def _cases(context: CheckContext) -> Iterator[Case]:
    """Learners with functions of the user, and one without."""
    chunk, models, motions = context.rows(), [_model(n) for n in "abc"], [_transition(n) for n in "abc"]
    without = [{"model": models[0]}] * _learns_models(context) + [{"transition": motions[0]}]
    yield Case(context.train(chunk), {}, tuple(without))
    given: dict[str, list[Any]] = {"model": models} if _learns_models(context) else {}
    given |= {"transition": motions} if _learns_transitions(context) else {}
    for name, (before, own, after) in given.items():
        yield Case(context.train(chunk, **{name: own}), {name: own}, ({}, {name: before}, {name: after}))


def _model(name: str) -> Model:
    """The linear model, given as functions."""
    return Model(f"model {name}", lambda w, X: (X @ w)[:, None], lambda w, x: x[None, ...], FEATURES, _start)


def _start(draw: Callable[[int], Any], d: int, c: int) -> Any:
    return 0 * draw(d)


def _transition(name: str) -> Transition:
    """A motion that halves the state."""
    return Transition(
        f"motion {name}", lambda w: w / 2, lambda w: w.__array_namespace__().eye(w.shape[0], dtype=w.dtype) / 2
    )


def _ensure_belongs(context: CheckContext, case: Case, read: Callable[..., Any]) -> None:
    """The state is read with its own functions, and refused with others, or without."""
    context.ensure_identical(read(**case.own), case.learner, "read with its own functions")
    for given in case.wrong:
        name = next(iter(case.own or given))
        what = f"a state of {dict(case.own) or 'no functions'}, read with {dict(given) or 'none'}"
        ensure_raises(partial(read, **given), ValueError, what, name)
