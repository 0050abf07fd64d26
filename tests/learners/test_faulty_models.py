"""Models that raise, or return wrong shapes or numbers that are not finite, leave the learner unchanged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.inputs import METHODS, X, y

import orfit_bench as ob

MODELS = [name for name in METHODS if ob.methods()[name].kernel.models]
Same = Callable[[ob.Learner, ob.Learner], None]


def broken(cubic: ob.Model, name: str, make: Callable[..., Any], after: int) -> ob.Model:
    """The model with one function that fails in all but the first few calls."""
    right, calls = getattr(cubic, name), []

    def wrong(w: Any, x: Any) -> Any:
        calls.append(1)
        return right(w, x) if len(calls) <= after else make(right(w, x))

    functions = {"predict": cubic.predict, "jacobian": cubic.jacobian, name: wrong}
    return ob.Model("broken", parameters=cubic.parameters, start=cubic.start, **functions)


def fails(value: Any) -> Any:
    raise KeyError("a user's bug")


def interrupts(value: Any) -> Any:
    raise KeyboardInterrupt


WRONG: dict[str, tuple[str, Callable[..., Any], type[BaseException], str]] = {
    "table of predictions": ("predict", pd.DataFrame, ValueError, "returned DataFrame, want real numbers of shape"),
    "table of derivatives": ("jacobian", pd.DataFrame, ValueError, "returned DataFrame, want real numbers of shape"),
    "flat jacobian": (
        "jacobian",
        np.ravel,
        ValueError,
        r"returned shape \(3,\), .* want real numbers of shape \(1, 3\)",
    ),
    "turned jacobian": ("jacobian", np.transpose, ValueError, r"jacobian\(w, x\) returned shape \(3, 1\)"),
    "list": ("jacobian", np.ndarray.tolist, ValueError, r"jacobian\(w, x\) returned list, want"),
    "complex": ("jacobian", lambda J: J + 0j, ValueError, "dtype complex128, want real numbers"),
    "flat prediction": ("predict", np.ravel, ValueError, r"'broken': predict\(w, X\) returned shape \(1,\)"),
    "None": ("predict", lambda f: None, ValueError, "returned NoneType"),
    "error": ("predict", fails, KeyError, "a user's bug"),
    "ctrl-c": ("jacobian", interrupts, KeyboardInterrupt, "^$"),
}


@pytest.mark.parametrize("method", MODELS)
@pytest.mark.parametrize("case", WRONG)
def test_a_faulty_model_changes_nothing(case: str, method: str, cubic: ob.Model, same_state: Same) -> None:
    name, make, error, message = WRONG[case]
    fresh = ob.create(method, model=broken(cubic, name, make, after=0))
    with pytest.raises(error, match=message):
        fresh.partial_fit(X, y)
    with pytest.raises(AttributeError):
        _ = fresh.n_features_in_
    same_state(fresh, ob.create(method, model=broken(cubic, name, make, after=0)))
    rows_before = 4 if method == "ogd" and name == "jacobian" else 2  # ogd requests two Jacobians per row
    learner = ob.create(method, model=broken(cubic, name, make, after=rows_before + 1))
    learner.partial_fit(X[:2], y[:2])
    before = learner.copy()
    with pytest.raises(error, match=message):  # in the middle of the chunk
        learner.partial_fit(X[2:], y[2:])
    same_state(learner, before)


@pytest.mark.parametrize("method", MODELS)
def test_a_model_that_leaves_the_finite_numbers_diverges(method: str, cubic: ob.Model, same_state: Same) -> None:
    for name in ("predict", "jacobian"):
        model = broken(
            cubic, name, lambda value: value * np.nan, after=4 if method == "ogd" and name == "jacobian" else 2
        )
        learner = ob.create(method, model=model)
        with pytest.raises(ob.DivergedError) as info:
            learner.partial_fit(X, y)
        assert (info.value.step, info.value.row, learner.n_samples_seen_) == (3, 2, 2)
        assert all(np.isfinite(a.values).all() for a in learner.state().variables.values())


def test_a_model_that_fails_keeps_the_pending_rows(cubic: ob.Model, same_state: Same) -> None:
    learner = ob.create("orfit", model=broken(cubic, "predict", fails, after=1), batch_size=2)
    learner.partial_fit(X[:3], y[:3])
    before = learner.copy()
    with pytest.raises(KeyError):
        learner.partial_fit(X[3:], y[3:])
    with pytest.raises(KeyError):
        learner.flush()
    same_state(learner, before)
    assert (learner.pending, learner.n_samples_seen_) == (1, 3)


def test_a_step_is_undone_if_the_model_fails_after_it(cubic: ob.Model, same_state: Same) -> None:
    learner = ob.create("orfit", model=broken(cubic, "predict", fails, after=2), batch_size=2)
    learner.partial_fit(X[:2], y[:2])
    before = learner.copy()
    with pytest.raises(KeyError):
        learner.prequential(X[2:5], y[2:5])  # the batch is learned, then the pending row is predicted
    same_state(learner, before)


def test_models_without_a_valid_start_are_refused(cubic: ob.Model) -> None:
    def model(start: Any, name: str = "mine") -> ob.Model:
        return ob.Model(name, cubic.predict, cubic.jacobian, 3, start)

    with pytest.raises(ValueError, match="greedy fits no other model than the linear one; these do: apa, icl, "):
        ob.create("greedy", model=cubic)
    with pytest.raises(ValueError, match="the name 'linear' is that of the linear model, want another name"):
        ob.create("lms", model=model(lambda draw, d, c: None, "linear"))
    for start, message in (
        (lambda draw, d, c: None, r"model 'mine' draws no start: pass initial_weights of shape \(3, 1\)"),
        (lambda draw, d, c: np.ones(4), r"start of model 'mine': got shape \(4,\), want \(3, 1\)"),
        (lambda draw, d, c: [1.0, np.nan, 1.0], r"start of model 'mine'\[1\] is nan"),
    ):
        learner = ob.create("lms", model=model(start))
        with pytest.raises(ValueError, match=message):
            learner.partial_fit(X, y)
        with pytest.raises(AttributeError):
            _ = learner.n_features_in_


def test_each_draw_of_a_start_is_new(cubic: ob.Model) -> None:
    def start(draw: Any, d: int, c: int) -> Any:
        return np.concatenate([draw(1), draw(2)])

    w = [
        ob.create("lms", random_state=seed, model=ob.Model("mine", cubic.predict, cubic.jacobian, 3, start))
        .partial_fit(X[:0], y[:0])
        .state()["w"]
        .values.ravel()
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(w[0], w[1])
    assert len({*w[0], *w[2]}) == 6


class Labelled(np.ndarray):
    """A subclass of an array, defined by the user."""


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("method", MODELS)
def test_subclasses_of_arrays_are_learned_as_arrays(method: str, backend: str, same_state: Same) -> None:
    """For np.matrix products differ, and (n, 1)[:, 0] stays two-dimensional."""
    network, found = ob.MLP((4,)), list[ob.Learner]()
    for kind in (np.ndarray, np.matrix, Labelled):

        def predict(w: Any, X: Any, kind: Any = kind) -> Any:
            return network.predict(w, X).view(kind)

        def jacobian(w: Any, x: Any, kind: Any = kind) -> Any:
            return network.jacobian(w, x).view(kind)

        model = replace(network, name="own", vjp=None, jacobians=None, predict=predict, jacobian=jacobian)
        learner = ob.create(method, model=model, backend=backend).partial_fit(X[:4], y[:4]).learn_one(X[4], y[4])
        found.append(learner)
        same_state(learner, found[0])
        assert type(learner.predict(X)) is np.ndarray
        np.testing.assert_array_equal(learner.predict(X), found[0].predict(X))


@pytest.mark.parametrize(("name", "shape"), [("predict", r"\(1, 1\)"), ("jacobian", r"\(1, 3\)")])
@pytest.mark.parametrize("method", MODELS)
def test_masked_results_are_refused(method: str, name: str, shape: str, cubic: ob.Model, same_state: Same) -> None:
    learner = ob.create(method, model=broken(cubic, name, np.ma.masked_array, after=0))
    before = learner.copy()
    with pytest.raises(ValueError, match=rf"returned a masked array, want plain numbers of shape {shape}: fill"):
        learner.partial_fit(X, y)
    same_state(learner, before)
