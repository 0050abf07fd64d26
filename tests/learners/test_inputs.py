"""What a caller hands in: bad input is refused by name and place and changes nothing; good input may look odd."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from helpers.cases import EVERY
from hypothesis import given
from hypothesis import strategies as st

import orfit_bench as ob
from orfit_bench.learners.regressor import Regressor

METHODS = sorted({name for name, _ in EVERY})
BLOCKS = [name for name in METHODS if ob.methods()[name].kernel.blocks]
MODELS = [name for name in METHODS if ob.methods()[name].kernel.models]
Same = Callable[[ob.Learner, ob.Learner], None]

X = np.random.default_rng(0).standard_normal((6, 3))
y = np.random.default_rng(1).standard_normal(6)


def with_entry(a: Any, place: Any, value: float) -> Any:
    a = a.copy()
    a[place] = value
    return a


def each_call(method: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The calls that learn, with the name that their messages give to the first argument."""
    yield "X", lambda learner, X, y: learner.partial_fit(X, y)
    yield "X", lambda learner, X, y: learner.prequential(X, y)
    if method in BLOCKS:
        yield "A", lambda learner, X, y: learner.step(X, y)


# ---------------------------------------------------------------------- bad rows

BAD_X: dict[str, tuple[Any, type[Exception], str]] = {
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
BAD_Y: dict[str, tuple[Any, type[Exception], str]] = {
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


def refuses(learner: ob.Learner, call: Callable[..., Any], error: type[Exception], message: str, same: Same) -> None:
    """The call fails with this message, and nothing has changed."""
    before = learner.copy()
    with pytest.raises(error, match=message):
        call(learner)
    same(learner, before)


def fresh_and_trained(method: str, **settings: Any) -> Iterator[ob.Learner]:
    yield ob.create(method, **settings)
    yield ob.create(method, **settings).partial_fit(X, y)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", BAD_X)
def test_bad_X_is_refused(case: str, method: str, same_state: Same) -> None:
    bad, error, message = BAD_X[case]
    for learner in fresh_and_trained(method):
        for name, call in each_call(method):
            refuses(learner, lambda it, call=call: call(it, bad, y), error, message.replace("{X}", name), same_state)
    refuses(learner, lambda it: it.predict(bad), error, message.replace("{X}", "X"), same_state)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", BAD_Y)
def test_bad_y_is_refused(case: str, method: str, same_state: Same) -> None:
    bad, error, message = BAD_Y[case]
    for learner in fresh_and_trained(method):
        for name, call in each_call(method):
            refuses(learner, lambda it, call=call: call(it, X, bad), error, message.replace("{X}", name), same_state)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", CHANGED)
def test_later_calls_agree_with_the_first(case: str, method: str, same_state: Same) -> None:
    new_X, new_y, message = CHANGED[case]
    learner = ob.create(method).partial_fit(X, y)
    for name, call in each_call(method):
        text = message.replace("{X}", name)
        refuses(learner, lambda it, call=call: call(it, new_X, new_y), ValueError, text, same_state)
    if new_X.shape[1] != 3:
        refuses(learner, lambda it: it.predict(new_X), ValueError, message.replace("{X}", "X"), same_state)


@pytest.mark.parametrize("method", METHODS)
def test_outputs_are_fixed_too(method: str, same_state: Same) -> None:
    learner = ob.create(method).partial_fit(X, np.ones((6, 2)))
    for bad, got in ((y, r"\(6,\)"), (y[:, None], r"\(6, 1\)"), (np.ones((6, 3)), r"\(6, 3\)")):
        refuses(
            learner,
            lambda it, bad=bad: it.partial_fit(X, bad),
            ValueError,
            rf"got shape {got}, want \(n, 2\)",
            same_state,
        )


@pytest.mark.parametrize("method", METHODS)
def test_a_fresh_learner_stays_fresh_after_a_refusal(method: str) -> None:
    learner = ob.create(method)
    for bad_X, bad_y in ((X, y[:5]), (BAD_X["nan"][0], y), (X, BAD_Y["nan"][0])):
        with pytest.raises(ValueError, match=r"got 5 rows|is nan"):
            learner.partial_fit(bad_X, bad_y)
        with pytest.raises(AttributeError, match="known after the first call"):
            _ = learner.n_features_in_
    learner.partial_fit(np.ones((2, 5)), np.ones((2, 2)))  # another d and c than those refused
    assert learner.n_features_in_ == 5
    assert learner.predict(np.ones((1, 5))).shape == (1, 2)


@pytest.mark.parametrize("method", METHODS)
def test_overflow_on_conversion_to_float32(method: str, same_state: Same) -> None:
    big_X, big_y = with_entry(X, (2, 1), 1e39), with_entry(y, 3, -1e39)
    for learner in fresh_and_trained(method, dtype="float32"):
        for name, call in each_call(method):
            for args, text in (((big_X, y), rf"{name}\[2, 1\] = 1e\+39"), ((X, big_y), r"y\[3\] = -1e\+39")):
                message = text + " overflows float32: scale it or take float64"
                refuses(learner, lambda it, call=call, args=args: call(it, *args), ValueError, message, same_state)
    refuses(learner, lambda it: it.predict(big_X), ValueError, r"X\[2, 1\] = 1e\+39 overflows", same_state)


@pytest.mark.parametrize("method", sorted(set(METHODS) - set(BLOCKS)))
def test_no_step_without_a_block_rule(method: str, same_state: Same) -> None:
    for learner in fresh_and_trained(method):
        refuses(learner, lambda it: it.step(X, y), TypeError, f"{method} learns row by row .* partial_fit", same_state)


@pytest.mark.parametrize("method", BLOCKS)
def test_step_wants_a_row(method: str, same_state: Same) -> None:
    for learner in fresh_and_trained(method):
        refuses(learner, lambda it: it.step(X[:0], y[:0]), ValueError, "A: got no rows, want at least one", same_state)


def test_no_step_while_rows_wait(same_state: Same) -> None:
    learner = ob.create("orfit", batch_size=4).partial_fit(X, y)
    refuses(learner, lambda it: it.step(X, y), ValueError, r"2 rows wait for a full batch of 4: call flush", same_state)


def test_bad_input_while_rows_wait(same_state: Same) -> None:
    learner = ob.create("orfit", batch_size=4).partial_fit(X, y)
    refuses(learner, lambda it: it.partial_fit(BAD_X["nan"][0], y), ValueError, r"X\[4, 1\]", same_state)
    refuses(learner, lambda it: it.prequential(X, y[:2]), ValueError, "y: got 2 rows", same_state)


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
        refuses(ob.create("rls", ridge=0.0), lambda it, call=call: call(it, X, y), ValueError, text, same_state)
    low = np.column_stack([X[:, :2], X[:, 0] + X[:, 1]])
    for A, rank in ((low, 2), (X[:2], 2), (np.zeros((6, 3)), 0)):
        text = f"the first block has rank {rank}, want 3: pass more rows or set ridge > 0"
        refuses(
            ob.create("rls", ridge=0.0),
            lambda it, A=A: it.step(A, y[: len(A)]),
            ValueError,
            text,
            same_state,
        )
    learner = ob.create("rls", ridge=0.0).partial_fit(X[:0], y[:0])  # a chunk of no rows learns nothing: allowed
    refuses(learner, lambda it: it.partial_fit(X, y), ValueError, "the first call must be step", same_state)
    learner.step(X[:4], y[:4]).partial_fit(X[4:], y[4:])
    np.testing.assert_allclose(learner.state()["w"].values[:, 0], np.linalg.lstsq(X, y, rcond=None)[0], rtol=1e-10)


# ---------------------------------------------------------------------- bad settings

BAD_CREATE: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"method": "orift"}, ValueError, "no method 'orift'. Did you mean 'orfit'[?] Known: "),
    ({"method": "zzzz"}, ValueError, "no method 'zzzz'. Known: "),
    ({"method": None}, TypeError, "method=None: want a name"),
    ({"method": "lms", "backend": "nunpy"}, ValueError, "no backend 'nunpy'. Did you mean 'numpy'[?]"),
    ({"method": "lms", "backend": ["numpy"]}, TypeError, "backend=.*: want a name"),
    ({"method": "lms", "stepsize": 0.1}, TypeError, "lms has no setting 'stepsize'. Did you mean 'step_size'[?]"),
    ({"method": "orfit", "zzzz": 1}, TypeError, "orfit has no setting 'zzzz'. Known: batch_size, memory, summary"),
    ({"method": "greedy", "memory": 1}, TypeError, "greedy has no setting 'memory'. Known: none"),
    ({"method": "rls", "ridge": "1"}, TypeError, r"ridge='1': want a number in \[0, inf\)"),
    ({"method": "rls", "ridge": None}, TypeError, "ridge=None"),
    ({"method": "rls", "ridge": [1.0]}, TypeError, "ridge="),
    ({"method": "rls", "ridge": 1j}, TypeError, "ridge=1j"),
    ({"method": "rls", "ridge": True}, TypeError, "ridge=True"),
    ({"method": "rls", "ridge": np.True_}, TypeError, "ridge="),
    ({"method": "rls", "ridge": -1e-9}, ValueError, r"ridge=-1e-09: want a number in \[0, inf\)"),
    ({"method": "rls", "ridge": float("nan")}, ValueError, "ridge=nan"),
    ({"method": "rls", "forgetting_factor": float("inf")}, ValueError, "forgetting_factor=inf"),
    ({"method": "rls", "ridge": 10**400}, ValueError, "ridge=1000"),
    ({"method": "orfit", "memory": 0}, ValueError, r"memory=0: want an integer in \[1, inf\) or None"),
    ({"method": "orfit", "memory": 2.0}, TypeError, "memory=2.0: want an integer"),
    ({"method": "orfit", "memory": True}, TypeError, "memory=True"),
    ({"method": "orfit", "memory": 10**400}, ValueError, "memory=1000"),
    ({"method": "orfit", "batch_size": None}, TypeError, "batch_size=None"),
    ({"method": "orfit", "batch_size": 0}, ValueError, "batch_size=0"),
    ({"method": "orfit", "summary": "ipac"}, ValueError, "summary='ipac': want one of ipca, largest, latest, random"),
    ({"method": "orfit", "summary": 3}, TypeError, "summary=3"),
    ({"method": "lms", "step_size": 0}, ValueError, r"step_size=0: want a number in \(0, inf\)"),
    ({"method": "nlms", "step_size": 2.1}, ValueError, r"step_size=2.1: want a number in \(0, 2\]"),
    ({"method": "lms", "step_size": abs}, TypeError, "step_size="),
    ({"method": "lms", "step_size": {}}, ValueError, "step_size={}: schedule {}: want one of constant, power"),
    ({"method": "lms", "step_size": {"pwr": {}}}, ValueError, "step_size=.*want one of constant, power"),
    ({"method": "lms", "step_size": {"power": {}, "slide": {}}}, ValueError, "want one of constant, power"),
    ({"method": "lms", "step_size": {"power": {"eta0": 1.0}}}, ValueError, "step_size=.* missing"),
    ({"method": "lms", "step_size": {"power": 1.0}}, ValueError, "step_size="),
    ({"method": "lms", "step_size": {"power": {"eta0": "x", "power": 1.0}}}, ValueError, "step_size=.*: .*'x'"),
    ({"method": "lms", "step_size": {"power": {"eta0": 1.0, "power": -1.0}}}, ValueError, "step_size=.*: power=-1.0"),
    ({"method": "lms", "step_size": {"power": {"eta0": 0.0, "power": 1.0}}}, ValueError, "step_size=.* one is 0.0"),
    ({"method": "lms", "step_size": {"slide": {"B": 1.0, "G": 0.0}}}, ValueError, "step_size=.*: slide"),
    ({"method": "lms", "step_size": {"sequence": {"values": []}}}, ValueError, "step_size=.*: sequence"),
    ({"method": "lms", "step_size": {"sequence": {"values": 3}}}, ValueError, "step_size="),
    ({"method": "lms", "step_size": {"sequence": {"values": [1.0, -1.0]}}}, ValueError, "step_size=.* one is -1.0"),
    ({"method": "lms", "step_size": {"constant": {"value": float("nan")}}}, ValueError, "step_size=.*: value=nan"),
    ({"method": "lms", "step_size": ob.schedules.power(-1.0, 0.5)}, ValueError, "step_size=.* one is -1.0"),
    ({"method": "lms", "dtype": "float16"}, ValueError, "dtype='float16': want one of float64, float32"),
    ({"method": "lms", "dtype": int}, ValueError, "want one of float64, float32"),
    ({"method": "lms", "dtype": "nonsense"}, ValueError, "dtype='nonsense'"),
    ({"method": "lms", "random_state": -1}, ValueError, "random_state=-1"),
    ({"method": "lms", "random_state": 2**64}, ValueError, "random_state=18446744073709551616"),
    ({"method": "lms", "random_state": 1.0}, TypeError, "random_state=1.0"),
    ({"method": "lms", "random_state": None}, TypeError, "random_state=None"),
    ({"method": "lms", "random_state": True}, TypeError, "random_state=True"),
    ({"method": "lms", "initial_weights": ["a"]}, TypeError, "initial_weights: .* want real numbers"),
    ({"method": "lms", "initial_weights": [1j]}, TypeError, "initial_weights: .* want real numbers"),
    ({"method": "lms", "initial_weights": [[1.0], [1.0, 2.0]]}, ValueError, "initial_weights: rows of unequal length"),
    ({"method": "lms", "initial_weights": [1.0, np.nan]}, ValueError, r"initial_weights\[1\] is nan"),
    ({"method": "lms", "initial_weights": np.ones((2, 2, 2))}, ValueError, r"initial_weights: got shape \(2, 2, 2\)"),
    ({"method": "lms", "initial_weights": [1e39], "dtype": "float32"}, ValueError, r"initial_weights\[0\] = 1e\+39"),
    ({"method": "greedy", "initial_weights": [1.0]}, ValueError, "initial_weights: greedy has none; leave it out"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), BAD_CREATE, ids=lambda v: str(v)[:60])
