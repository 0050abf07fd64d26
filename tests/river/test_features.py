"""Rows from dictionaries: missing features are zero, whatever the order of the others and whatever came before."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orfit_bench.river import ESTIMATORS
from orfit_bench.river.features import Features

NAMES = st.sampled_from(["a", "b", "c", 1, ("d", 2), "e"])
VALUES = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53) | st.booleans()
ROWS = st.lists(st.dictionaries(NAMES, VALUES), min_size=1, max_size=6)


@given(rows=ROWS, constant=st.booleans())
def test_rows_are_the_values_in_the_order_of_the_names_with_zeros_for_the_missing_ones(
    rows: list[dict[Any, Any]], constant: bool
) -> None:
    features, order = Features(constant), []
    for x in rows:
        new = features.new(x)
        features, order = features.with_new(new), [*order, *new]
        wanted = [1.0] * constant + [float(x.get(name, 0)) for name in order]
        assert features.width == len(wanted)
        np.testing.assert_array_equal(features.row(x), wanted)
        known = features.known_row(x)
        assert (known is not None) == (len(x) == len(order) and features.width > 0)
        np.testing.assert_array_equal(features.row({**x, "unknown": 7.0}), wanted)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(features)).row(x), wanted)


@pytest.mark.parametrize("bad", [10**400, 2**53 + 1, np.float64, "1", None, 1j, np.timedelta64(1, "s")])
@pytest.mark.parametrize("others", [{}, {"a": 1.0, "c": 2.0}])
def test_a_value_that_is_no_exact_double_is_named(bad: Any, others: dict[str, float]) -> None:
    features = Features(True).with_new(["a", "b", "c"])
    with pytest.raises((TypeError, ValueError), match="feature 'b'"):
        features.row({**others, "b": bad})
    np.testing.assert_array_equal(features.row({"b": np.float32(2)}), [1.0, 0.0, 2.0, 0.0])


def test_a_number_beyond_float64_in_a_row_that_lacks_features_is_named() -> None:
    model = ESTIMATORS["rls"](backend="numpy")
    model.learn_one({"a": 1.0, "b": 2.0, "c": 3.0}, 1.0)
    with pytest.raises(ValueError, match="the feature 'b' is inf"):
        model.learn_one({"b": np.longdouble("1e4000")}, 1.0)
