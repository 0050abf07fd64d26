"""Arrays of xarray as numbers with names, and the labels of a row, without importing xarray or pandas."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.tables.names import NamedValues, arrange, refuse_unnamed

FEATURES = ("feature", "features", "column", "columns", "variable", "variables")
"""Names of the feature dimension of an xarray.DataArray."""


def is_data_set(value: Any) -> bool:
    """Whether the value is an xarray.Dataset."""
    return hasattr(type(value), "data_vars") and hasattr(type(value), "to_dataarray")


def is_data_array(value: Any) -> bool:
    """Whether the value is an xarray.DataArray."""
    return hasattr(type(value), "coords") and hasattr(type(value), "dims") and hasattr(type(value), "to_numpy")


def read_data_array(value: Any, argument: str, known: tuple[str, ...], width: int | None) -> NamedValues:
    """An xarray.DataArray; the names are the coordinate of its last dimension."""
    array = np.asarray(value.to_numpy())
    dim = value.dims[-1] if value.ndim else None
    if value.ndim == 2 and _labels_features(value, value.dims[0]) and not _labels_features(value, dim):
        raise ValueError(
            f"{argument}: the dimension {value.dims[0]!r} of the features is the first, want it last: pass "
            f"{argument}.transpose({dim!r}, {value.dims[0]!r})"
        )
    if value.ndim < 2 or dim not in value.coords:
        if known and value.ndim > 1:
            refuse_unnamed(known, argument)
        return NamedValues(array)
    order, names = arrange(value.coords[dim].to_numpy().tolist(), known, width, argument)
    return NamedValues(array if order == sorted(order) else array[..., order], names)


def labels_of_entries(value: Any) -> list[Any] | None:
    """The labels of the entries of a pandas Series or a one-dimensional DataArray; None if there are none."""
    if hasattr(type(value), "iloc") and not hasattr(type(value), "columns"):
        return list(value.index)
    if not is_data_array(value) or value.ndim != 1 or value.dims[0] not in value.coords:
        return None
    return list(value.coords[value.dims[0]].to_numpy().tolist())


def _labels_features(value: Any, dim: Any) -> bool:
    """Whether a dimension of a DataArray is the feature dimension, by its name or because its labels are strings."""
    if str(dim).lower() in FEATURES:
        return True
    return dim in value.coords and value.coords[dim].dtype.kind in "UOT"