def test_bad_settings_are_refused(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ob.create(**arguments)


GOOD_CREATE: list[dict[str, Any]] = [
    {"method": "rls", "ridge": np.float32(0.5)},
    {"method": "rls", "ridge": 1, "forgetting_factor": 0},
    {"method": "orfit", "memory": np.int64(2)},
    {"method": "lms", "dtype": np.float32, "random_state": 2**64 - 1},
    {"method": "lms", "dtype": np.dtype("float32")},
    {"method": "nlms", "step_size": {"slide": {"B": 1, "G": 1}}},
    {"method": "lms", "step_size": ob.schedules.power(1.0, 400.0)},  # underflows, which is no mistake
    {"method": "lms", "initial_weights": [1, 0, 0]},
]


@pytest.mark.parametrize("arguments", GOOD_CREATE, ids=str)
def test_settings_of_neighbouring_kinds_are_taken(arguments: dict[str, Any]) -> None:
    assert np.isfinite(ob.create(**arguments).partial_fit(X, y).predict(X)).all()


@pytest.mark.parametrize("method", [name for name in METHODS if name != "greedy"])
def test_initial_weights_fit_the_rows(method: str) -> None:
    for shape in ((2,), (4,), (3, 2), (1, 3)):
        learner = ob.create(method, initial_weights=np.ones(shape))
        with pytest.raises(ValueError, match=re.escape(f"initial_weights: got shape {shape}, want (3, 1)")):
            learner.partial_fit(X, y)
        with pytest.raises(AttributeError):
            _ = learner.n_features_in_
    given = np.ones(3)
    learner = ob.create(method, initial_weights=given)
    given[:] = 7.0  # not kept
    np.testing.assert_allclose(learner.partial_fit(X[:0], y[:0]).predict(X), X.sum(1))


# ---------------------------------------------------------------------- good rows that look odd

NUMBERS = np.arange(18.0).reshape(6, 3) % 5 - 2
ODD: dict[str, tuple[Any, Any]] = {
    "lists": (NUMBERS.tolist(), [1.0, 0.0, 1.0, 0.0, 1.0, 1.0]),
    "tuples": (tuple(map(tuple, NUMBERS.tolist())), (1, 0, 1, 0, 1, 1)),
    "integers": (NUMBERS.astype(np.int8), np.array([1, 0, 1, 0, 1, 1])),
    "truths": (NUMBERS, np.array([True, False, True, False, True, True])),
    "float32": (NUMBERS.astype(np.float32), np.array([1, 0, 1, 0, 1, 1], np.float32)),
    "long double": (NUMBERS.astype(np.longdouble), np.array([1, 0, 1, 0, 1, 1], np.longdouble)),
    "big-endian": (NUMBERS.astype(">f8"), np.array([1, 0, 1, 0, 1, 1], ">i4")),
    "Fortran order": (np.asfortranarray(NUMBERS), np.array([1.0, 0, 1, 0, 1, 1])),
    "strided": (np.repeat(np.repeat(NUMBERS, 2, 0), 3, 1)[::2, ::3], np.repeat([1.0, 0, 1, 0, 1, 1], 2)[::2]),
    "negative strides": (NUMBERS[::-1, ::-1].copy()[::-1, ::-1], np.array([1.0, 1, 0, 1, 0, 1])[::-1]),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", ODD)
def test_numbers_in_any_dress(case: str, method: str, same_state: Same) -> None:
    plain = ob.create(method).partial_fit(NUMBERS, np.array([1.0, 0.0, 1.0, 0.0, 1.0, 1.0]))
    for _, call in each_call("lms"):
        learner = ob.create(method)
        call(learner, *ODD[case])
        same_state(learner, plain)
    np.testing.assert_array_equal(learner.predict(ODD[case][0]), plain.predict(NUMBERS))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("outputs", [(), (1,), (3,)])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (1, 4), (5, 1), (3, 9), (0, 2)])
