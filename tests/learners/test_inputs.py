"""Rows and targets: invalid ones are refused with a message that names the place and change nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from helpers.filters import refused
from helpers.inputs import BLOCKS, METHODS, X, each_call, y

import orfit_bench as ob
from orfit_bench.learners.regressor import Regressor

Same = Callable[[ob.Learner, ob.Learner], None]


def with_entry(a: Any, place: Any, value: float) -> Any:
    a = a.copy()
    a[place] = value
    return a


INVALID_X: dict[str, tuple[Any, type[Exception], str]] = {
    "complex": (X + 0j, TypeError, "{X}: got ndarray of dtype complex128, want real numbers"),
    "objects": (X.astype(object), TypeError, "{X}: got ndarray of dtype object, want real numbers"),
    "texts": (X.astype(str), TypeError, "{X}: .* want real numbers"),
    "bytes": (X.astype(bytes), TypeError, "{X}: .* want real numbers"),
    "dates": (np.zeros((6, 3), "datetime64[D]"), TypeError, "{X}: .* datetime64"),
    "records": (np.zeros((6, 3), [("a", float)]), TypeError, "{X}: .* want real numbers"),
    "masked": (np.ma.masked_array(X, X > 0), TypeError, "{X}: got a masked array"),
    "huge integers": ([[10**400] * 3] * 6, TypeError, "{X}: got list of dtype object"),
    "None": (None, TypeError, "{X}: got NoneType"),
    "a number": (3.0, ValueError, r"{X}: got shape \(\), want 2 dimensions"),
    "one row flat": (X[0], ValueError, r"{X}: got shape \(3,\), want 2 dimensions .* {X}\[None, :\]"),
    "three dimensions": (X[None], ValueError, r"{X}: got shape \(1, 6, 3\), want 2 dimensions"),
    "ragged": ([[1.0, 2.0, 3.0], [1.0]] * 3, ValueError, "{X}: rows of unequal length"),
    "no columns": (X[:, :0], ValueError, r"{X}: got (shape \(6, 0\)|0 columns), want"),
    "nan": (with_entry(X, (4, 1), np.nan), ValueError, r"{X}\[4, 1\] is nan \(row 4, column 1; 1 such in all\)"),
    "inf": (with_entry(X, (0, 2), np.inf), ValueError, r"{X}\[0, 2\] is inf \(row 0, column 2"),
    "-inf": (with_entry(X, (5, 0), -np.inf), ValueError, r"{X}\[5, 0\] is -inf \(row 5, column 0"),
    "half inf": (with_entry(X, (3, 1), np.inf).astype(np.float16), ValueError, r"{X}\[3, 1\] is inf"),
}
INVALID_Y: dict[str, tuple[Any, type[Exception], str]] = {
    "complex": (y + 0j, TypeError, "y: got ndarray of dtype complex128, want real numbers"),
    "objects": (y.astype(object), TypeError, "y: .* want real numbers"),
    "texts": (y.astype(str), TypeError, "y: .* want real numbers"),
    "masked": (np.ma.masked_array(y), TypeError, "y: got a masked array"),
    "None": (None, TypeError, "y: got NoneType"),
    "a number": (3.0, ValueError, r"y: got shape \(\), want \(n,\)"),
    "three dimensions": (y[:, None, None], ValueError, r"y: got shape \(6, 1, 1\)"),
    "no outputs": (np.empty((6, 0)), ValueError, r"y: got shape \(6, 0\), want"),
    "short": (y[:5], ValueError, "y: got 5 rows, want 6, one for each row of {X}"),
    "long": (np.ones(7), ValueError, "y: got 7 rows, want 6"),
    "ragged": ([[1.0], [1.0, 2.0]] * 3, ValueError, "y: rows of unequal length"),
    "nan": (with_entry(y, 4, np.nan), ValueError, r"y\[4\] is nan \(row 4; 1 such in all\)"),
    "-inf": (with_entry(y, 0, -np.inf), ValueError, r"y\[0\] is -inf \(row 0;"),
    "inf in an output": (np.array([[0.0, np.inf]] * 6), ValueError, r"y(\[0, 1\] is inf|: got shape \(6, 2\))"),
}
CHANGED: dict[str, tuple[Any, Any, str]] = {
    "fewer features": (X[:, :2], y, "{X}: got 2 columns, want 3 as in the first call"),
    "more features": (np.ones((6, 4)), y, "{X}: got 4 columns, want 3 as in the first call"),
    "a column of y": (X, y[:, None], r"y: got shape \(6, 1\), want \(n,\) as in the first call"),
    "two outputs": (X, np.ones((6, 2)), r"y: got shape \(6, 2\), want \(n,\) as in the first call"),
    "features of no rows": (np.empty((0, 2)), np.empty(0), "{X}: got 2 columns, want 3"),
}


def fresh_and_trained(method: str, **settings: Any) -> Iterator[ob.Learner]:
    yield ob.create(method, **settings)
    yield ob.create(method, **settings).partial_fit(X, y)


@pytest.mark.parametrize("case", INVALID_X)
def test_invalid_X_is_refused(case: str, same_state: Same) -> None:
    bad, error, message = INVALID_X[case]
    for learner in fresh_and_trained("orfit"):
        for name, call in each_call("orfit"):
            refused(learner, lambda it, call=call: call(it, bad, y), error, message.replace("{X}", name), same_state)
    refused(learner, lambda it: it.predict(bad), error, message.replace("{X}", "X"), same_state)


@pytest.mark.parametrize("case", INVALID_Y)
def test_invalid_y_is_refused(case: str, same_state: Same) -> None:
    bad, error, message = INVALID_Y[case]
    for learner in fresh_and_trained("orfit"):
        for name, call in each_call("orfit"):
            refused(learner, lambda it, call=call: call(it, X, bad), error, message.replace("{X}", name), same_state)


@pytest.mark.parametrize("case", CHANGED)
def test_later_calls_agree_with_the_first(case: str, same_state: Same) -> None:
    new_X, new_y, message = CHANGED[case]
    learner = ob.create("orfit").partial_fit(X, y)
    for name, call in each_call("orfit"):
        text = message.replace("{X}", name)
        refused(learner, lambda it, call=call: call(it, new_X, new_y), ValueError, text, same_state)
    if new_X.shape[1] != 3:
        refused(learner, lambda it: it.predict(new_X), ValueError, message.replace("{X}", "X"), same_state)


def test_the_number_of_outputs_is_fixed(same_state: Same) -> None:
    learner = ob.create("orfit").partial_fit(X, np.ones((6, 2)))
    for bad, got in ((y, r"\(6,\)"), (y[:, None], r"\(6, 1\)"), (np.ones((6, 3)), r"\(6, 3\)")):
        refused(
            learner,
            lambda it, bad=bad: it.partial_fit(X, bad),
            ValueError,
            rf"got shape {got}, want \(n, 2\)",
            same_state,
        )


def test_a_fresh_learner_stays_fresh_after_a_refusal() -> None:
    learner = ob.create("orfit")
    for bad_X, bad_y in ((X, y[:5]), (INVALID_X["nan"][0], y), (X, INVALID_Y["nan"][0])):
        with pytest.raises(ValueError, match=r"got 5 rows|is nan"):
            learner.partial_fit(bad_X, bad_y)
        with pytest.raises(AttributeError, match="known after the first call"):
            _ = learner.n_features_in_
    learner.partial_fit(np.ones((2, 5)), np.ones((2, 2)))  # another d and c than those refused
    assert learner.n_features_in_ == 5
    assert learner.predict(np.ones((1, 5))).shape == (1, 2)


def test_overflow_on_conversion_to_float32(same_state: Same) -> None:
    big_X, big_y = with_entry(X, (2, 1), 1e39), with_entry(y, 3, -1e39)
    for learner in fresh_and_trained("orfit", dtype="float32"):
        for name, call in each_call("orfit"):
            for args, text in (((big_X, y), rf"{name}\[2, 1\] = 1e\+39"), ((X, big_y), r"y\[3\] = -1e\+39")):
                message = text + " overflows float32: scale it or take float64"
                refused(learner, lambda it, call=call, args=args: call(it, *args), ValueError, message, same_state)
    refused(learner, lambda it: it.predict(big_X), ValueError, r"X\[2, 1\] = 1e\+39 overflows", same_state)


@pytest.mark.parametrize("method", sorted(set(METHODS) - set(BLOCKS)))
def test_a_step_without_a_rule_for_blocks_is_refused(method: str, same_state: Same) -> None:
    for learner in fresh_and_trained(method):
        refused(learner, lambda it: it.step(X, y), TypeError, f"{method} learns row by row .* partial_fit", same_state)


@pytest.mark.parametrize("method", BLOCKS)
def test_a_step_without_rows_is_refused(method: str, same_state: Same) -> None:
    for learner in fresh_and_trained(method):
        refused(learner, lambda it: it.step(X[:0], y[:0]), ValueError, "A: got no rows, want at least one", same_state)


def test_a_step_while_rows_are_pending_is_refused(same_state: Same) -> None:
    learner = ob.create("orfit", batch_size=4).partial_fit(X, y)
    refused(learner, lambda it: it.step(X, y), ValueError, r"2 rows are pending for a batch of 4", same_state)


def test_invalid_input_while_rows_are_pending_is_refused(same_state: Same) -> None:
    learner = ob.create("orfit", batch_size=4).partial_fit(X, y)
    refused(learner, lambda it: it.partial_fit(INVALID_X["nan"][0], y), ValueError, r"X\[4, 1\]", same_state)
    refused(learner, lambda it: it.prequential(X, y[:2]), ValueError, "y: got 2 rows", same_state)


@pytest.mark.parametrize("method", METHODS)
def test_predict_needs_a_first_chunk_which_may_be_empty(method: str) -> None:
    learner = ob.create(method)
    with pytest.raises(ValueError, match=f"{method} has seen no chunk yet: call partial_fit first"):
        learner.predict(X)
    learner.partial_fit(X[:0], y[:0])
    assert learner.n_features_in_ == 3
    assert learner.n_samples_seen_ == 0
    np.testing.assert_array_equal(learner.predict(X), np.zeros(6))


def test_rls_without_a_prior(same_state: Same) -> None:
    for call in (Regressor.partial_fit, Regressor.prequential):
        text = r"the first call must be step\(A0, y0\)"
        refused(ob.create("rls", ridge=0.0), lambda it, call=call: call(it, X, y), ValueError, text, same_state)
    low = np.column_stack([X[:, :2], X[:, 0] + X[:, 1]])
    for A, rank in ((low, 2), (X[:2], 2), (np.zeros((6, 3)), 0)):
        text = f"the first block has rank {rank}, want 3: pass more rows or set ridge > 0"
        refused(
            ob.create("rls", ridge=0.0),
            lambda it, A=A: it.step(A, y[: len(A)]),
            ValueError,
            text,
            same_state,
        )
    learner = ob.create("rls", ridge=0.0).partial_fit(X[:0], y[:0])  # a chunk of no rows learns nothing: allowed
    refused(learner, lambda it: it.partial_fit(X, y), ValueError, "the first call must be step", same_state)
    learner.step(X[:4], y[:4]).partial_fit(X[4:], y[4:])
    np.testing.assert_allclose(learner.array("w")[:, 0], np.linalg.lstsq(X, y, rcond=None)[0], rtol=1e-10)


NUMBERS = np.arange(18.0).reshape(6, 3) % 5 - 2
OTHER_TYPES: dict[str, tuple[Any, Any]] = {
    "lists": (NUMBERS.tolist(), [1.0, 0.0, 1.0, 0.0, 1.0, 1.0]),
    "integers": (NUMBERS.astype(np.int8), np.array([1, 0, 1, 0, 1, 1])),
    "booleans": (NUMBERS, np.array([True, False, True, False, True, True])),
    "float32": (NUMBERS.astype(np.float32), np.array([1, 0, 1, 0, 1, 1], np.float32)),
    "long double": (NUMBERS.astype(np.longdouble), np.array([1, 0, 1, 0, 1, 1], np.longdouble)),
    "big-endian integers": (NUMBERS.astype(">f8"), np.array([1, 0, 1, 0, 1, 1], ">i4")),
}


@pytest.mark.parametrize("case", OTHER_TYPES)
def test_real_numbers_of_every_type_are_converted(case: str, same_state: Same) -> None:
    expected = ob.create("orfit").partial_fit(NUMBERS, np.array([1.0, 0.0, 1.0, 0.0, 1.0, 1.0]))
    same_state(ob.create("orfit").partial_fit(*OTHER_TYPES[case]), expected)
    np.testing.assert_array_equal(expected.predict(OTHER_TYPES[case][0]), expected.predict(NUMBERS))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("outputs", [(), (1,), (3,)])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (1, 4), (5, 1), (3, 9), (0, 2)])
def test_predictions_have_the_shape_and_dtype_of_targets(n: int, d: int, outputs: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(n + d)
    A, b = rng.standard_normal((n, d)), rng.standard_normal((n, *outputs))
    learner = ob.create("orfit", dtype=dtype)
    predictions = learner.prequential(A, b)
    assert predictions.shape == b.shape
    assert predictions.dtype == dtype
    assert learner.n_samples_seen_ == n
    predicted = learner.predict(np.ones((2, d)))
    assert predicted.shape == (2, *outputs)
    assert predicted.dtype == dtype
    assert np.isfinite(predicted).all()
    assert learner.predict(np.ones((0, d))).shape == (0, *outputs)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_integers_that_would_be_rounded_are_refused(dtype: str) -> None:
    limit = 2 ** (np.finfo(dtype).nmant + 1)
    learner = ob.create("ridge", backend="numpy", dtype=dtype)
    learner.partial_fit([[limit, -limit]], [1])
    for value in (limit + 1, -limit - 1):
        for rows in (np.array([[0, value]]), [[0, value]]):
            with pytest.raises(ValueError, match=rf"X\[0, 1\] = {value} would be rounded: {dtype} holds"):
                learner.partial_fit(rows, [1])
    assert learner.n_samples_seen_ == 1


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("method", ["rls", "kalman", "lms"])
def test_integer_targets_that_would_be_rounded_are_refused_by_every_row(method: str, dtype: str) -> None:
    limit, x = 2 ** (np.finfo(dtype).nmant + 1), np.ones(2, dtype)
    learner = ob.create(method, dtype=dtype).partial_fit([[1.0, 2.0]], [1.0])
    for value in (limit + 1, -limit - 1, np.int64(limit + 1)):
        for learn in (partial(learner.learn_one, x, value), partial(learner.partial_fit, [x], np.array([value]))):
            with pytest.raises(ValueError, match=rf"y\[0\] = {value} would be rounded: {dtype} holds"):
                learn()
    assert learner.learn_one(x, 2 * limit).n_samples_seen_ == 2


def test_masked_rows_in_a_list_are_refused() -> None:
    rows = [np.ma.masked_array(row, row > 0) for row in X]
    with pytest.raises(TypeError, match="X: got masked values in a list"):
        ob.create("rls", backend="numpy").partial_fit(rows, y)
    with pytest.raises(TypeError, match="y: got masked values in a list"):
        ob.create("rls", backend="numpy").partial_fit(X, [*y[:-1], np.ma.masked])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.array([[1.0, None]], object), r"X\[0, 1\] is None; where a value may be missing, it is NaN"),
        ([{"a": 1.0}], r"X\[0\] is of type dict"),
        (np.array([[1.0, 2.0]], object), r"all of them are numbers, pass np.asarray\(X, float\)"),
        ([[1, 2**70]], r"all of them are numbers, pass np.asarray\(X, float\)"),  # a double
        ([[1, 10**400]], r"X\[0, 1\] is an integer of 1329 bits, which overflows float64: scale it"),
        ([[1, 2**70 + 1]], r"X\[0, 1\] = 1180591620717411303425 would be rounded: float64 holds all integers up to 2"),
    ],
)
def test_the_entry_that_is_no_number_is_named(rows: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        ob.create("rls").partial_fit(rows, [1.0])
