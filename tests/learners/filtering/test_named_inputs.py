"""Tables that come with the rows of a filter are put in the order of the features and targets by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr

import orfit_bench as ob

NAMES = ["a", "b", "c"]
BACK = NAMES[::-1]
rng = np.random.default_rng(0)
X, CONTROL = rng.standard_normal((6, 3)), rng.standard_normal((6, 3))
Y = X @ rng.standard_normal((3, 2))
y = Y[:, 0]
ROWS, MOVES = pd.DataFrame(X, columns=NAMES), pd.DataFrame(CONTROL, columns=NAMES)
equal = np.testing.assert_array_equal
makers = pytest.mark.parametrize(
    "make", [lambda t: t, pl.from_pandas, lambda t: xr.DataArray(t, dims=("row", "feature"))]
)


def kalman(**settings: Any) -> Any:
    return ob.create("kalman", backend="numpy", process_noise=0.1, **settings)


@makers
@pytest.mark.parametrize("verb", ["partial_fit", "prequential", "smooth", "log_likelihood"])
def test_a_control_is_put_in_the_order_of_the_features(make: Callable[[Any], Any], verb: str) -> None:
    one, other = kalman(), kalman()
    found = getattr(one, verb)(make(ROWS), y, control=make(MOVES[BACK]))
    want = getattr(other, verb)(X, y, control=CONTROL)
    if verb == "partial_fit":
        equal(one.array("mean"), other.array("mean"))
    elif verb == "smooth":
        equal(found["mean"], want["mean"])
    else:
        equal(found, want)


@makers
def test_controls_in_other_calls_are_put_in_order(make: Callable[[Any], Any]) -> None:
    one, other = kalman().partial_fit(make(ROWS), y), kalman().partial_fit(X, y)
    equal(
        one.copy().partial_fit(make(ROWS[BACK]), y, control=make(MOVES[BACK])).array("mean"),
        other.copy().partial_fit(X, y, control=CONTROL).array("mean"),
    )
    for control in (MOVES.iloc[0][BACK], MOVES.iloc[0][BACK].to_dict()):
        equal(one.predict(make(ROWS), control=control), other.predict(X, control=CONTROL[0]))
        equal(
            one.copy().step(make(ROWS), y, control=control).array("mean"),
            other.copy().step(X, y, control=CONTROL[0]).array("mean"),
        )


def test_other_names_are_refused_and_change_nothing() -> None:
    learner = kalman().partial_fit(ROWS, y)
    before = learner.state()
    for control, message in (
        (MOVES[["a", "b"]], "control: got other columns than in the first call, missing 'c'"),
        (
            MOVES.rename(columns={"c": "d"}),
            "missing 'c' and unexpected 'd'.*: name them as those of X, or pass control",
        ),
        (pd.DataFrame(CONTROL), "control: got columns without names"),
        (MOVES.assign(c="x"), "control: column 'c' is of dtype"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            learner.partial_fit(ROWS, y, control=control)
    assert learner.state().identical(before)
    equal(
        learner.copy().partial_fit(ROWS, y, control=CONTROL).array("mean"),
        learner.copy().partial_fit(ROWS, y, control=MOVES).array("mean"),
    )


def test_names_that_cannot_be_checked_are_refused() -> None:
    with pytest.raises(ValueError, match=r"control: got the names 'a', 'b', 'c', but the parameters have none"):
        kalman().partial_fit(X, y, control=MOVES)
    network = kalman(model=ob.MLP([2])).partial_fit(ROWS, y)
    with pytest.raises(ValueError, match=r"control.to_numpy\(\), in the order of the parameters"):
        network.partial_fit(ROWS, y, control=pd.DataFrame(np.zeros((6, 2)), columns=["u", "v"]))
    begun = kalman().partial_fit(X[:1], y[:1])
    numbered = pd.DataFrame(CONTROL)[[2, 0, 1]]
    equal(
        begun.copy().partial_fit(X, y, control=numbered).array("mean"),
        begun.copy().partial_fit(X, y, control=CONTROL).array("mean"),
    )


def test_noise_is_put_in_the_order_of_the_targets() -> None:
    noise = pd.DataFrame(rng.random((6, 2)) + 0.1, columns=["u", "v"])
    targets = pd.DataFrame(Y, columns=["u", "v"])

    def learner() -> Any:
        return ob.create("kalman", backend="numpy", model=ob.MLP([2]), random_state=0)

    equal(
        learner().partial_fit(ROWS, targets, observation_noise=noise[["v", "u"]]).array("mean"),
        learner().partial_fit(X, Y, observation_noise=noise.to_numpy()).array("mean"),
    )
    column = pl.Series(rng.random(6) + 0.1)
    equal(
        kalman().partial_fit(X, y, observation_noise=column).array("mean"),
        kalman().partial_fit(X, y, observation_noise=column.to_numpy()).array("mean"),
    )


@pytest.mark.parametrize("name", ["transition", "process_noise"])
def test_a_matrix_has_the_order_of_the_features(name: str) -> None:
    root = rng.standard_normal((3, 3))
    matrix = pd.DataFrame(root @ root.T, index=NAMES, columns=NAMES)
    learner = kalman().partial_fit(ROWS, y)
    equal(learner.predict(ROWS, **{name: matrix}), learner.predict(ROWS, **{name: matrix.to_numpy()}))
    for wrong in (matrix[BACK], matrix.loc[BACK], matrix.loc[BACK, BACK], xr.DataArray(matrix[BACK], dims=("i", "j"))):
        with pytest.raises(ValueError, match=f"{name}: got a matrix .* want 'a', 'b', 'c' in this order"):
            learner.predict(ROWS, **{name: wrong})
    with pytest.raises(ValueError, match=f"{name}: got a matrix .* but the parameters have none"):
        kalman().partial_fit(X, y).predict(X, **{name: matrix})


def test_smoothed_moments_have_the_names_of_the_columns():
    rows = pd.DataFrame(np.random.default_rng(0).standard_normal((5, 2)), columns=["level", "slope"])
    targets = pd.DataFrame({"u": rows["level"], "v": rows["slope"]})
    found = ob.create("kalman").smooth(rows, targets)
    assert found["mean"].coords["parameter"].values.tolist() == ["level", "slope"]
    assert found["mean"].coords["output"].values.tolist() == ["u", "v"]
    assert found["covariance"].sel(parameter="level", parameter_2="slope").shape == (5,)
    assert set(ob.create("kalman").smooth(rows.to_numpy(), targets["u"].to_numpy()).coords) == {"step"}


@pytest.mark.parametrize("verb", ["predict", "step"])
@pytest.mark.parametrize("name", ["transition", "process_noise"])
def test_a_diagonal_has_the_names_of_the_features_in_order(verb: str, name: str) -> None:
    diagonal, learner = pd.Series([1.0, 2.0, 3.0], index=NAMES), kalman().partial_fit(ROWS, y)
    given = (ROWS, y) if verb == "step" else (ROWS,)
    for wrong in (diagonal[BACK], diagonal.set_axis(["x", "y", "z"])):
        with pytest.raises(ValueError, match=f"{name}: got a diagonal whose entries are named .* want 'a', 'b', 'c'"):
            getattr(learner, verb)(*given, **{name: wrong})
    with pytest.raises(ValueError, match="but the parameters have none"):
        kalman().partial_fit(X, y).step(X, y, **{name: diagonal})
    found, want = (
        getattr(learner.copy(), verb)(*given, **{name: value}) for value in (diagonal, diagonal.reset_index(drop=True))
    )
    equal(*(a if verb == "predict" else a.array("mean") for a in (found, want)))


def test_the_noise_of_a_step_has_the_rows_in_order() -> None:
    noise = pd.Series(np.arange(1.0, 7.0), index=ROWS.index)
    with pytest.raises(ValueError, match="observation_noise: its rows have the labels of X in another order"):
        kalman().step(ROWS, y, observation_noise=noise[::-1])
    kalman().step(ROWS, y, observation_noise=noise)


def test_a_weight_that_is_too_small_is_named() -> None:
    with pytest.raises(ValueError, match=r"sample_weight\[1\] is 1e-320: the variance of the noise"):
        kalman().partial_fit(X[:2], y[:2], sample_weight=[1.0, 1e-320])