def test_any_size(n: int, d: int, outputs: tuple[int, ...], dtype: str, method: str) -> None:
    rng = np.random.default_rng(n + d)
    A, b = rng.standard_normal((n, d)), rng.standard_normal((n, *outputs))
    learner = ob.create(method, dtype=dtype)
    told = learner.prequential(A, b)
    assert told.shape == b.shape
    assert told.dtype == dtype
    assert learner.n_samples_seen_ == n
    predicted = learner.predict(np.ones((2, d)))
    assert predicted.shape == (2, *outputs)
    assert predicted.dtype == dtype
    assert np.isfinite(predicted).all()
    assert learner.predict(np.ones((0, d))).shape == (0, *outputs)


@pytest.mark.parametrize("method", METHODS)
def test_inputs_are_neither_written_to_nor_kept(method: str, same_state: Same) -> None:
    settings = [{}, {"batch_size": 4}] if method == "orfit" else [{}]
    for chosen in settings:
        learner, apart = ob.create(method, **chosen), ob.create(method, **chosen)
        for lo in (0, 3):
            A, b = X[lo : lo + 3].copy(), y[lo : lo + 3].copy()
            A.flags.writeable = b.flags.writeable = False
            learner.prequential(A, b)  # writing would raise
            A.flags.writeable = b.flags.writeable = True
            A[...], b[...] = 99.0, 99.0  # the caller goes on with the buffer
            apart.partial_fit(X[lo : lo + 3].copy(), y[lo : lo + 3].copy())
            same_state(learner, apart)


