"""Kalman filter: valid inputs with the rows and in the settings, and refusals of others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.filters import GIVEN, NAN, VARYING, Same, X, moments, refused, y

import orfit_bench as ob

BAD: dict[str, tuple[str, Any, type[Exception], str]] = {
    "short transition": ("transition", GIVEN["transition"][:8], ValueError, r"\(8, 3, 3\), want \(9,\) or"),
    "one transition": ("transition", np.eye(3), ValueError, r"transition: got shape \(3, 3\), want .*each row"),
    "wide transition": ("transition", np.zeros((9, 3, 2)), ValueError, r"got shape \(9, 3, 2\)"),
    "four axes": ("transition", np.zeros((9, 1, 3, 3)), ValueError, r"got shape \(9, 1, 3, 3\)"),
    "nan in a transition": ("transition", np.full((9, 3, 3), NAN), ValueError, r"transition\[0, 0, 0\] is nan"),
    "one for all": ("transition", np.eye(9), ValueError, r"got shape \(9, 9\), want \(9,\) or \(9, 3, 3\): one entry"),
    "complex": ("transition", GIVEN["transition"] + 0j, TypeError, "transition: .* want real numbers"),
    "text": ("transition", "still", TypeError, "transition: .* want real numbers"),
    "one function": ("transition", np.tanh, TypeError, "transition: .* want real numbers"),
    "masked": ("process_noise", np.ma.masked_array(np.ones(9)), TypeError, "process_noise: got a masked array"),
    "ragged": ("process_noise", [[1.0], [1.0, 2.0]] * 4, ValueError, "process_noise: rows of unequal length"),
    "a number": ("process_noise", 1.0, ValueError, r"process_noise: got shape \(\), want \(9,\)"),
    "negative": ("process_noise", -np.ones(9), ValueError, "process_noise: want a covariance, it is negative"),
    "diagonals": ("process_noise", np.ones((9, 3)), ValueError, r"got shape \(9, 3\), want \(9,\) or \(9, 3, 3\)"),
    "not symmetric": ("process_noise", GIVEN["transition"], ValueError, "process_noise: .* it is not symmetric"),
    "indefinite": ("process_noise", np.ones((9, 3, 3)) - np.eye(3), ValueError, "it is not positive semidefinite"),
    "indefinite beside a large one": (
        "process_noise",
        np.concatenate([1e9 * np.ones((8, 3, 3)), np.ones((1, 3, 3)) - np.eye(3)]),
        ValueError,
        "it is not positive semidefinite",
    ),
    "noise of three": ("observation_noise", np.ones((9, 3)), ValueError, r"\(9, 3\), want \(9,\), \(9, 1\) or"),
    "negative noise": ("observation_noise", -np.ones(9), ValueError, "observation_noise: .* it is negative"),
    "infinite noise": ("observation_noise", np.full(9, np.inf), ValueError, r"observation_noise\[0\] is inf"),
}


@pytest.mark.parametrize("case", BAD)
def test_arrays_that_do_not_fit_the_rows_are_refused(case: str, same_state: Same) -> None:
    name, value, error, message = BAD[case]
    for learner in (ob.create("kalman"), ob.create("kalman").partial_fit(X, y)):
        for call in ("partial_fit", "prequential", "smooth"):
            refused(learner, lambda it, call=call: getattr(it, call)(X, y, **{name: value}), error, message, same_state)


@pytest.mark.parametrize(
    ("name", "entry", "defect"),
    [
        ("process_noise", -1.0, "negative"),
        ("process_noise", [[1, 2, 0], [2, 1, 0], [0, 0, 1]], "not positive semidefinite"),
        ("process_noise", [[1, 2, 0], [0, 1, 0], [0, 0, 1]], "not symmetric"),
        ("observation_noise", -1.0, "negative"),
        ("observation_noise", [-1.0], "negative"),
    ],
)
def test_the_row_that_is_no_covariance_is_named(name: str, entry: Any, defect: str, same_state: Same) -> None:
    value = np.ones((9, *np.shape(entry))) * (np.eye(3) if np.ndim(entry) == 2 else 1)
    value[[5, 7]] = entry
    message = rf"{name}: want a covariance, it is {defect} in row 5$"
    for call in ("partial_fit", "prequential", "smooth", "log_likelihood"):
        act = lambda it, call=call: getattr(it, call)(X, y, **{name: value})  # noqa: E731
        refused(ob.create("kalman"), act, ValueError, message, same_state)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("transition", GIVEN["transition"], r"got shape \(9, 3, 3\), want \(\), \(3,\) or \(3, 3\)"),
        ("process_noise", np.ones(2), r"process_noise: got shape \(2,\), want \(\), \(3,\) or \(3, 3\)"),
        ("observation_noise", np.ones(3), r"observation_noise: got shape \(3,\), want \(\), \(2,\) or \(2, 2\)"),
        ("observation_noise", np.ones((2, 3)), r"observation_noise: got shape \(2, 3\)"),
        ("observation_noise", [[1, 2], [2, 1]], "observation_noise: .* it is not positive semidefinite"),
    ],
)
def test_arrays_that_do_not_fit_a_step_are_refused(name: str, value: Any, message: str, same_state: Same) -> None:
    for learner in (ob.create("kalman"), ob.create("kalman").partial_fit(X, y)):
        act = lambda it: it.step(X[:2], y[:2], **{name: value})  # noqa: E731
        refused(learner, act, ValueError, message, same_state)


def test_predict_takes_one_transition(same_state: Same) -> None:
    learner = ob.create("kalman").partial_fit(X, y)
    refused(learner, lambda it: it.predict(X, transition=GIVEN["transition"]), ValueError, r"\(9, 3, 3\)", same_state)
    mean, F = moments(learner)[0][:, 0], GIVEN["transition"][0]
    np.testing.assert_allclose(learner.predict(X, transition=F), X @ F @ mean, rtol=1e-13)
    np.testing.assert_allclose(learner.predict(X, transition=0.5), X @ mean / 2, rtol=1e-13)
    np.testing.assert_allclose(learner.predict(X, transition=[1, 0, 2]), X @ (mean * [1, 0, 2]), rtol=1e-13)
    np.testing.assert_array_equal(learner.predict(X), X @ mean)  # the input is not kept


def test_numbers_are_matrices(same_state: Same) -> None:
    a, q = np.linspace(0.5, 1.5, 9), np.linspace(0, 1, 9)
    wanted = ob.create("kalman").partial_fit(X, y, transition=a[:, None, None] * np.eye(3), process_noise=np.zeros(9))
    same_state(ob.create("kalman").partial_fit(X, y, transition=a), wanted)
    wanted = ob.create("kalman").partial_fit(X, y, process_noise=q[:, None, None] * np.eye(3))
    same_state(ob.create("kalman").partial_fit(X, y, process_noise=q), wanted)
    wanted = ob.create("kalman").partial_fit(X, y, observation_noise=q + 1)
    same_state(ob.create("kalman").partial_fit(X, y, observation_noise=q[:, None] + 1), wanted)
    same_state(ob.create("kalman").partial_fit(X, y, observation_noise=q[:, None, None] + 1), wanted)


def test_arrays_given_with_the_rows_replace_the_settings() -> None:
    constants = {"transition": 0.5 * np.eye(3), "process_noise": 0.2, "observation_noise": 3.0}
    got = ob.create("kalman", **constants).partial_fit(X, y, **GIVEN)
    want = ob.create("kalman").partial_fit(X, y, **GIVEN)
    for a, b in zip(moments(got), moments(want), strict=True):
        np.testing.assert_array_equal(a, b)
    got = ob.create("kalman", **constants).partial_fit(X, y, transition=np.ones(9), process_noise=np.zeros(9))
    want = ob.create("kalman", observation_noise=3.0).partial_fit(X, y)
    for a, b in zip(moments(got), moments(want), strict=True):
        np.testing.assert_array_equal(a, b)
    got.partial_fit(X, y)  # and only there
    want.partial_fit(X, y, transition=np.full(9, 0.5), process_noise=np.full(9, 0.2))
    for a, b in zip(moments(got), moments(want), strict=True):
        np.testing.assert_array_equal(a, b)


def test_values_that_overflow_float32_are_refused(same_state: Same) -> None:
    learner = ob.create("kalman", dtype="float32").partial_fit(X, y)
    for name in VARYING:
        act = lambda it, name=name: it.partial_fit(X, y, **{name: np.full(9, 1e300)})  # noqa: E731
        refused(learner, act, ValueError, rf"{name}\[0\] = 1e\+300 overflows float32", same_state)


def test_noise_that_float32_makes_zero_is_refused(same_state: Same) -> None:
    message = r"observation_noise\[.*\] = 1e-60 is zero in float32, which would make its row exact"
    with pytest.raises(ValueError, match=r"kalman: observation_noise=1e-60 is 0\.0 in float32"):
        ob.create("kalman", dtype="float32", observation_noise=1e-60)
    learner = ob.create("kalman", dtype="float32").partial_fit(X, y)
    noise, joint = np.ones(9), np.diag([1.0, 1e-60])
    noise[4] = 1e-60
    refused(learner, lambda it: it.partial_fit(X, y, observation_noise=noise), ValueError, message, same_state)
    refused(learner, lambda it: it.step(X[:2], y[:2], observation_noise=joint), ValueError, message, same_state)
    joint = np.array([[1.0, 1e-60], [1e-60, 1.0]])  # a covariance may become zero
    learner.step(X[:2], y[:2], observation_noise=joint).partial_fit(X[:1], y[:1], observation_noise=[0.0])


def test_arrays_of_settings_are_copied(same_state: Same) -> None:
    P, m = np.eye(3), np.ones(3)
    learner = ob.create("kalman", initial_covariance=P, process_noise=P, initial_mean=m)
    P[...] = m[...] = 7
    same = ob.create("kalman", initial_covariance=np.eye(3), process_noise=np.eye(3), initial_mean=np.ones(3))
    same_state(learner.partial_fit(X, y), same.partial_fit(X, y))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"initial_covariance": -1.0}, "initial_covariance=-1.0: want a covariance, but it is negative"),
        ({"initial_covariance": [1, -2]}, "initial_covariance=.* it is negative"),
        ({"initial_covariance": [[1, 2], [0, 1]]}, "it is not symmetric"),
        ({"initial_covariance": [[1, 2], [2, 1]]}, "it is not positive semidefinite"),
        ({"initial_covariance": [[1, 2, 3], [2, 1, 3]]}, "it is not square"),
        ({"process_noise": [[1, 2], [2, 1]]}, "process_noise=.* it is not positive semidefinite"),
        ({"observation_noise": -1e-9}, "observation_noise=.* it is negative"),
        ({"transition": np.ones((2, 2, 2))}, "(?s)transition=.* want a number, a vector or a matrix, all finite"),
        ({"transition": [NAN]}, "(?s)transition=.* want a number, a vector or a matrix, all finite"),
    ],
)
def test_invalid_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ob.create("kalman", **settings)


@pytest.mark.parametrize("value", ["x", [[1.0], [1.0, 2.0]], (np.tanh,), (np.tanh, 1), np.tanh, 1j])
def test_invalid_transitions_are_refused(value: Any) -> None:
    with pytest.raises(TypeError, match=r"transition=.* an orfit_bench.Transition or a pair \(function, jacobian\)"):
        ob.create("kalman", transition=value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"initial_covariance": np.eye(2)},
            r"initial_covariance: got shape \(2, 2\), want a number, \(3,\) or",
        ),
        ({"initial_covariance": [1.0, 2.0]}, r"initial_covariance: got shape \(2,\)"),
        ({"process_noise": np.eye(2)}, r"process_noise: got shape \(2, 2\), want \(\), \(3,\) or \(3, 3\)"),
        ({"transition": np.ones((2, 3))}, r"transition: got shape \(2, 3\), want \(\), \(3,\) or \(3, 3\)"),
        ({"observation_noise": np.eye(3)}, r"observation_noise: got shape \(3, 3\), want \(\), \(1,\) or \(1, 1\)"),
        ({"initial_mean": [1.0, 2.0]}, r"initial_mean: got shape \(2,\), want \(3, 1\)"),
        ({"initial_covariance": 1e300, "dtype": "float32"}, "the start of covariance is not finite in float32"),
    ],
)
def test_settings_that_do_not_fit_the_rows_leave_a_fresh_learner(
    settings: dict[str, Any], message: str, same_state: Same
) -> None:
    learner = ob.create("kalman", **settings)
    for act in (
        lambda it: it.partial_fit(X, y),
        lambda it: it.step(X, y),
        lambda it: it.smooth(X, y),
        lambda it: it.partial_fit(X, y, transition=np.ones(9)),
    ):
        refused(learner, act, ValueError, message, same_state)


def test_the_first_state_in_every_form(same_state: Same) -> None:
    want = ob.create("kalman", initial_mean=np.full((3, 2), 2.0), initial_covariance=4 * np.eye(3))
    two = np.column_stack([y, y])
    want.partial_fit(X, two)
    for mean in (2, 2.0, [2, 2, 2]):
        for P in (4, [4.0, 4, 4]):
            got = ob.create("kalman", initial_mean=mean, initial_covariance=P).partial_fit(X, two)
            for a, b in zip(moments(got), moments(want), strict=True):
                np.testing.assert_array_equal(a, b)
    start = ob.create("kalman", initial_mean=[1, 2, 3], initial_covariance=[4, 5, 6]).partial_fit(X[:0], y[:0])
    np.testing.assert_array_equal(moments(start)[0], [[1], [2], [3]])
    np.testing.assert_array_equal(moments(start)[1], np.diag([4, 5, 6]))
    np.testing.assert_array_equal(start.predict(np.eye(3), transition=0.5), [1, 2, 3])  # the first state does not move
    still = ob.create("kalman", initial_mean=[1, 2, 3], transition=0.5).partial_fit(X[:0], y[:0])
    np.testing.assert_array_equal(still.predict(np.eye(3)), [1, 2, 3])
    with pytest.raises(ValueError, match="initial_weights: kalman has none; pass initial_mean= instead"):
        ob.create("kalman", initial_weights=[1.0, 2.0, 3.0])


def test_a_covariance_that_is_not_symmetric_to_the_bit_becomes_so() -> None:
    P = np.eye(3)
    P[0, 1], P[1, 0] = 0.3, 0.3 + 1e-9
    for settings in ({}, {"process_noise": P}, {"process_noise": P, "transition": GIVEN["transition"][0]}):
        found = moments(ob.create("kalman", initial_covariance=P, **settings).partial_fit(X, y))[1]
        np.testing.assert_array_equal(found, found.T)
