"""Zarr files of xarray, whose conventions convert stored numbers: dates, packed numbers, missing integers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from orfit_bench.spec import Stream

pytestmark = pytest.mark.filterwarnings("ignore:Consolidated metadata")
versions = pytest.mark.parametrize("version", [2, 3])
DAYS = ["2026-01-03", "2026-01-01", "2026-01-02"]


def written(folder: Path, version: int, days: list[str | None] | None = None, **encoding: dict[str, Any]) -> Path:
    columns = {"a": ("row", [1.5, 2.0, 2.5]), "i": ("row", [1, 2, -9]), "y": ("row", [3.0, 4.0, 5.0])}
    data = xr.Dataset(columns, coords={"day": ("row", pd.to_datetime(days or list(DAYS)))})
    data.to_zarr(path := folder / "rides.zarr", zarr_format=version, encoding=encoding)  # type: ignore[call-overload]
    return path


@versions
def test_numbers_are_read_as_they_are(version: int, tmp_path: Path) -> None:
    data = Stream.from_file(written(tmp_path, version), "y", drop=["day"]).load()
    assert data.feature_names == ("a", "i")
    assert np.asarray(data.X).tolist() == [[1.5, 1], [2, 2], [2.5, -9]]


@versions
@pytest.mark.parametrize("packing", [{"scale_factor": 0.1}, {"add_offset": 5.0}])
def test_packed_numbers_are_refused(version: int, packing: dict[str, Any], tmp_path: Path) -> None:
    path = written(tmp_path, version, a={"dtype": "int16", "_FillValue": -1, **packing})
    with pytest.raises(TypeError, match="column 'a' is of type numbers packed by xarray, want numbers: write what"):
        Stream.from_file(path, "y", drop=["day"])
    with pytest.raises(TypeError, match="the target 'a' is of type numbers packed by xarray"):
        Stream.from_file(path, "a", drop=["day"])
    assert Stream.from_file(path, "y", drop=["day", "a"]).load().feature_names == ("i",)


@versions
def test_integers_that_stand_for_missing_values_are_refused(version: int, tmp_path: Path) -> None:
    path = written(tmp_path, version, i={"_FillValue": -9})
    with pytest.raises(
        TypeError, match=r"column 'i' is of type numbers packed by xarray \(missing: -9\), want numbers"
    ):
        Stream.from_file(path, "y", drop=["day"])


@versions
@pytest.mark.parametrize("missing", [-9999.0, 1e20])
def test_numbers_that_stand_for_missing_values_are_refused(version: int, missing: float, tmp_path: Path) -> None:
    path = written(tmp_path, version, a={"_FillValue": missing})
    with pytest.raises(
        TypeError, match=r"column 'a' is of type numbers packed by xarray \(missing: .*\), want numbers"
    ):
        Stream.from_file(path, "y", drop=["day"])
    data = Stream.from_file(written(tmp_path / "other", version, a={"_FillValue": np.nan}), "y", drop=["day"]).load()
    assert np.asarray(data.X)[:, 0].tolist() == [1.5, 2.0, 2.5]


@versions
def test_dates_order_the_rows_and_are_no_numbers(version: int, tmp_path: Path) -> None:
    path = written(tmp_path, version)
    with pytest.raises(TypeError, match="column 'day' is of type date, want numbers: order the rows by it"):
        Stream.from_file(path, "y")
    assert np.asarray(Stream.from_file(path, "y", time="day").load().y).tolist() == [4, 5, 3]


@versions
def test_a_missing_date_is_refused(version: int, tmp_path: Path) -> None:
    path = written(tmp_path, version, [DAYS[0], None, DAYS[2]])
    with pytest.raises(ValueError, match="the time 'day' has missing values"):
        Stream.from_file(path, "y", time="day").load()