@pytest.mark.parametrize("method", METHODS)
def test_what_is_handed_out_is_a_copy(method: str, same_state: Same) -> None:
    learner = ob.create(method).partial_fit(X, y)
    before = learner.copy()
    for array in (*learner.state().variables.values(), learner.predict(X), learner.prequential(X[:0], y[:0])):
        np.asarray(getattr(array, "values", array))[...] = 99.0
    same_state(learner, before)


# ---------------------------------------------------------------------- numbers at the ends of the range


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e150, 1e200, 1e300])
def test_no_numpy_warning_at_any_scale(scale: float, method: str) -> None:
    learner = ob.create(method)
    for A, b in ((X, y), (X * scale, y), (X, y * scale), (X * scale, y * scale)):
        with suppress(ob.DivergedError):
            learner.partial_fit(A, b)
        learner.predict(A)
        assert all(np.isfinite(a.values).all() for a in learner.state().variables.values())


WITHOUT_EPS: dict[str, dict[str, Any]] = {
    "nlms": {"eps": 0.0},
    "apa": {"eps": 0.0},
    "rls": {"forgetting_factor": 0.0},
}


@pytest.mark.parametrize("method", METHODS)
@given(data=st.data(), zeros=st.integers(1, 3), outputs=st.sampled_from([(), (2,)]))
def test_rows_of_zeros_are_harmless(method: str, zeros: int, outputs: tuple[int, ...], data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(["float64", "float32"]))
    settings = data.draw(st.sampled_from([{}, WITHOUT_EPS.get(method, {})]))
    b = np.ones((6, *outputs))
    learner = ob.create(method, dtype=dtype, **settings).partial_fit(np.zeros((zeros, 3)), b[:zeros])
    assert learner.n_samples_seen_ == zeros
    assert np.isfinite(learner.predict(X)).all()
    assert np.isfinite(learner.partial_fit(X, b).partial_fit(np.zeros((1, 3)), b[:1]).predict(X)).all()


