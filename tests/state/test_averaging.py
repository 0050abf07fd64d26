"""Averages of learners, and warnings that survive saving."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.states import WAYS

import orfit_bench as ob

Same = Callable[[ob.Learner, ob.Learner], None]


def winding_up() -> tuple[ob.Learner, Any, Any]:
    """RLS that forgets, and rows that visit one direction of two: in the other P grows like 0.9^-t."""
    return ob.create("rls", forgetting_factor=0.9), np.ones((240, 2)), np.ones(240)


@pytest.mark.parametrize("way", WAYS)
def test_precision_loss_is_warned_of_once(way: str, tmp_path: Path) -> None:
    learner, X, y = winding_up()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i in range(200):
            learner.partial_fit(X[i : i + 1], y[i : i + 1])
    (stated,) = caught
    assert stated.category is ob.AccuracyWarning
    assert "half of the digits" in str(stated.message)
    assert "a larger ridge" in str(stated.message)
    assert stated.filename == __file__  # the warning points at the line that learned
    for it in (learner, WAYS[way](learner, tmp_path)):
        it.partial_fit(X[200:], y[200:])  # a second warning would be an error


def test_precision_loss_is_warned_of_before_divergence() -> None:
    learner, X, y = winding_up()
    with pytest.warns(ob.AccuracyWarning, match="half of the digits"), pytest.raises(ob.DivergedError) as info:
        learner.partial_fit(np.tile(X, (2, 1)), np.tile(y, 2))
    assert 240 < learner.n_samples_seen_ == info.value.row
    assert np.isfinite(learner.state()["P"]).all()


@pytest.mark.parametrize("call", ["partial_fit", "prequential"])
def test_a_warning_turned_into_an_error_loses_no_row(call: str, same_state: Same) -> None:
    """pytest and `python -W error` do so; the chunk is learned and counted nevertheless."""
    learner, X, y = winding_up()
    quiet = learner.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        getattr(quiet, call)(X, y)
    with pytest.raises(ob.AccuracyWarning, match="half of the digits"):
        getattr(learner, call)(X, y)
    assert learner.n_samples_seen_ == 240
    same_state(learner, quiet)


@pytest.mark.parametrize("method", [name for name, m in ob.methods().items() if "w" in m.combine.averages])
def test_average(method: str, rows: Any) -> None:
    chunks = [rows(n, seed=n) for n in (5, 5, 9)]
    learners = [ob.create(method, random_state=i).partial_fit(X, y) for i, (X, y) in enumerate(chunks)]
    name = ob.methods()[method].combine.averages[0]
    mean = np.mean([a.state()[name].values for a in learners], axis=0)
    ob.average(learners)
    for learner, n in zip(learners, (5, 5, 9), strict=True):
        np.testing.assert_allclose(learner.state()[name].values, mean, rtol=1e-14)
        assert (learner.state().attrs["t"], learner.n_samples_seen_) == (n, n)  # each keeps its own count
    learners[0].partial_fit(*chunks[0])  # and its own arrays
    np.testing.assert_allclose(learners[1].state()[name].values, mean, rtol=1e-14)


def test_average_of_one_and_of_fresh_ones(same_state: Same, rows: Any) -> None:
    learner = ob.create("lms").partial_fit(*rows(5))
    before = learner.copy()
    ob.average([learner])
    same_state(learner, before)
    ob.average([ob.create("lms"), ob.create("lms")])


def test_learners_that_cannot_be_averaged_are_refused(cubic: ob.Model, same_state: Same, rows: Any) -> None:
    X, y = rows(5)

    def lms(X: Any = X, y: Any = y, **settings: Any) -> ob.Learner:
        return ob.create("lms", **settings).partial_fit(X, y)

    other_model = ob.Model("other", cubic.predict, cubic.jacobian, cubic.parameters, cubic.start)
    for pair, message in (
        ([], "got no learners"),
        ([ob.create("rls").partial_fit(X, y)] * 2, "rls: an average of its states is not defined"),
        ([lms(), lms(step_size=0.5)], "settings differ"),
        ([lms(), ob.create("one_step_sgd").partial_fit(X, y)], "settings differ|differ in method"),
        ([lms(), lms(dtype="float32")], "differ in dtype"),
        ([lms(), lms(X[:, :2])], "differ in features"),
        ([lms(), lms(y=np.ones((5, 2)))], "differ in outputs"),
        ([lms(), ob.create("lms")], "differ in features"),
        ([lms(model=cubic), lms(model=other_model)], "differ in model"),
    ):
        before = [it.copy() for it in pair]
        with pytest.raises(ValueError, match=message):
            ob.average(pair)
        for it, was in zip(pair, before, strict=True):
            same_state(it, was)


@pytest.mark.parametrize("learners", [[1], 3, [ob.create("lms"), 1], [1, ob.create("lms")]], ids=str)
def test_only_learners_are_averaged(learners: Any) -> None:
    with pytest.raises(TypeError, match="average: got int, want a list of learners"):
        ob.average(learners)


def test_fleets_are_not_averaged() -> None:
    with pytest.raises(TypeError, match="average: got RegressorFleet, want a list of learners"):
        ob.average(ob.fleet("lms", 2, backend="numpy"))  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", [[np.nan, 1], [np.inf, 1], ["a", "b"], [1], 3, [0, 0], [-1, 2], [10**400, 1]])
def test_counts_that_are_no_numbers_of_rows_are_refused(rows: Any, same_state: Same) -> None:
    learners = [ob.create("lms").partial_fit([[1.0]], [y]) for y in (2.0, 4.0)]
    before = [learner.copy() for learner in learners]
    with pytest.raises(ValueError, match=r"average: got rows=.*, want 2 numbers >= 0, with one above 0, all finite"):
        ob.average(learners, rows=rows)
    for learner, same in zip(learners, before, strict=True):
        same_state(learner, same)


def test_counts_whose_sum_overflows_give_their_mean() -> None:
    learners = [ob.create("lms", step_size=0.5).partial_fit([[1.0]], [y]) for y in (2.0, 4.0)]
    ob.average(learners, rows=[1e308, 1.5e308])  # type: ignore[list-item]
    assert learners[0].predict([[1.0]]) == pytest.approx([1.6])


def test_an_average_of_large_weights_does_not_overflow() -> None:
    learners = [ob.create("lms", backend="numpy", initial_weights=[1e308, -1e308]) for _ in range(3)]
    for learner in learners:
        learner.partial_fit(np.zeros((1, 2)), [0.0])
    ob.average(learners)
    for learner in learners:
        np.testing.assert_allclose(learner.array("w").ravel(), [1e308, -1e308], rtol=1e-15)
