"""The results of a run: one labelled Dataset with a dimension for each axis, and the attributes of its file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from orfit_bench.jobs.provenance import as_attributes
from orfit_bench.jobs.runner import Record
from orfit_bench_papers.procedure import Procedure, Setup

if TYPE_CHECKING:
    import xarray

FORMAT = "orfit_bench reproduction 1"


def join(axes: Mapping[str, list[Any]], records: list[Record]) -> xarray.Dataset:
    """The cells, in the order of their product, as one Dataset with a dimension for each axis."""
    import xarray

    parts = [xarray.Dataset.from_dict(record["measured"]) for record in records]
    for axis, places in reversed(list(axes.items())):
        n = len(places)
        index = xarray.DataArray(places, dims=axis, name=axis)
        parts = [
            xarray.concat(parts[i : i + n], index, combine_attrs="override", join="exact", coords="minimal")
            for i in range(0, len(parts), n)
        ]
    (dataset,) = parts
    return dataset


def describe(procedure: Procedure, chosen: Setup, origin: dict[str, Any], records: list[Record]) -> dict[str, str]:
    """The attributes of the results, without a date, so that the same numbers give the same file."""
    notes = sorted({note for record in records for note in record["notes"]})
    attrs = {"format": FORMAT, "experiment": procedure.name, "source": procedure.experiment.source}
    attrs |= {"data": chosen.data, "backend": chosen.backend}
    return attrs | as_attributes({"protocol": dict(chosen.protocol), "notes": notes, **origin})