# ---------------------------------------------------------------------- divergence

DIVERGING: dict[str, dict[str, Any]] = {
    "apa": {},
    "icl": {},
    "lms": {"step_size": 1e10},
    "nlms": {},
    "ogd": {"step_size": 1e10},
    "one_step_sgd": {},
    "orfit": {},
    "rls": {"ridge": 1e-10},
    "sgd": {"step_size": 1e10},
}
E = np.vstack([np.eye(3)[:2], [[0.0, 0.0, 1e-5]], np.eye(3)])
B = np.array([1.0, 1.0, 1e308, 1.0, 1.0, 1.0])
"""The third row asks for a weight near 1e313."""


@pytest.mark.parametrize("outputs", [False, True])
@pytest.mark.parametrize("start", [0, 1, 2])
@pytest.mark.parametrize("method", DIVERGING)
def test_divergence_keeps_the_last_good_state(method: str, start: int, outputs: bool, same_state: Same) -> None:
    b = np.column_stack([B, np.ones(6)]) if outputs else B
    for _, call in list(each_call(method))[:2]:
        learner = ob.create(method, **DIVERGING[method])
        learner.partial_fit(E[:start], b[:start])
        with pytest.raises(
            ob.DivergedError, match=f"{method} diverged at step 3, row {2 - start} of this call"
        ) as info:
            call(learner, E[start:], b[start:])
        assert (info.value.step, info.value.row) == (3, 2 - start)
        assert learner.n_samples_seen_ == 2
        good = ob.create(method, **DIVERGING[method]).partial_fit(E[:2], b[:2])
        same_state(learner, good)
        same_state(learner.partial_fit(E[3:4], b[3:4]), good.partial_fit(E[3:4], b[3:4]))
        assert np.isfinite(learner.predict(E)).all()


