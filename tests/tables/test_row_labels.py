"""Labels of rows, if X and other arguments have some: they must not be permuted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import orfit_bench as ob

RNG = np.random.default_rng(0)
TIMES = pd.date_range("2026-01-01", periods=6)
TURNED = [1, 0, 2, 3, 4, 5]


def frame(index: Any = TIMES) -> pd.DataFrame:
    return pd.DataFrame(RNG.standard_normal((6, 2)), columns=["a", "b"], index=index)


def array(*dims: str) -> xr.DataArray:
    sizes = {"sensor": 3, "time": 6, "feature": 2}
    coords = {"time": TIMES, "sensor": list("xyz"), "feature": ["a", "b"]}
    shape = [sizes[dim] for dim in dims]
    return xr.DataArray(RNG.standard_normal(shape), dims=dims, coords={dim: coords[dim] for dim in dims})


def test_rows_along_the_second_dimension_of_X_are_refused() -> None:
    X = xr.DataArray(RNG.standard_normal((3, 3)), dims=("sensor", "row"))
    y = xr.DataArray(np.arange(3.0), dims="row")
    with pytest.raises(ValueError, match=r"along 'row', those of X along 'sensor': pass X.transpose\('row'"):
        ob.create("rls").partial_fit(X, y)
    learner = ob.create("rls").partial_fit(X.transpose("row", "sensor"), y)
    assert learner.n_samples_seen_ == ob.create("rls").partial_fit(X, y.rename(row="time")).n_samples_seen_ == 3


@pytest.mark.parametrize("index", [TIMES, range(6), list("uvwxyz")], ids=["times", "numbers", "texts"])
@pytest.mark.parametrize(
    "learn",
    [
        lambda X, y: ob.create("rls").partial_fit(X, y),
        lambda X, y: ob.create("rls").prequential(X, y),
        lambda X, y: ob.create("rls").partial_fit(X, np.ones(6), sample_weight=abs(y)),
        lambda X, y: ob.create("kalman").log_likelihood(X, y),
        lambda X, y: ob.create("kalman").partial_fit(X, np.ones(6), observation_noise=1 + abs(y)),
        lambda X, y: ob.fleet("rls", 2).partial_fit(X, np.ones(6), which=(y > 0).astype(int)),
        lambda X, y: ob.create("class_rls").partial_fit(X, y > 0),
        lambda X, y: ob.pipeline("standardize", ob.create("rls")).partial_fit(X, y),
        lambda X, y: ob.pipeline("intercept", ob.create("rls")).partial_fit(X, y),
    ],
)
def test_rows_in_another_order_are_refused(learn: Any, index: Any) -> None:
    X = frame(index)
    learn(X, X["a"])
    learn(X, pd.Series(X["a"].to_numpy()))  # numbered, so without labels
    message = r"its rows have the labels of X in another order: row 0 has .*, in X .*\. Put them .*to_numpy\(\)"
    with pytest.raises(ValueError, match=message):
        learn(X, X["a"].iloc[TURNED])
    with pytest.raises(ValueError, match=message):
        learn(array("time", "feature"), array("time")[TURNED])


def test_rows_that_only_one_side_labels_are_taken_in_order() -> None:
    X = frame()
    for y in (X["a"].tolist(), X["a"].to_numpy(), X["a"].reset_index(drop=True), xr.DataArray(X["a"].to_numpy())):
        assert ob.create("rls").partial_fit(X, y).n_samples_seen_ == 6


@pytest.mark.parametrize(
    ("of_rows", "of_targets"),
    [
        (range(6), range(10, 16)),
        (TIMES, TIMES + pd.Timedelta(days=1)),  # the target of the next day
        (TIMES.tz_localize("UTC"), TIMES.tz_localize("UTC").tz_convert("Asia/Tokyo")),
        (["u", 1, None, "v", 2, "w"], ["v", 1, None, "u", 2, "x"]),  # labels without an order
        (pd.array([1, 2, pd.NA, 4, 5, 6], "Int64"), pd.array([1, 2, 3, 4, 5, 6], "Int64")),
    ],
    ids=["later numbers", "later times", "time zones", "mixed", "missing"],
)
def test_other_labels_are_taken_by_their_places(of_rows: Any, of_targets: Any) -> None:
    X = frame(of_rows)
    y = pd.Series(X["a"].to_numpy(), index=of_targets)
    assert ob.create("rls").partial_fit(X, y, sample_weight=y.abs()).n_samples_seen_ == 6


@pytest.mark.parametrize(
    ("of_rows", "of_targets"),
    [
        (range(6), pd.array(TURNED, "Int64")),
        (TIMES.tz_localize("UTC"), TIMES.tz_localize("UTC").tz_convert("Asia/Tokyo")[TURNED]),
        (["u", 1, None, "v", 2, "w"], ["v", 1, None, "u", 2, "w"]),  # labels without an order
        (pd.array([1, 2, pd.NA, 4, 5, 6], "Int64"), [1.0, 2, 4, pd.NA, 5, 6]),
    ],
    ids=["numbers", "time zones", "mixed", "missing"],
)
def test_labels_of_other_dtypes_in_another_order_are_refused(of_rows: Any, of_targets: Any) -> None:
    X = frame(of_rows)
    y = pd.Series(X["a"].to_numpy(), index=of_targets)
    with pytest.raises(ValueError, match="in another order: row"):
        ob.create("rls").partial_fit(X, y)


def test_labels_of_xarray_are_read_by_every_learner() -> None:
    X, y = array("time", "feature"), xr.DataArray(list("uvuvuv"), dims="time", coords={"time": TIMES})
    one = ob.create("class_rls").partial_fit(X, y)
    assert one.classes_.tolist() == ["u", "v"]


def test_other_lengths_are_refused_for_their_shapes() -> None:
    with pytest.raises(ValueError, match="y: got 5 rows, want 6"):
        ob.create("rls").partial_fit(frame(), frame()["a"].iloc[:5])


def test_fleets_compare_the_labels_of_members_and_rows() -> None:
    X, y = array("sensor", "time", "feature"), array("sensor", "time")
    fleet = ob.fleet("rls", 3, ridge=1e-6).partial_fit(X[:, :3], y[:, :3]).partial_fit(X[:, 3:], y[:, 3:])
    plain = ob.fleet("rls", 3, ridge=1e-6).partial_fit(X.to_numpy(), y.to_numpy())
    np.testing.assert_allclose(fleet.predict(X), plain.predict(X.to_numpy()), atol=1e-12)
    for wrong in (y[:, TURNED], y[[1, 0, 2]]):
        with pytest.raises(ValueError, match="in another order"):
            fleet.partial_fit(X, wrong)
    with pytest.raises(ValueError, match=r"got the dimensions 'time', 'sensor', .* y.transpose\('sensor', 'time'\)"):
        fleet.partial_fit(X, y.T)
    labels = ob.fleet("class_rls", 3).partial_fit(X, y > 0)
    with pytest.raises(ValueError, match="in another order"):
        labels.partial_fit(X, (y > 0)[:, TURNED])


def test_a_table_of_targets_of_a_fleet_has_no_names_of_outputs() -> None:
    X, y = RNG.standard_normal((3, 6, 2)), pd.DataFrame(RNG.standard_normal((3, 6)), columns=TIMES)
    one = ob.fleet("rls", 3).partial_fit(X, y).predict(X)
    assert np.array_equal(one, ob.fleet("rls", 3).partial_fit(X, y.to_numpy()).predict(X))
