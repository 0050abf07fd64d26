"""Matrices and weights with labels are refused as settings: there are no columns to compare the labels with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import orfit_bench as ob

NAMES = ["slope", "level"]
MATRIX = pd.DataFrame(np.diag([1.0, 1e-6]), index=NAMES, columns=NAMES)
NAMED = [MATRIX, MATRIX.reset_index(drop=True), xr.DataArray(MATRIX.to_numpy(), dims=("a", "b"), coords={"a": NAMES})]


@pytest.mark.parametrize("value", NAMED, ids=["frame", "columns", "array"])
@pytest.mark.parametrize("setting", ["process_noise", "transition", "initial_covariance"])
def test_matrices_with_labels_are_refused(setting: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"kalman: {setting}=.*has the names 'slope', 'level', .*its to_numpy"):
        ob.create("kalman", **{setting: value})
    assert ob.create("kalman", **{setting: value.to_numpy()}).settings[setting].shape == (2, 2)


def test_vectors_with_labels_are_refused() -> None:
    with pytest.raises(ValueError, match=r"initial_mean=.*has the names"):
        ob.create("kalman", initial_mean=pd.Series([1.0, 2.0], index=NAMES))
    assert ob.create("kalman", initial_mean=pd.Series([1.0, 2.0])).settings["initial_mean"].shape == (2,)


def test_weights_of_a_learner_of_named_columns_are_refused() -> None:
    rows = pd.DataFrame(np.eye(2), columns=NAMES)
    weights = ob.create("rls").partial_fit(rows, [1.0, 2.0]).state()["w"]
    with pytest.raises(ValueError, match=r"initial_weights: got weights with the names 'slope', 'level', .*to_numpy"):
        ob.create("lms", initial_weights=weights)
    unnamed = ob.create("rls").partial_fit(rows.to_numpy(), [1.0, 2.0]).state()["w"]
    for given in (weights.to_numpy(), unnamed):
        assert ob.create("lms", initial_weights=given).initial_weights.shape == (2, 1)