def test_a_huge_step_size_diverges_cleanly() -> None:
    learner = ob.create("lms", step_size=1e30)
    with pytest.raises(ob.DivergedError) as info:
        learner.partial_fit(np.tile(X, (100, 1)), np.tile(y, 100))
    assert 1 < info.value.step == info.value.row + 1 == learner.n_samples_seen_ + 1
    assert np.isfinite(learner.state()["w"]).all()


@pytest.mark.parametrize("cut", range(6))
def test_divergence_in_a_batch_drops_that_batch_only(cut: int, same_state: Same) -> None:
    """Batches are rows 0-1, 2-3, 4-5; the second one is bad. Rows of it that had waited go with it."""
    learner = ob.create("orfit", batch_size=2)
    with pytest.raises(ob.DivergedError) as info:
        learner.partial_fit(E[:cut], B[:cut]).partial_fit(E[cut:], B[cut:])
    begins = 2 if cut > 3 else max(0, 2 - cut)
    assert (info.value.step, info.value.row) == (2, begins)
    assert learner.pending == 0
    assert learner.n_samples_seen_ == 2
    good = ob.create("orfit", batch_size=2).partial_fit(E[:2], B[:2])
    same_state(learner, good)
    same_state(learner.partial_fit(E[3:], B[3:]), good.partial_fit(E[3:], B[3:]))


def test_divergence_in_flush_and_step(same_state: Same) -> None:
    learner = ob.create("orfit", batch_size=4).partial_fit(E[2:3], B[2:3])
    assert learner.n_samples_seen_ == 1
    with pytest.raises(ob.DivergedError) as info:
        learner.flush()
    assert (info.value.step, info.value.row, learner.pending, learner.n_samples_seen_) == (1, 0, 0, 0)
    start = ob.create("orfit", batch_size=4).partial_fit(E[:0], B[:0])
    same_state(learner, start)
    with pytest.raises(ob.DivergedError):
        learner.step(E[1:3], B[1:3])
    same_state(learner, start)
    same_state(learner.step(E[:2], B[:2]), start.step(E[:2], B[:2]))


# ---------------------------------------------------------------------- a user's model


def broken(cubic: ob.Model, name: str, make: Callable[..., Any], after: int) -> ob.Model:
    """The model with one function going wrong in every call but the first few."""
    right, calls = getattr(cubic, name), []

    def wrong(w: Any, x: Any) -> Any:
        calls.append(1)
        return right(w, x) if len(calls) <= after else make(right(w, x))

    functions = {"predict": cubic.predict, "jacobian": cubic.jacobian, name: wrong}
    return ob.Model("broken", parameters=cubic.parameters, start=cubic.start, **functions)


def fails(value: Any) -> Any:
    raise KeyError("a user's bug")


