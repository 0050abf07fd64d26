"""Bad input: an error of the right kind that says what is wrong, and a learner that is as it was before the call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from orfit_bench.conformance.check import check, require
from orfit_bench.conformance.rows import Chunk
from orfit_bench.conformance.trial import Trial

Bad = Iterator[tuple[str, Any, Any]]


def _refused(trial: Trial, bad: Callable[[Chunk], Bad], wanted: tuple[type[Exception], ...]) -> None:
    """Each bad (what, X, y) raises a wanted error, on a fresh learner and on one that began, and changes neither."""
    chunk = trial.rows()
    for begun in (False, True):
        for what, X, y in bad(chunk.cut(0, 4)):
            learner = trial.learned(chunk.cut(0, 10)) if begun else trial.create()
            before = learner.copy()
            try:
                learner.partial_fit(X, *([] if y is None else [y]))
            except wanted as error:
                require(str(error), f"{what}: the error says nothing")
            except Exception as error:
                names = " or ".join(w.__name__ for w in wanted)
                require(False, f"{what}: {type(error).__name__} ({error}), want {names}")
            else:
                require(False, f"{what} was learned")
            trial.same(learner, before, f"after {what} was refused")


@check()
def invalid_shapes_are_refused(trial: Trial) -> None:
    """Rows and answers of shapes that do not fit raise ValueError and change nothing."""

    def bad(good: Chunk) -> Bad:
        X, y = good.X, good.y
        yield "X of one dimension", X[0], y
        yield "X of three dimensions", X[None], y
        yield "X without columns", X[:, :0], y
        if y is not None:
            yield "y that is too short", X, y[:-1]
            yield "y of three dimensions", X, y.reshape(-1, 1, 1)

    _refused(trial, bad, (ValueError,))


@check()
def changed_sizes_are_refused(trial: Trial) -> None:
    """Once the sizes are known, rows and answers of other sizes raise ValueError and change nothing."""
    chunk = trial.rows()
    learner = trial.learned(chunk.cut(0, 10))
    before, good = learner.copy(), chunk.cut(10, 14)
    bad: list[tuple[str, Any, Any]] = [
        ("a column too few", good.X[:, :-1], good.y),
        ("a column too many", np.hstack([good.X, good.X[:, :1]]), good.y),
    ]
    if trial.method.traits.numbers and good.y is not None:
        bad.append(("another number of outputs", good.X, np.ones((4, 3))))
    for what, X, y in bad:
        try:
            learner.partial_fit(X, *([] if y is None else [y]))
        except ValueError:
            trial.same(learner, before, f"after {what} was refused")
        else:
            require(False, f"{what} was learned")


@check()
def nonfinite_input_is_refused(trial: Trial) -> None:
    """NaN and infinity raise ValueError and change nothing; a NaN in a filter's y says that nothing was seen."""

    def bad(good: Chunk) -> Bad:
        for value in (np.nan, np.inf, -np.inf):
            X = good.X.copy()
            X[2, 1] = value
            yield f"X with {value}", X, good.y
            if good.y is not None and good.y.dtype.kind == "f" and not (np.isnan(value) and trial.method.traits.gaps):
                y = good.y.copy()
                y[2] = value
                yield f"y with {value}", good.X, y

    _refused(trial, bad, (ValueError,))


@check()
def non_numeric_input_is_refused(trial: Trial) -> None:
    """Texts, complex numbers, objects, masked and ragged arrays raise TypeError or ValueError and change nothing."""

    def bad(good: Chunk) -> Bad:
        X, y = good.X, good.y
        yield "no X", None, y
        yield "complex X", X + 1j, y
        yield "X of texts", X.astype(str), y
        yield "X of objects", X.astype(object), y
        yield "a masked X", np.ma.masked_array(X, mask=X > 0), y
        yield "a ragged X", [[1.0, 2.0], [3.0]], y
        if y is not None:
            yield "complex y", X, np.ones(len(X)) + 1j
            yield "a masked y", X, np.ma.masked_array(np.ones(len(X)), mask=[True] * len(X))
            yield "y of dates", X, np.array(["2020-01-01"] * len(X), "M8[D]")

    _refused(trial, bad, (TypeError, ValueError))


@check(every=False)
def invalid_settings_are_refused(trial: Trial) -> None:
    """A setting that does not exist, is of another kind or out of its range raises TypeError or ValueError at once."""
    tried: dict[str, list[Any]] = {"no_such_setting": [1]}
    for s in trial.method.settings:
        bad: dict[str, list[Any]] = {
            "number": ["text", np.nan, np.inf, -np.inf, True],
            "integer": ["text", 1.5, True, -(10**30)],
            "schedule": ["text", np.nan, {"no_such_schedule": {}}],
            "choice": ["no such choice", 1],
            "text": [1],
            "matrix": ["text", np.nan, [[1.0], [1.0, 2.0]]],
            "transition": ["text", np.nan],
        }
        tried[s.name] = bad[s.type.kind] + ([] if s.optional else [None])
    for name, values in tried.items():
        for value in values:
            try:
                trial.create(**{name: value})
            except (TypeError, ValueError) as error:
                require(name in str(error), f"{name}={value!r}: the error does not name it: {error}")
            else:
                require(False, f"{name}={value!r} was accepted")
