"""Correct methods of an unusual form pass the checks, which must not be too strict for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from faults.reference_learner import (
    BATCHES,
    COST,
    METHODS,
    PLAIN,
    PLAIN_KERNEL,
    WEIGHTS,
    block,
    plain,
    reference_kernel,
)
from helpers import decaying
from helpers.cases import installed
from helpers.methods import change, declare

import orfit_bench as ob
from orfit_bench import spec
from orfit_bench.bench import Suite
from orfit_bench.conformance import conform
from orfit_bench.spec import Combine, Field, Integer, Number, Setting

NAME = "unusual"
CLASSES = declare(NAME, WEIGHTS, kind="classification", theory={"cost": COST})
MEAN = Field("mu", ("feature",), "mean of the rows")
CENTRED = change(
    PLAIN,
    state={
        "fields": (
            WEIGHTS,
            *(Field(n, dims, n) for n, dims in (("mu", ("feature",)), ("count", ()), ("twice", ("feature",)))),
        )
    },
    combine=Combine(
        averages=("w", "mu", "count"), average_weights={"mu": "count"}, derive=lambda f, s: {"twice": 2 * f["mu"]}
    ),
)
COUNTED = change(PLAIN, state={"fields": (WEIGHTS, Field("digits_lost", (), "a field by the name of an old one"))})


def draw_matrix(settings: Any, sizes: Any, draw: Any) -> Any:
    return draw((sizes["feature"], sizes["n_components"]))


def draw_frequencies(settings: Any, sizes: Any, draw: Any) -> Any:
    return draw((sizes["feature"], sizes["features"]))


SKETCH = declare(
    NAME,
    Field("basis", ("feature", "n_components"), "the sum of x x'omega", compared="span"),
    Field(
        "omega",
        ("feature", "n_components"),
        "a test matrix",
        start=lambda s, z, draw: draw((z["feature"], z["n_components"])),
    ),
    kind="subspace",
    settings=(Setting("n_components", Integer(1), 2, "dimension"),),
    theory={"cost": spec.Cost(flops=lambda s, z: 8 * z["parameter"], floats=lambda s, z: 5 * z["parameter"])},
)


def learn_centred(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    """LMS on rows minus their running mean."""
    for i, x in enumerate(X):
        count, f = s.count + 1, x @ s.w
        mu = s.mu + (x - s.mu) / count
        if out is not None:
            out[i] = f
        with np.errstate(all="ignore"):
            w = s.w + s.w.dtype.type(0.05) * np.outer(x - mu, Y[i] - f)
        if not (np.isfinite(w).all() and np.isfinite(mu @ mu)):
            return i
        s.w[...], s.mu[...], s.count[...], s.twice[...] = w, mu, count, 2 * mu
    return len(X)


def learn_and_count(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    learned = plain(s, X, Y, p, out)
    s.digits_lost[...] += learned
    return learned


def learn_sketch(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    for i, x in enumerate(X):
        basis = s.basis + np.outer(x, x @ s.omega)
        if not np.isfinite(basis).all():
            return i
        s.basis[...] = basis
    return len(X)


def learn_signs(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    """LMS with the signs of the features and errors: w += 0.05 sign(x) sign(e)."""
    for i, x in enumerate(X):
        f = x @ s.w
        if out is not None:
            out[i] = f
        s.w[...] += s.w.dtype.type(0.05) * np.outer(np.sign(x), np.sign(Y[i] - f))
    return len(X)


def learn_every_second(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    """LMS that learns the rows of odd steps."""
    for i in range(len(X)):
        step_size = 0.05 * ((p.t + i) % 2)
        if not learn_between(s, X[i : i + 1], Y[i : i + 1], SimpleNamespace(low=0.0, high=step_size), None):
            return i
    return len(X)


def learn_features(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    """LMS on cosines of random features."""
    return learn_between(SimpleNamespace(w=s.v), np.cos(X @ s.omega), Y, SimpleNamespace(low=0.0, high=0.02), out)


def learn_between(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    """LMS with the step size high - low."""
    for i, x in enumerate(X):
        f = x @ s.w
        if out is not None:
            out[i] = f
        w = s.w + s.w.dtype.type(p.high - p.low) * np.outer(x, Y[i] - f)
        if not np.isfinite(w).all():
            return i
        s.w[...] = w
    return len(X)


def learn_part(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    """LMS with the step size 0.01 + 0.01 a + 0.001 b."""
    return learn_between(s, X, Y, SimpleNamespace(low=0.0, high=0.01 + 0.01 * p.a + 0.001 * p.b), out)


def learn_idle(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    return learn_between(s, X, Y, SimpleNamespace(low=0.0, high=0.01), out)


def learn_finite(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    return plain(s, X, Y, p, out) if np.isfinite(X).all() else -1


def refuse_large(settings: Any, steps: int, X: Any, Y: Any, is_step: bool, linear: bool) -> None:
    if not (np.abs(X) <= 1e30).all():
        raise ValueError("rows must not be larger than 1e30")


def refuse_three(settings: Any, steps: int, X: Any, Y: Any, is_step: bool, linear: bool) -> None:
    if Y.shape[1] > 2:
        raise ValueError("two outputs at most")


def ridge_with(**defaults: float) -> spec.Method:
    """The method `ridge` with other defaults."""
    settings = [replace(s, default=defaults.get(s.name, s.default)) for s in METHODS["ridge"].settings]
    return change(METHODS["ridge"], settings=tuple(settings), theory={"laws": ()})


BETWEEN = change(
    PLAIN,
    settings=tuple(Setting(n, Number(0), v, n) for n, v in (("low", 0.4), ("high", 0.5))),
    refuses=lambda settings: "" if settings["low"] < settings["high"] else "low: want less than high",
)
PART = change(
    PLAIN,
    settings=tuple(Setting(n, Number(0, 1), 0.4, n) for n in ("a", "b")),
    refuses=lambda settings: "" if settings["a"] + settings["b"] <= 1 else "a + b: want at most 1",
)
FEATURES = declare(
    NAME,
    Field(
        "omega", ("feature", "features"), "frequencies", start=lambda s, z, draw: draw((z["feature"], z["features"]))
    ),
    Field("v", ("features", "output"), "weights of the random features"),
    settings=(Setting("features", Integer(1), 20, "number of random features"),),
    state={"predict": lambda s, X, settings: np.cos(X @ s.omega) @ s.v},
    theory={"cost": spec.Cost(flops=lambda s, z: 100 * z["feature"], floats=lambda s, z: 20 * z["feature"])},
)
DISTRIBUTIONS = ("standard_deviations_match_the_next_step", "covariances_match_the_next_step")
AVERAGES = ("averages_as_declared", "averaging_does_not_depend_on_the_order")
UNLEARNING = ("unlearned_digits_are_warned_of", "merges_remember_what_was_unlearned")
NOT_FINITE = ("nonfinite_input_is_refused", "calls_give_the_same_errors", "questions_give_the_same_errors")
UNUSUAL: dict[str, tuple[spec.Method, Any, Sequence[str]]] = {
    "one column of weights for each class": (
        CLASSES,
        SimpleNamespace(learn=plain),
        ("long_calls_find_the_same_labels", "labels_in_lists_equal_arrays"),
    ),
    "batches by default": (
        BATCHES,
        PLAIN_KERNEL,
        ("interrupted_learners_refuse_calls", "interrupted_learn_one_ends_a_learner", "any_order_of_operations"),
    ),
    "means that count by their own rows": (CENTRED, SimpleNamespace(learn=learn_centred), AVERAGES),
    "the name of an old field": (
        COUNTED,
        SimpleNamespace(learn=learn_and_count, step=block),
        ("earlier_formats_are_read", "states_of_any_layout_are_restored"),
    ),
    "a basis of dependent columns": (
        SKETCH,
        SimpleNamespace(learn=learn_sketch),
        ("components_have_the_signs_of_the_basis", "state_matches_declaration"),
    ),
    "signs of features and errors": (PLAIN, SimpleNamespace(learn=learn_signs), ("full_precision_is_used",)),
    "every second row": (PLAIN, SimpleNamespace(learn=learn_every_second), ("no_step_is_skipped_silently",)),
    "a dimension that begins like the features": (
        FEATURES,
        SimpleNamespace(learn=learn_features),
        ("features_may_be_permuted", "features_of_zeros_change_nothing", "state_matches_declaration"),
    ),
    "two outputs at most": (
        change(PLAIN, kernel={"validate_rows": refuse_three}, combine=Combine(averages=("w",))),
        SimpleNamespace(learn=plain),
        AVERAGES,
    ),
    "own limits of rows and own checks": (
        change(PLAIN, kernel={"validate_rows": refuse_large}),
        SimpleNamespace(learn=learn_finite, CHECKS_ROWS=True),
        NOT_FINITE,
    ),
    "settings that exclude each other": (
        BETWEEN,
        SimpleNamespace(learn=learn_between),
        ("any_chunking", "settings_have_effect", "opposite_ends_of_ranges_differ", "one_feature", "row_by_row"),
    ),
    "forgetting by another name": (
        decaying.METHOD,
        decaying.KERNEL,
        ("integer_weights_repeat_rows", *DISTRIBUTIONS),
    ),
    "ridge with a large prior and a distribution": (ridge_with(ridge=1e4), reference_kernel("ridge"), DISTRIBUTIONS),
    "ridge without a prior": (ridge_with(ridge=0.0), reference_kernel("ridge"), DISTRIBUTIONS),
    "ridge that forgets nearly everything": (
        ridge_with(forgetting_factor=0.1),
        reference_kernel("ridge"),
        ("thousands_of_rows",),
    ),
    "settings of which only a part can be large": (
        PART,
        SimpleNamespace(learn=learn_part),
        ("opposite_ends_of_ranges_differ", "settings_have_effect"),
    ),
    "ridge that forgets": (ridge_with(forgetting_factor=0.9), reference_kernel("ridge"), UNLEARNING),
    "ridge with a large prior": (ridge_with(ridge=1e5), reference_kernel("ridge"), UNLEARNING),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_right_methods_pass(name: str) -> None:
    method, kernel, checks = UNUSUAL[name]
    with installed(replace(method, name=NAME), kernel):
        report = conform(NAME, only=checks, allow_unproven=True)
    assert {r.status for r in report.results} <= {"passed", "skipped"}, str(report)


def test_settings_that_exclude_each_other_are_refused() -> None:
    with installed(replace(BETWEEN, name=NAME), SimpleNamespace(learn=learn_between)):
        for low, high in ((0.5, 0.5), (0.9, 0.5)):
            with pytest.raises(ValueError, match=f"^{NAME}: low: want less than high"):
                ob.create(NAME, backend="numpy", low=low, high=high)
        with pytest.raises(ValueError, match=f"{NAME}, member 1: low: want less than high"):
            ob.fleet(NAME, 2, backend="numpy", low=[0.1, 0.6])
        with pytest.raises(ValueError, match="low: want less than high"):
            list(Suite(methods=[{"name": NAME, "settings": {"low": 0.7}}], streams=["regression"]).cells())


def test_settings_that_exclude_each_other_and_do_nothing_are_found() -> None:
    with installed(replace(PART, name=NAME), SimpleNamespace(learn=learn_idle)):
        report = conform(NAME, only=["settings_have_effect"], allow_unproven=True)
    assert {r.status for r in report.results} == {"failed"}


def test_a_method_must_not_refuse_its_defaults_or_examples() -> None:
    with pytest.raises(ValueError, match=r"refuses its defaults: a [+] b"):
        change(PART, settings=tuple(Setting(n, Number(0, 1), 0.8, n) for n in ("a", "b")))
    with pytest.raises(ValueError, match=r"refuses its example \{'a': 0.9\}: a [+] b"):
        change(PART, examples=({"a": 0.9},))