def interrupts(value: Any) -> Any:
    raise KeyboardInterrupt


WRONG: dict[str, tuple[str, Callable[..., Any], type[BaseException], str]] = {
    "flat jacobian": (
        "jacobian",
        np.ravel,
        ValueError,
        r"returned shape \(3,\), .* want real numbers of shape \(1, 3\)",
    ),
    "turned jacobian": ("jacobian", np.transpose, ValueError, r"jacobian\(w, x\) returned shape \(3, 1\)"),
    "list": ("jacobian", np.ndarray.tolist, ValueError, r"jacobian\(w, x\) returned list, want"),
    "complex": ("jacobian", lambda J: J + 0j, ValueError, "dtype complex128, want real numbers"),
    "flat prediction": ("predict", np.ravel, ValueError, r"'broken': predict\(w, X\) returned shape \(1,\)"),
    "None": ("predict", lambda f: None, ValueError, "returned NoneType"),
    "error": ("predict", fails, KeyError, "a user's bug"),
    "ctrl-c": ("jacobian", interrupts, KeyboardInterrupt, "^$"),
}


@pytest.mark.parametrize("method", MODELS)
@pytest.mark.parametrize("case", WRONG)
def test_a_model_that_goes_wrong_changes_nothing(case: str, method: str, cubic: ob.Model, same_state: Same) -> None:
    name, make, error, message = WRONG[case]
    fresh = ob.create(method, model=broken(cubic, name, make, after=0))
    with pytest.raises(error, match=message):
        fresh.partial_fit(X, y)
    with pytest.raises(AttributeError):
        _ = fresh.n_features_in_
    same_state(fresh, ob.create(method, model=broken(cubic, name, make, after=0)))
    rows_before = 4 if method == "ogd" and name == "jacobian" else 2  # ogd asks for two Jacobians a row
    learner = ob.create(method, model=broken(cubic, name, make, after=rows_before + 1))
    learner.partial_fit(X[:2], y[:2])
    before = learner.copy()
    with pytest.raises(error, match=message):  # in the middle of the chunk
        learner.partial_fit(X[2:], y[2:])
    same_state(learner, before)


@pytest.mark.parametrize("method", MODELS)
def test_a_model_that_leaves_the_finite_numbers_diverges(method: str, cubic: ob.Model, same_state: Same) -> None:
    for name in ("predict", "jacobian"):
        model = broken(
            cubic, name, lambda value: value * np.nan, after=4 if method == "ogd" and name == "jacobian" else 2
        )
        learner = ob.create(method, model=model)
        with pytest.raises(ob.DivergedError) as info:
            learner.partial_fit(X, y)
        assert (info.value.step, info.value.row, learner.n_samples_seen_) == (3, 2, 2)
        assert all(np.isfinite(a.values).all() for a in learner.state().variables.values())


def test_a_model_and_its_rows_waiting(cubic: ob.Model, same_state: Same) -> None:
    learner = ob.create("orfit", model=broken(cubic, "predict", fails, after=1), batch_size=2)
    learner.partial_fit(X[:3], y[:3])
    before = learner.copy()
    with pytest.raises(KeyError):
        learner.partial_fit(X[3:], y[3:])
    with pytest.raises(KeyError):
        learner.flush()
    same_state(learner, before)
    assert (learner.pending, learner.n_samples_seen_) == (1, 3)


def test_a_model_that_fails_after_its_step_takes_the_step_back(cubic: ob.Model, same_state: Same) -> None:
    learner = ob.create("orfit", model=broken(cubic, "predict", fails, after=2), batch_size=2)
    learner.partial_fit(X[:2], y[:2])
    before = learner.copy()
    with pytest.raises(KeyError):
        learner.prequential(X[2:5], y[2:5])  # the batch is learned, then the row that waits is asked for
    same_state(learner, before)


