"""Datasets with changed attributes, and arguments that are not paths, are refused with messages that name them."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import orfit_bench as ob


@pytest.mark.parametrize("value", ["garbage", '{"format": 4', 7])
@pytest.mark.parametrize("name", ["orfit_bench", "pipeline"])
def test_a_spoiled_attribute_of_a_dataset_is_refused(name: str, value: Any, rows: Any) -> None:
    state = ob.pipeline("intercept", ob.create("lms")).partial_fit(*rows(6)).state()
    with pytest.raises(ValueError, match=f"^state: the attribute '{name}' was changed or damaged: it is no JSON"):
        ob.restore(state.assign_attrs({name: value}))


@pytest.mark.parametrize("value", ["null", "99.0", "[]"])
def test_a_header_of_a_dataset_with_names_that_is_no_mapping_is_refused(value: str, rows: Any) -> None:
    X, y = rows(6)
    table = pd.DataFrame(X).add_prefix("x")
    state = ob.create("lms").partial_fit(table, y).state()
    with pytest.raises(ValueError, match=r"^state: the attribute 'orfit_bench' was changed or damaged: got .*, want a"):
        ob.restore(state.assign_attrs(orfit_bench=value))


def test_errors_of_a_dataset_begin_with_state_once(rows: Any) -> None:
    state = ob.create("lms").partial_fit(*rows(6)).state()
    with pytest.raises(ValueError, match=r"^state: the array 'w' is missing"):
        ob.restore(state.drop_vars("w"))
    pipeline = ob.pipeline("intercept", ob.create("lms")).partial_fit(*rows(6)).state()
    with pytest.raises(ValueError, match=r"^state: not the header of a pipeline"):
        ob.restore(pipeline.assign_attrs(pipeline="{}"))


def test_a_number_is_no_path() -> None:
    with pytest.raises(TypeError, match=r"expected str, bytes or os\.PathLike object, not int"):
        ob.load(3)  # type: ignore[arg-type]
