"""Fleets and names of columns: order of the first table, refusal of other names, names kept with the state."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr

import orfit_bench as ob

NAMES = ["temp", "wind", "price"]
rng = np.random.default_rng(0)
X, WHICH = rng.standard_normal((12, 3)), np.array([0, 1, 0, 2, 2, 1, 0, 1, 2, 0, 1, 2])
Y = X @ rng.standard_normal((3, 2))
TABLE = pd.DataFrame(X, columns=NAMES)
equal = np.testing.assert_array_equal


def rls(rows: Any = TABLE, targets: Any = Y[:, 0]) -> Any:
    return ob.fleet("rls", 3, backend="numpy").partial_fit(rows, targets, which=WHICH)


@pytest.mark.parametrize("make", [lambda t: t, pl.from_pandas, lambda t: xr.DataArray(t, dims=("row", "feature"))])
def test_columns_are_put_in_order(make: Callable[[Any], Any]) -> None:
    fleet, plain = rls(make(TABLE)), rls(X)
    other = make(TABLE[NAMES[::-1]])
    assert fleet.feature_names_in_.tolist() == NAMES
    assert [member.feature_names_in_.tolist() for member in fleet] == [NAMES] * 3
    equal(fleet.predict(other, which=WHICH), plain.predict(X, which=WHICH))
    equal(fleet.prequential(other, Y[:, 0], which=pd.Series(WHICH)), plain.prequential(X, Y[:, 0], which=WHICH))
    equal(fleet[1].predict(other), plain[1].predict(X))


def test_rows_with_a_leading_axis_have_names_too() -> None:
    rows = xr.DataArray(X.reshape(3, 4, 3), dims=("member", "row", "feature"), coords={"feature": NAMES})
    fleet = ob.fleet("nlms", 3, backend="numpy").partial_fit(rows, Y[:, 0].reshape(3, 4))
    equal(fleet.predict(rows[..., ::-1]), fleet.predict(rows))


def test_labels_and_subspaces_have_names() -> None:
    labels = pd.Series(np.where(X[:, 0] > 0, "up", "down"))
    one, two = (ob.fleet("class_rls", 3, backend="numpy").partial_fit(t, labels, which=WHICH) for t in (TABLE, X))
    equal(one.predict(TABLE[NAMES[::-1]], which=WHICH), two.predict(X, which=WHICH))
    equal(one.decision_function(TABLE[NAMES[::-1]], which=WHICH), two.decision_function(X, which=WHICH))
    oja = ob.fleet("oja", 3, backend="numpy", n_components=1).partial_fit(TABLE, which=WHICH)
    equal(oja.transform(TABLE[NAMES[::-1]], which=WHICH), oja.transform(TABLE, which=WHICH))


def test_other_columns_are_refused_and_change_nothing() -> None:
    fleet = rls()
    before = fleet.state()
    for rows, message in (
        (TABLE[["temp", "wind"]], "X: got other columns than in the first call, missing 'price'"),
        (TABLE.rename(columns={"wind": "rain"}), "missing 'wind' and unexpected 'rain'"),
        (TABLE.assign(wind="calm"), "X: column 'wind' is of dtype"),
        (TABLE.assign(wind=np.nan), r"X\[0, 1\] is nan \(column 'wind'; 12 such in all\)"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            fleet.partial_fit(rows, Y[:, 0], which=WHICH)
    assert fleet.state().identical(before)


@pytest.mark.filterwarnings("default")
def test_plain_rows_cause_one_warning() -> None:
    fleet = rls()
    with pytest.warns(UserWarning, match="X has no names of columns, but the first rows had"):
        fleet.predict(X, which=WHICH)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fleet.partial_fit(X, Y[:, 0], which=WHICH)
    assert fleet.feature_names_in_.tolist() == NAMES
    with pytest.raises(AttributeError, match="feature_names_in_ is known once"):
        rls(X).feature_names_in_  # noqa: B018


def test_targets_have_names() -> None:
    targets = pd.DataFrame(Y, columns=["u", "v"])
    fleet = rls(TABLE, targets)
    equal(
        fleet.copy().partial_fit(TABLE, targets[["v", "u"]], which=WHICH).state()["w"],
        rls(X, Y).partial_fit(X, Y, which=WHICH).state()["w"],
    )
    assert fleet[0].state()["output"].values.tolist() == ["u", "v"]
    with pytest.raises(ValueError, match="y: got other columns than in the first call, missing 'v'"):
        fleet.partial_fit(TABLE, targets[["u"]], which=WHICH)


def test_names_are_kept(tmp_path: Any) -> None:
    fleet = rls(TABLE, pd.DataFrame(Y, columns=["u", "v"]))
    fleet.save(tmp_path / "fleet.npz")
    state = fleet.state()
    assert state["w"].dims == ("member", "parameter", "output")
    assert (state["parameter"].values.tolist(), state["output"].values.tolist()) == (NAMES, ["u", "v"])
    for again in (
        fleet.copy(),
        ob.restore(state),
        ob.load(tmp_path / "fleet.npz"),
        ob.from_bytes(fleet.to_bytes()),
        ob.stack(list(fleet)),
        fleet.copy().add(fleet[0]).remove(3),
        fleet.copy().merge(fleet),
    ):
        assert again.feature_names_in_.tolist() == NAMES
        assert again[2].state()["output"].values.tolist() == ["u", "v"]
        assert again.predict(TABLE[NAMES[::-1]], which=WHICH).shape == Y.shape
    with pytest.raises(ValueError, match="the coordinate 'parameter' is"):
        ob.restore(state.sortby("parameter"))


def test_learners_of_other_names_are_no_fleet() -> None:
    def learner(rows: Any) -> Any:
        return ob.create("rls", backend="numpy").partial_fit(rows, Y[:, 0])

    for other in (TABLE[NAMES[::-1]], TABLE.rename(columns={"wind": "rain"})):
        with pytest.raises(ValueError, match="fleet: the learners differ in feature names"):
            ob.stack([learner(TABLE), learner(other)])
    fleet = ob.stack([learner(TABLE), ob.create("rls", backend="numpy"), learner(X)])
    assert fleet[1].feature_names_in_.tolist() == NAMES


def test_rows_without_names_are_warned_of_though_the_first_member_has_learned_none() -> None:
    fleet = ob.fleet("rls", 2, backend="numpy").partial_fit(TABLE, Y[:, 0], which=np.ones(12, int))
    with pytest.warns(UserWarning, match="X has no names of columns"):
        fleet.predict(X, which=WHICH % 2)


def test_targets_of_members_may_be_columns_with_labels_of_rows() -> None:
    X, y = np.ones((2, 2, 3)), np.array([[1.0, 2.0], [3.0, 4.0]])
    columns = [pd.Series(y[0], index=["r1", "r2"]), pd.Series(y[1], index=["q1", "q2"])]
    fleets = [ob.fleet("lms", 2, backend="numpy").partial_fit(X, targets) for targets in (y, columns)]
    assert fleets[0].to_bytes() == fleets[1].to_bytes()