def test_models_that_cannot_start(cubic: ob.Model) -> None:
    def model(start: Any, name: str = "mine") -> ob.Model:
        return ob.Model(name, cubic.predict, cubic.jacobian, 3, start)

    with pytest.raises(ValueError, match="greedy fits no other model than the linear one; these do: apa, icl, "):
        ob.create("greedy", model=cubic)
    with pytest.raises(ValueError, match="another name than 'linear'"):
        ob.create("lms", model=model(None, "linear"))
    for start, message in (
        (lambda draw, d, c: None, r"model 'mine' draws no start: pass initial_weights of shape \(3, 1\)"),
        (lambda draw, d, c: np.ones(4), r"start of model 'mine': got shape \(4,\), want \(3, 1\)"),
        (lambda draw, d, c: [1.0, np.nan, 1.0], r"start of model 'mine'\[1\] is nan"),
    ):
        learner = ob.create("lms", model=model(start))
        with pytest.raises(ValueError, match=message):
            learner.partial_fit(X, y)
        with pytest.raises(AttributeError):
            _ = learner.n_features_in_


def test_a_model_draws_anew_with_each_call(cubic: ob.Model) -> None:
    def start(draw: Any, d: int, c: int) -> Any:
        return np.concatenate([draw(1), draw(2)])

    w = [
        ob.create("lms", random_state=seed, model=ob.Model("mine", cubic.predict, cubic.jacobian, 3, start))
        .partial_fit(X[:0], y[:0])
        .state()["w"]
        .values.ravel()
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(w[0], w[1])
    assert len({*w[0], *w[2]}) == 6


@pytest.mark.parametrize("scale", [1e200, 1e150, 1e-150, 1e-200])
@pytest.mark.parametrize("method", ["nlms", "apa", "icl", "orfit", "one_step_sgd", "rls"])
def test_rules_that_fit_the_row_do_so_at_any_scale_or_refuse(method, scale):
    """Neither x'x nor a norm may over- or underflow into silence."""
    settings = {"nlms": {"step_size": 1.0, "eps": 0.0}, "apa": {"step_size": 1.0, "eps": 0.0}}.get(method, {})
    settings |= {"forgetting_factor": 0.0} if method == "rls" else {}
    rng = np.random.default_rng(0)
    X, y = scale * rng.standard_normal((5, 8)), rng.standard_normal(5)
    learner = ob.create(method, **settings).partial_fit(X, y)
    assert learner.predict(X[-1:])[0] == pytest.approx(y[-1], rel=1e-12)


def test_rls_refuses_rows_whose_energy_overflows():
    X = np.full((1, 3), 1e200)
    with pytest.raises(ob.DivergedError):
        ob.create("rls").partial_fit(X, [1.0])


def test_a_diverged_error_crosses_to_another_process():
    import pickle  # what multiprocessing does with it

    error = pickle.loads(pickle.dumps(ob.DivergedError("far off", 7, 3)))
    assert (str(error), error.step, error.row) == ("far off", 7, 3)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: ob.schedules.power(1.0, float("nan")), ValueError),
        (lambda: ob.schedules.power(1.0, -1), ValueError),
        (lambda: ob.schedules.slide(0, 1), ValueError),
        (lambda: ob.schedules.sequence("12"), TypeError),
        (lambda: ob.schedules.sequence([True]), TypeError),
        (lambda: ob.schedules.sequence([]), ValueError),
        (lambda: ob.schedules.constant(None), TypeError),
        (lambda: ob.create("lms", dtype=None), ValueError),
    ],
)
def test_what_is_no_schedule_or_dtype_is_refused(make, error):
    with pytest.raises(error):
        make()


class Cosine(ob.schedules.Schedule):
    def __call__(self, t):
        return np.cos(t)


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        (Cosine(), "want one of constant, power, slide, sequence"),
        (ob.schedules.Power(0.1, -1.0), "power=-1.0"),
        (ob.schedules.Sequence(()), "at least one value"),
        (ob.schedules.Slide(1.0, 0.0), "want both > 0"),
    ],
)
def test_schedules_that_a_state_could_not_name_again_are_refused(schedule, message):
    """What create accepts, restore must read."""
    with pytest.raises((TypeError, ValueError), match=message):
        ob.create("lms", step_size=schedule)


def test_a_start_that_overflows_is_refused_and_changes_nothing():
    learner = ob.create("rls", ridge=1e-40, dtype="float32")
    with pytest.raises(ValueError, match="the start of P is not finite in float32"):
        learner.partial_fit([[1.0]], [1.0])
    assert learner.n_samples_seen_ == 0


def test_learners_to_average_may_come_from_a_generator():
    learners = [ob.create("lms", step_size=0.5).partial_fit([[1.0]], [y]) for y in (1.0, 3.0)]
    ob.average(learner for learner in learners)
    assert [learner.predict([[1.0]])[0] for learner in learners] == [1.0, 1.0]
