"""The Kalman filter as a learner: what comes with the rows, what is missing, what is refused, forecasts, smoothing."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import orfit_bench as ob
from orfit_bench.catalogue.methods._gaussian import given as conditioned
from orfit_bench.catalogue.methods._gaussian import prior
from orfit_bench.conformance.endurance import Rows, endure

Same = Callable[[ob.Learner, ob.Learner], None]
VARYING = ("transition", "process_noise", "observation_noise")
NAN = np.nan


def frozen(a: Any) -> Any:
    a = np.asarray(a)
    a.flags.writeable = False
    return a


def spd(rng: np.random.Generator, *shape: int) -> Any:
    A = rng.standard_normal((*shape, shape[-1]))
    return A @ np.swapaxes(A, -1, -2) / shape[-1] + 0.1 * np.eye(shape[-1])


def scene(n: int = 9, d: int = 3, seed: int = 0, outputs: int | None = None) -> tuple[Any, Any, dict[str, Any]]:
    """X, y with a row unseen, and all that may come with the rows; nobody may write to it."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n if outputs is None else (n, outputs))
    y[4::7] = NAN
    F = 0.9 * np.linalg.qr(rng.standard_normal((n, d, d)))[0]
    varying = {"transition": F, "process_noise": 0.1 * spd(rng, n, d), "observation_noise": rng.uniform(0.1, 2, n)}
    return frozen(X), frozen(y), {name: frozen(a) for name, a in varying.items()}


def cut(varying: dict[str, Any], rows: slice) -> dict[str, Any]:
    return {name: a[rows] for name, a in varying.items()}


def moments(learner: ob.Learner) -> tuple[Any, Any]:
    state = learner.state()
    return state["mean"].values, state["covariance"].values


def refused(learner: ob.Learner, act: Callable[[Any], Any], error: type[Exception], message: str, same: Same) -> None:
    before = learner.copy()
    with pytest.raises(error, match=message):
        act(learner)
    same(learner, before)


# ---------------------------------------------------------------------- what comes with the rows

X, y, GIVEN = scene()
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
def test_what_does_not_fit_the_rows_is_refused(case: str, same_state: Same) -> None:
    name, value, error, message = BAD[case]
    for learner in (ob.create("kalman"), ob.create("kalman").partial_fit(X, y)):
        for call in ("partial_fit", "prequential", "smooth"):
            refused(learner, lambda it, call=call: getattr(it, call)(X, y, **{name: value}), error, message, same_state)


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
def test_what_does_not_fit_a_step_is_refused(name: str, value: Any, message: str, same_state: Same) -> None:
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
    np.testing.assert_array_equal(learner.predict(X), X @ mean)  # it is not kept


def test_numbers_are_matrices(same_state: Same) -> None:
    a, q = np.linspace(0.5, 1.5, 9), np.linspace(0, 1, 9)
    wanted = ob.create("kalman").partial_fit(X, y, transition=a[:, None, None] * np.eye(3), process_noise=np.zeros(9))
    same_state(ob.create("kalman").partial_fit(X, y, transition=a), wanted)
    wanted = ob.create("kalman").partial_fit(X, y, process_noise=q[:, None, None] * np.eye(3))
    same_state(ob.create("kalman").partial_fit(X, y, process_noise=q), wanted)
    wanted = ob.create("kalman").partial_fit(X, y, observation_noise=q + 1)
    same_state(ob.create("kalman").partial_fit(X, y, observation_noise=q[:, None] + 1), wanted)
    same_state(ob.create("kalman").partial_fit(X, y, observation_noise=q[:, None, None] + 1), wanted)


def test_what_comes_with_the_rows_takes_the_place_of_the_settings() -> None:
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


def test_what_overflows_float32_is_refused(same_state: Same) -> None:
    learner = ob.create("kalman", dtype="float32").partial_fit(X, y)
    for name in VARYING:
        act = lambda it, name=name: it.partial_fit(X, y, **{name: np.full(9, 1e300)})  # noqa: E731
        refused(learner, act, ValueError, rf"{name}\[0\] = 1e\+300 overflows float32", same_state)


def test_inputs_are_neither_written_to_nor_kept(same_state: Same) -> None:
    learner, want = ob.create("kalman"), ob.create("kalman").partial_fit(X, y, **GIVEN)
    mine = {name: a.copy() for name, a in GIVEN.items()}
    learner.partial_fit(X, y, **mine)
    for a in mine.values():
        a[...] = 7
    same_state(learner, want)
    P, m = np.eye(3), np.ones(3)
    learner = ob.create("kalman", initial_covariance=P, process_noise=P, initial_mean=m)
    P[...] = m[...] = 7
    same = ob.create("kalman", initial_covariance=np.eye(3), process_noise=np.eye(3), initial_mean=np.ones(3))
    same_state(learner.partial_fit(X, y), same.partial_fit(X, y))


def test_other_dresses_of_the_same_numbers(same_state: Same) -> None:
    want = ob.create("kalman").partial_fit(X, y, **GIVEN)
    wide = {name: np.repeat(a, 2, axis=0)[::2] for name, a in GIVEN.items()}
    same_state(ob.create("kalman").partial_fit(np.asfortranarray(X), y, **wide), want)
    lists = {name: a.tolist() for name, a in GIVEN.items()}
    same_state(ob.create("kalman").partial_fit(X.tolist(), y.tolist(), **lists), want)
    turned = {name: np.asfortranarray(a) for name, a in GIVEN.items()}
    same_state(ob.create("kalman").partial_fit(X, y, **turned), want)


# ---------------------------------------------------------------------- settings


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
def test_bad_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ob.create("kalman", **settings)


@pytest.mark.parametrize("value", ["x", [[1.0], [1.0, 2.0]], (np.tanh,), (np.tanh, 1), np.tanh, 1j])
def test_what_is_no_transition_is_refused(value: Any) -> None:
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
    np.testing.assert_array_equal(start.predict(np.eye(3), transition=0.5), [1, 2, 3])  # the first state moves not
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


# ---------------------------------------------------------------------- any chunks


@st.composite
def streams(draw: st.DrawFn) -> tuple[Any, Any, dict[str, Any], list[slice], str]:
    """Rows, some unseen, what comes with them (identities and zeros among it), a cut into chunks, a dtype."""
    n, d = draw(st.integers(0, 11)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    X = rng.standard_normal((n, d))
    y = rng.standard_normal(draw(st.sampled_from([(n,), (n, 1), (n, 2)])))
    F = draw(st.sampled_from([np.eye(d), rng.standard_normal((d, d)) / d, np.diag(rng.uniform(0, 1, d))]))
    G, Q = np.tile(F, (n, 1, 1)), spd(rng, n, d) if n else np.zeros((0, d, d))
    for i in draw(st.lists(st.integers(0, n - 1), max_size=4)) if n else ():
        G[i], Q[i], y[i] = np.eye(d), draw(st.sampled_from([0.0, 1.0])) * Q[i], NAN
    varying = {"transition": G, "process_noise": Q, "observation_noise": rng.uniform(0.1, 2, n)}
    kept = draw(st.sets(st.sampled_from(VARYING)))
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=6)))
    pieces = [slice(lo, hi) for lo, hi in zip([0, *cuts], [*cuts, n], strict=True)]
    return X, y, {k: varying[k] for k in sorted(kept)}, pieces, draw(st.sampled_from(["float64", "float32"]))


CONSTANTS = st.sampled_from(
    [{}, {"process_noise": 0.1}, {"transition": 0.9, "observation_noise": 0.5}, {"transition": 1.0}]
)


@given(stream=streams(), settings=CONSTANTS)
def test_cuts_do_not_matter(stream: Any, settings: Any, same_state: Same) -> None:
    """Bit for bit, whatever comes with the rows; and P stays symmetric to the bit."""
    X, y, varying, pieces, dtype = stream
    whole, parts, told_not = (ob.create("kalman", dtype=dtype, **settings) for _ in range(3))
    told = whole.prequential(X, y, **varying)
    got = [parts.prequential(X[rows], y[rows], **cut(varying, rows)) for rows in pieces]
    for rows in pieces:
        told_not.partial_fit(X[rows], y[rows], **cut(varying, rows))
    same_state(parts, whole)
    same_state(told_not, whole)
    np.testing.assert_array_equal(np.concatenate(got), told)
    assert np.isfinite(told).all()
    P = moments(whole)[1]
    np.testing.assert_array_equal(P, P.T)
    assert whole.n_samples_seen_ == len(X) == whole.state().attrs["t"]


@given(stream=streams(), settings=CONSTANTS)
def test_prequential_is_a_forecast_and_then_the_row(stream: Any, settings: Any, same_state: Same) -> None:
    X, y, varying, _, dtype = stream
    whole, alone = (ob.create("kalman", dtype=dtype, **settings).partial_fit(X[:0], y[:0]) for _ in range(2))
    told = whole.prequential(X, y, **varying)
    for i in range(len(X)):
        row, here = slice(i, i + 1), cut(varying, slice(i, i + 1))
        want = alone.predict(X[row], **{k: a[0] for k, a in here.items() if k == "transition"})
        np.testing.assert_allclose(told[row], want, rtol=1e-4 if dtype == "float32" else 1e-11, atol=1e-6)
        alone.partial_fit(X[row], y[row], **here)
    same_state(whole, alone)


def test_cuts_do_not_matter_for_what_is_said_of_digits(same_state: Same) -> None:
    """A row that comes with the identity is at rest, whatever comes with its neighbours."""
    F, Q = np.tile(np.eye(3), (9, 1, 1)), np.zeros((9, 3, 3))
    F[7], Q[8] = 0.5 * np.eye(3), np.eye(3)
    vague = {"initial_covariance": 1e8, "observation_noise": 1e-4}
    whole, parts = ob.create("kalman", **vague), ob.create("kalman", **vague)

    def row_by_row() -> None:
        for i in range(9):
            row = slice(i, i + 1)
            parts.partial_fit(X[row], y[row], transition=F[row], process_noise=Q[row])

    assert len(said(row_by_row)) == 1
    assert len(said(lambda: whole.partial_fit(X, y, transition=F, process_noise=Q))) == 1
    same_state(parts, whole)


def test_a_state_moved_once_a_step_was_taken_that_moved_it() -> None:
    F = np.ones(3)
    F[0] = 0.5  # before the first step nothing moves
    learner = ob.create("kalman").partial_fit(X[:3], y[:3], transition=F, process_noise=[1.0, 0, 0])
    assert learner.state()["moved"] == 0
    assert learner.partial_fit(X[3:4], y[3:4], transition=[0.5]).state()["moved"] == 1
    assert ob.create("kalman", transition=np.eye(3), process_noise=0.0).partial_fit(X, y).state()["moved"] == 0
    assert ob.create("kalman").partial_fit(X, y, process_noise=np.eye(9)[1]).state()["moved"] == 1
    assert ob.create("kalman", process_noise=1.0).partial_fit(X[:1], y[:1]).state()["moved"] == 0
    assert ob.create("kalman", process_noise=1.0).step(X, y).step(X, y).state()["moved"] == 1


# ---------------------------------------------------------------------- what is missing


def test_unseen_rows_predict_only(same_state: Same) -> None:
    learner = ob.create("kalman", transition=0.5, process_noise=0.1, initial_mean=[1, 2, 3])
    told = learner.prequential(X, np.full(9, NAN))
    np.testing.assert_allclose(told, X @ [1, 2, 3] * 0.5 ** np.arange(9), rtol=1e-13)
    mean, P = moments(learner)
    np.testing.assert_allclose(mean[:, 0], 0.5**8 * np.array([1, 2, 3]), rtol=1e-13)
    np.testing.assert_allclose(P, (0.25**8 + 0.1 * (1 - 0.25**8) / 0.75) * np.eye(3), rtol=1e-13)
    assert learner.n_samples_seen_ == 9
    still = ob.create("kalman").partial_fit(X, y)
    before = moments(still)
    for a, b in zip(moments(still.partial_fit(X, np.full(9, NAN)).step(X, np.full(9, NAN))), before, strict=True):
        np.testing.assert_array_equal(a, b)
    assert still.n_samples_seen_ == 27


def test_a_row_with_an_unseen_output_is_unseen(same_state: Same) -> None:
    """On the linear model all outputs share one covariance."""
    Y = np.column_stack([X[:, 0], X[:, 1]])
    holes = Y.copy()
    holes[2, 1] = holes[5, 0] = NAN
    gone = Y.copy()
    gone[[2, 5]] = NAN
    want = ob.create("kalman", process_noise=0.1).partial_fit(X, gone)
    same_state(ob.create("kalman", process_noise=0.1).partial_fit(X, holes), want)
    seen = [0, 1, 3, 4, 6, 7, 8]
    R = spd(np.random.default_rng(3), 9)
    got = ob.create("kalman").step(X, holes, observation_noise=R)
    want = ob.create("kalman").step(X[seen], Y[seen], observation_noise=R[np.ix_(seen, seen)])
    for a, b in zip(moments(got), moments(want), strict=True):
        np.testing.assert_array_equal(a, b)


def test_of_a_model_only_that_output_is_unseen(cubic: ob.Model) -> None:
    x, target = X[:1], np.array([[NAN, 0.3]])
    start = np.full(6, 0.1)
    learner = ob.create("kalman", model=cubic, initial_mean=start, observation_noise=[0.5, 0.7]).partial_fit(x, target)
    J, e = cubic.jacobian(start, x[0])[1], 0.3 - cubic.predict(start, x)[0, 1]
    s = 0.7 + J @ J
    np.testing.assert_allclose(moments(learner)[0][:, 0], start + J * e / s, rtol=1e-13)
    np.testing.assert_allclose(moments(learner)[1], np.eye(6) - np.outer(J, J) / s, atol=1e-14)
    before = moments(learner)
    for a, b in zip(moments(learner.partial_fit(x, [[NAN, NAN]])), before, strict=True):
        np.testing.assert_array_equal(a, b)


def test_nan_in_the_rows_and_inf_in_y_are_refused(same_state: Same) -> None:
    learner, bad = ob.create("kalman").partial_fit(X, y), X.copy()
    bad[4, 1] = NAN
    refused(learner, lambda it: it.partial_fit(bad, y), ValueError, r"X\[4, 1\] is nan", same_state)
    refused(learner, lambda it: it.step(X[:2], [NAN, np.inf]), ValueError, r"y\[1\] is inf", same_state)


# ---------------------------------------------------------------------- several observations, several outputs


def test_blocks_with_a_moving_state_are_conditioned_normals() -> None:
    _, _, varying = scene(n=3)
    F, Q = varying["transition"], varying["process_noise"]
    rng = np.random.default_rng(5)
    R, blocks = spd(rng, 4), [slice(0, 4), slice(4, 5), slice(5, 9)]
    data, noises = np.where(np.isnan(y), 0.4, y), [R, np.array([[0.7]]), np.diag([1.0, 2, 3, 4])]
    learner, rows = ob.create("kalman", initial_covariance=2.0), []
    for i, (block, noise) in enumerate(zip(blocks, (R, 0.7, [1.0, 2, 3, 4]), strict=True)):
        learner.step(X[block], data[block], transition=F[i], process_noise=Q[i], observation_noise=noise)
        rows.append((i, X[block], data[block, None], noises[i]))
    want = conditioned(prior(F, Q, np.zeros((3, 1)), 2 * np.eye(3)), rows).of(2)
    for a, b in zip(moments(learner), want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)
    assert learner.state().attrs["t"] == 3
    assert learner.n_samples_seen_ == 9


def test_a_block_of_a_model_has_the_noise_of_the_settings_in_every_row(cubic: ob.Model) -> None:
    start, targets = np.full(6, 0.1), np.array([[0.3, -0.2], [0.1, 0.4], [NAN, 0.2]])
    R = np.array([[0.5, 0.2], [0.2, 0.7]])
    J = np.concatenate([cubic.jacobian(start, x) for x in X[:3]])
    e = (targets - cubic.predict(start, X[:3])).ravel()
    seen = ~np.isnan(e)
    noise = np.kron(np.eye(3), R)[np.ix_(seen, seen)]
    P = np.linalg.inv(np.eye(6) + J[seen].T @ np.linalg.solve(noise, J[seen]))
    want = start + P @ J[seen].T @ np.linalg.solve(noise, e[seen])
    one = ob.create("kalman", model=cubic, initial_mean=start, observation_noise=R).step(X[:3], targets)
    other = ob.create("kalman", model=cubic, initial_mean=start)
    other.step(X[:3], targets, observation_noise=np.kron(np.eye(3), R))
    for learner in (one, other):
        np.testing.assert_allclose(moments(learner)[0][:, 0], want, rtol=1e-11)
        np.testing.assert_allclose(moments(learner)[1], P, rtol=1e-11, atol=1e-13)
    rows = ob.create("kalman", model=cubic, initial_mean=start)
    rows.partial_fit(X[:1], targets[:1], observation_noise=R[None])
    same = ob.create("kalman", model=cubic, initial_mean=start, observation_noise=R).partial_fit(X[:1], targets[:1])
    np.testing.assert_array_equal(moments(rows)[0], moments(same)[0])


def test_several_outputs_are_learners_side_by_side() -> None:
    X, Y, varying = scene(outputs=3)
    together = ob.create("kalman").partial_fit(X, Y, **varying)
    smooth = ob.create("kalman").smooth(X, Y, **varying)
    for k in range(3):
        alone = ob.create("kalman").partial_fit(X, Y[:, k], **varying)
        np.testing.assert_allclose(moments(together)[0][:, k : k + 1], moments(alone)[0], rtol=1e-12)
        np.testing.assert_allclose(moments(together)[1], moments(alone)[1], rtol=1e-12)
        one = ob.create("kalman").smooth(X, Y[:, k], **varying)
        np.testing.assert_allclose(smooth["mean"][..., k], one["mean"][..., 0], rtol=1e-11, atol=1e-13)
    assert together.predict(X).shape == (9, 3)


# ---------------------------------------------------------------------- functions: the extended filter


def pendulum(w: Any) -> Any:
    """A nonlinear motion of three numbers."""
    return np.stack([w[0] + 0.1 * w[1], w[1] - 0.1 * np.sin(w[0]), 0.9 * w[2] * w[0]])


def slope(w: Any) -> Any:
    """Its Jacobian."""
    return np.array([[1, 0.1, 0], [-0.1 * np.cos(w[0]), 1, 0], [0.9 * w[2], 0, 0.9 * w[0]]], w.dtype)


def test_the_extended_filter_is_linearised_at_the_last_estimate(cubic: ob.Model) -> None:
    """Against its formulas with dense inverses: g at theta_(t-1), f at theta_(t given t-1)."""
    m, P, Q, noise = np.array([0.5, -0.3, 0.2]), np.diag([1.0, 2, 3]), 0.1 * np.eye(3), 0.4
    learner = ob.create(
        "kalman", model=cubic, transition=(pendulum, slope), process_noise=Q, observation_noise=noise,
        initial_mean=m, initial_covariance=P,
    )  # fmt: skip
    rows, targets = X[:4] / 2, np.array([0.3, NAN, -0.2, 0.5])
    told = learner.prequential(rows, targets)
    for i, (x, t) in enumerate(zip(rows, targets, strict=True)):
        if i:
            G = slope(m)
            m, P = pendulum(m), G @ P @ G.T + Q
        f, J = cubic.predict(m, x[None])[0, 0], cubic.jacobian(m, x)
        np.testing.assert_allclose(told[i], f, rtol=1e-12)
        if not np.isnan(t):
            P_new = np.linalg.inv(np.linalg.inv(P) + J.T @ J / noise)
            m, P = m + P_new @ J[0] * (t - f) / noise, P_new
    got = moments(learner)
    np.testing.assert_allclose(got[0][:, 0], m, rtol=1e-11)
    np.testing.assert_allclose(got[1], P, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(learner.predict(rows), cubic.predict(pendulum(m), rows)[:, 0], rtol=1e-11)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_chunks_of_an_extended_filter(dtype: str, cubic: ob.Model, same_state: Same) -> None:
    for model in ({}, {"model": cubic}):
        settings = {"transition": ob.Transition("p", pendulum, slope), "process_noise": 0.1, "dtype": dtype, **model}
        whole, parts = (ob.create("kalman", **settings) for _ in range(2))
        told = whole.prequential(X / 4, y / 4)
        got = [parts.prequential(X[i : i + 2] / 4, y[i : i + 2] / 4) for i in range(0, 9, 2)]
        same_state(parts, whole)
        np.testing.assert_array_equal(np.concatenate(got), told)
        assert told.dtype == dtype
        assert whole.state()["moved"] == 1


def test_a_transition_in_functions_may_come_with_the_rows(same_state: Same) -> None:
    turn = (pendulum, slope)
    want = ob.create("kalman", transition=turn).partial_fit(X, y)
    got = ob.create("kalman").partial_fit(X[:4], y[:4], transition=turn)
    got.partial_fit(X[4:], y[4:], transition=ob.Transition("any", *turn))
    for a, b in zip(moments(got), moments(want), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(got.predict(X, transition=turn), want.predict(X))
    got.partial_fit(X, y)  # then the state is at rest again
    np.testing.assert_array_equal(got.predict(X), X @ moments(got)[0][:, 0])
    many = np.ones((9, 2))
    with pytest.raises(ValueError, match="a nonlinear transition moves one output only: y has 2"):
        ob.create("kalman", transition=turn).partial_fit(X, many)
    with pytest.raises(ValueError, match="moves one output only"):
        ob.create("kalman").partial_fit(X, many, transition=turn)


@pytest.mark.parametrize("way", ["restore", "load", "copy"])
def test_a_transition_in_functions_is_passed_again(way: str, same_state: Same, tmp_path: Path) -> None:
    learner = ob.create("kalman", transition=(pendulum, slope), process_noise=0.1).partial_fit(X[:5], y[:5])
    learner.save(tmp_path / "s.npz")
    again: Callable[..., Any] = {
        "restore": lambda **t: ob.restore(learner.state(), **t),
        "load": lambda **t: ob.load(tmp_path / "s.npz", **t),
        "copy": lambda **t: learner.copy(),
    }[way]
    if way != "copy":
        with pytest.raises(ValueError, match="the transition is the function 'pendulum', got None: pass transition="):
            again()
        with pytest.raises(ValueError, match="the transition is the function 'pendulum', got 'slope'"):
            again(transition=(slope, slope))
        same_state(again(transition=ob.Transition("pendulum", pendulum, slope)), learner)
    other = again(transition=(pendulum, slope))
    same_state(other.partial_fit(X[5:], y[5:]), learner.partial_fit(X[5:], y[5:]))


def test_a_function_that_nobody_asked_for_is_refused(tmp_path: Path) -> None:
    learner = ob.create("kalman", transition=np.eye(3) / 2).partial_fit(X, y)
    with pytest.raises(ValueError, match="got 'pendulum', but the state has its own or none: leave it out"):
        ob.restore(learner.state(), transition=(pendulum, slope))


@pytest.mark.parametrize(
    ("function", "jacobian", "message"),
    [
        (lambda w: w[:2], slope, r"transition '<lambda>': function\(w\) returned shape \(2,\).*of shape \(3,\)"),
        (lambda w: None, slope, r"function\(w\) returned NoneType"),
        (lambda w: w + 0j, slope, r"function\(w\) returned shape \(3,\), dtype complex128"),
        (pendulum, lambda w: np.eye(2), r"transition 'pendulum': jacobian\(w\) returned shape \(2, 2\)"),
    ],
)
def test_functions_that_return_something_else_change_nothing(
    function: Any, jacobian: Any, message: str, same_state: Same
) -> None:
    learner = ob.create("kalman", transition=(function, jacobian)).partial_fit(X[:1], y[:1])
    refused(learner, lambda it: it.partial_fit(X[1:], y[1:]), ValueError, message, same_state)
    refused(learner, lambda it: it.smooth(X[1:], y[1:]), ValueError, message, same_state)
    refused(learner, lambda it: it.step(X[1:], y[1:]), ValueError, message, same_state)


def test_a_function_that_fails_half_way_changes_nothing(same_state: Same) -> None:
    def tired(w: Any) -> Any:
        tired.left -= 1  # type: ignore[attr-defined]
        if tired.left < 0:  # type: ignore[attr-defined]
            raise RuntimeError("no more")
        return w / 2

    learner = ob.create("kalman", transition=(tired, lambda w: np.eye(3) / 2))
    tired.left = 100  # type: ignore[attr-defined]
    learner.partial_fit(X[:3], y[:3])
    tired.left = 4  # type: ignore[attr-defined]
    refused(learner, lambda it: it.partial_fit(X, y), RuntimeError, "no more", same_state)
    still = ob.create("kalman").partial_fit(X, y)
    tired.left = 4  # type: ignore[attr-defined]
    pair = (tired, lambda w: np.eye(3) / 2)
    refused(still, lambda it: it.partial_fit(X, y, transition=pair), RuntimeError, "no more", same_state)


def test_functions_may_write_to_what_they_are_given(same_state: Same) -> None:
    def halved(w: Any) -> Any:
        w /= 2
        return w

    def flat(w: Any) -> Any:
        w[...] = 7
        return np.eye(3) / 2

    got = ob.create("kalman", transition=(halved, flat)).partial_fit(X, y)
    want = ob.create("kalman", transition=0.5).partial_fit(X, y)
    np.testing.assert_allclose(got.predict(X), want.predict(X), rtol=1e-13)
    assert got.predict(X).tolist() == got.predict(X).tolist()


# ---------------------------------------------------------------------- states


SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "numbers": {"transition": 0.9, "process_noise": 0.1, "observation_noise": 2, "initial_mean": 1.0},
    "vectors": {"transition": [0.9, 1, 1], "process_noise": [0.1, 0, 0.2], "initial_mean": [1, 2, 3]},
    "matrices": {
        "transition": GIVEN["transition"][0],
        "process_noise": GIVEN["process_noise"][0],
        "observation_noise": [[0.5]],
        "initial_mean": [[1], [2], [3]],
        "initial_covariance": GIVEN["process_noise"][1],
    },
}


@pytest.mark.parametrize("rows", [None, 0, 1, 6])
@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_goes_on_exactly_there(settings: str, rows: int | None, dtype: str, same_state: Same, tmp_path: Path) -> None:
    learner = ob.create("kalman", dtype=dtype, **SETTINGS[settings])
    if rows is not None:
        learner.partial_fit(X[:rows], y[:rows], **cut(GIVEN, slice(rows)))
    learner.save(tmp_path / "s.npz")
    for other in (learner.copy(), ob.restore(learner.state()), ob.load(tmp_path / "s.npz")):
        same_state(other, learner)
        twin, rest = learner.copy(), slice(rows or 0, None)
        for it in (other, twin):
            it.partial_fit(X[rest], y[rest]).partial_fit(X[rest], y[rest], **cut(GIVEN, rest)).step(X, y)
        same_state(other, twin)


def test_names_and_dimensions() -> None:
    state = ob.create("kalman", transition=np.eye(3), dtype="float32").partial_fit(X, y).state()
    assert {str(n): a.dims for n, a in state.variables.items() if not str(n).startswith(("pending", "setting"))} == {
        "mean": ("parameter", "output"),
        "covariance": ("parameter", "parameter_2"),
        "scale": ("parameter",),
        "digits_lost": (),
        "moved": (),
    }
    assert {a.dtype for n, a in state.variables.items() if n != "setting_transition"} == {np.dtype("float32")}


# ---------------------------------------------------------------------- smoothing


def test_smoothing_changes_nothing_and_names_its_steps(same_state: Same) -> None:
    learner = ob.create("kalman", process_noise=0.1).partial_fit(X[:4], y[:4])
    before = learner.copy()
    found = learner.smooth(X[4:], y[4:], **cut(GIVEN, slice(4, None)))
    same_state(learner, before)
    assert found["mean"].dims == ("step", "parameter", "output")
    assert found["covariance"].dims == ("step", "parameter", "parameter_2")
    assert found["step"].values.tolist() == [5, 6, 7, 8, 9]
    assert learner.partial_fit(X[4:], y[4:]).n_samples_seen_ == 9
    fresh = ob.create("kalman")
    fresh.smooth(X, y)
    same_state(fresh, ob.create("kalman"))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("seen", [0, 4])
def test_smoothing_no_row_and_one_row(seen: int, dtype: str) -> None:
    learner = ob.create("kalman", dtype=dtype, transition=0.9, process_noise=0.1)
    if seen:
        learner.partial_fit(X[:seen], y[:seen])
    none = learner.smooth(X[:0], y[:0], **cut(GIVEN, slice(0)))
    assert none["mean"].shape == (0, 3, 1)
    assert none["covariance"].shape == (0, 3, 3)
    assert none["step"].shape == (0,)
    one = learner.smooth(X[5:6], y[5:6], **cut(GIVEN, slice(5, 6)))
    learner.partial_fit(X[5:6], y[5:6], **cut(GIVEN, slice(5, 6)))
    np.testing.assert_array_equal(one["mean"][0], moments(learner)[0])
    np.testing.assert_array_equal(one["covariance"][0], moments(learner)[1])
    assert {one["mean"].dtype, none["covariance"].dtype} == {np.dtype(dtype)}


def test_the_last_smoothed_state_is_the_filtered_one() -> None:
    found = ob.create("kalman").smooth(X, y, **GIVEN)
    mean, P = moments(ob.create("kalman").partial_fit(X, y, **GIVEN))
    np.testing.assert_array_equal(found["mean"][-1], mean)
    np.testing.assert_array_equal(found["covariance"][-1], P)
    for P in found["covariance"].values:
        np.testing.assert_array_equal(P, P.T)


def test_smoothing_from_a_state_with_rows_seen() -> None:
    """The states from then on, given all rows: those before are only the start."""
    learner = ob.create("kalman", initial_covariance=3.0).partial_fit(X[:4], y[:4], **cut(GIVEN, slice(4)))
    found = learner.smooth(X[4:], y[4:], **cut(GIVEN, slice(4, None)))
    all_at_once = ob.create("kalman", initial_covariance=3.0).smooth(X, y, **GIVEN)
    np.testing.assert_allclose(found["mean"], all_at_once["mean"][4:], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found["covariance"], all_at_once["covariance"][4:], rtol=1e-12, atol=1e-14)


def test_at_rest_every_smoothed_state_is_the_last() -> None:
    rows = np.vstack([np.eye(3)[0], 1e-5 * X])
    found = ob.create("kalman", observation_noise=1e-6).smooth(rows, np.append(1.0, y))
    for name in ("mean", "covariance"):
        for value in found[name].values:
            np.testing.assert_allclose(value, found[name].values[-1], rtol=1e-9, atol=1e-13)


def test_smoothing_what_is_known_exactly() -> None:
    """A predicted covariance without an inverse: the pseudo-inverse knows that nothing is to be learnt there."""
    start = {"initial_covariance": [1, 0, 2], "transition": GIVEN["transition"][0], "observation_noise": 0.0}
    found = ob.create("kalman", **start).smooth(X[:4], y[:4])
    mean, F = np.zeros((3, 1)), np.tile(start["transition"], (4, 1, 1))
    rows = [(i, X[i : i + 1], y[i : i + 1, None], np.full((1, 1), 1e-13)) for i in range(2)]  # then all is known
    want = conditioned(prior(F, np.zeros((4, 3, 3)), mean, np.diag([1.0, 0, 2])), rows)
    np.testing.assert_allclose(found["mean"], want.mean, atol=1e-9)
    assert abs(found["covariance"].values).max() < 1e-9


def test_smoothing_with_functions_is_that_of_their_slopes() -> None:
    matrix = GIVEN["transition"][0]
    turn = (lambda w: matrix @ w, lambda w: matrix)
    got = ob.create("kalman", transition=turn, process_noise=0.1).smooth(X, y)
    want = ob.create("kalman", transition=matrix, process_noise=0.1).smooth(X, y)
    np.testing.assert_allclose(got["mean"], want["mean"], rtol=1e-11)
    np.testing.assert_allclose(got["covariance"], want["covariance"], rtol=1e-11, atol=1e-14)
    assert np.isfinite(ob.create("kalman", transition=(pendulum, slope)).smooth(X, y)["mean"]).all()


# ---------------------------------------------------------------------- exact observations


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("d", [1, 4, 30])
def test_without_noise_a_state_at_rest_is_interpolated(d: int, dtype: str) -> None:
    """As icl: rows that earlier ones determine change nothing, even where they contradict these."""
    rng = np.random.default_rng(2)
    A = np.linalg.qr(rng.standard_normal((d, d)))[0] + 0.1 * rng.standard_normal((d, d))
    rows, targets = np.vstack([A, A[:1], A.sum(0, keepdims=True)]), rng.standard_normal(d + 2)
    learner = ob.create("kalman", observation_noise=0.0, dtype=dtype)
    tol = 1e-9 if dtype == "float64" else 1e-2
    for n in (1, d // 2, d, d + 2):
        learner = ob.create("kalman", observation_noise=0.0, dtype=dtype).partial_fit(rows[:n], targets[:n])
        kept = min(n, d)
        off = np.eye(d) - np.linalg.pinv(rows[:kept]) @ rows[:kept]
        np.testing.assert_allclose(
            moments(learner)[0][:, 0], np.linalg.pinv(rows[:kept]) @ targets[:kept], rtol=tol, atol=tol
        )
        np.testing.assert_allclose(moments(learner)[1], off, atol=tol)
    assert learner.state()["digits_lost"] == 0


def test_without_noise_in_a_block_that_repeats_itself() -> None:
    A = np.vstack([X[:2], X[:1], 1e9 * X[1:2]])
    learner = ob.create("kalman", observation_noise=0.0).step(A, A @ [1, 2, 3])
    np.testing.assert_allclose(A @ moments(learner)[0][:, 0], A @ [1, 2, 3], rtol=1e-9)
    off = np.eye(3) - np.linalg.pinv(X[:2]) @ X[:2]
    np.testing.assert_allclose(moments(learner)[1], off, atol=1e-9)


def test_noise_that_two_rows_share_cancels_in_their_difference() -> None:
    """R = [[1, 1], [1, 1]]: y_1 - y_2 is exact."""
    learner = ob.create("kalman").step(X[:2], y[:2], observation_noise=np.ones((2, 2)))
    rows = [(0, X[:2], y[:2, None], np.ones((2, 2)))]
    want = conditioned(prior(np.eye(3)[None], np.zeros((1, 3, 3)), np.zeros((3, 1)), np.eye(3)), rows).of(0)
    for a, b in zip(moments(learner), want, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_exact_rows_of_a_state_that_is_shaken_again() -> None:
    """Position seen without noise, velocity driven by noise, a vague prior: no word, and the right moments."""
    F, Q = np.array([[1.0, 1], [0, 1]]), np.diag([0, 0.01])
    rng = np.random.default_rng(4)
    learner = ob.create("kalman", transition=F, process_noise=Q, observation_noise=0.0, initial_covariance=1e7)
    position = np.cumsum(np.cumsum(0.1 * rng.standard_normal(500)))
    learner.partial_fit(np.tile([1.0, 0], (500, 1)), position)
    mean, P = moments(learner)
    np.testing.assert_allclose(mean[:, 0], [position[-1], position[-1] - position[-2]], rtol=1e-7)
    np.testing.assert_allclose(P, Q, atol=1e-9)  # x_t - x_(t-1) is the velocity before it was shaken
    assert learner.state()["digits_lost"] == 0


def test_exact_rows_are_measured_against_the_state_as_it_last_moved() -> None:
    """A start that says nothing is forgotten at once, and what is small beside it is not rounding."""
    learner = ob.create(
        "kalman", transition=0.0, process_noise=1e-3, observation_noise=0.0, initial_covariance=1e20
    ).partial_fit(X, np.nan_to_num(y))
    x, target = X[-1], y[-1]
    np.testing.assert_allclose(moments(learner)[0][:, 0], x * target / (x @ x), rtol=1e-9)
    np.testing.assert_allclose(moments(learner)[1], 1e-3 * (np.eye(3) - np.outer(x, x) / (x @ x)), atol=1e-12)
    np.testing.assert_allclose(learner.state()["scale"], 1e-3)


def test_what_is_certain_learns_nothing(same_state: Same) -> None:
    for noise in (0.0, 1.0):
        learner = ob.create("kalman", initial_covariance=0.0, initial_mean=2.0, observation_noise=noise)
        learner.partial_fit(X, y)
        np.testing.assert_array_equal(moments(learner)[0], np.full((3, 1), 2.0))
        assert not moments(learner)[1].any()


# ---------------------------------------------------------------------- digits and divergence


def said(act: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    return [str(w.message) for w in caught]


def test_a_vague_prior_beside_small_noise_is_said_and_then_refused() -> None:
    near = {"observation_noise": 1e-4}
    assert said(lambda: ob.create("kalman", initial_covariance=1e4, **near).partial_fit(X, y)) == []
    (text,) = said(lambda: ob.create("kalman", initial_covariance=1e8, **near).partial_fit(X, y))
    assert "kalman: half of the digits of the covariance are gone" in text
    assert "a smaller initial_covariance" in text
    with pytest.raises(ob.DivergedError, match=r"kalman diverged at step 1, row 0 .* too few digits"):
        ob.create("kalman", initial_covariance=1e14, **near).partial_fit(X, y)
    turned = ob.create("kalman", initial_covariance=1e8, transition=GIVEN["transition"][0], **near)  # mixes it
    assert said(lambda: turned.partial_fit(X, y)) == []
    shaken = ob.create("kalman", initial_covariance=1e14, process_noise=100.0, **near)  # renews what was lost
    assert len(said(lambda: shaken.partial_fit(X, y))) <= 1
    np.testing.assert_allclose(shaken.state()["covariance"], shaken.state()["covariance"].values.T)


@pytest.mark.parametrize("noise", [0.0, 1e-3])
@pytest.mark.parametrize("settings", [{}, {"transition": 0.9, "process_noise": 1e-3}], ids=str)
def test_a_variance_below_zero_is_refused(noise: float, settings: Any, same_state: Same) -> None:
    """No exact arithmetic gives it."""
    state = ob.create("kalman", observation_noise=noise, **settings).partial_fit(X[:0], y[:0]).state()
    state["covariance"].values[0, 0] = -0.5
    state.attrs["orfit_bench"] = state.attrs["orfit_bench"].replace('"t": 0', '"t": 4')
    learner = ob.restore(state)
    for act in (learner.partial_fit, learner.step, learner.smooth):
        with pytest.raises(ob.DivergedError):
            act([[1.0, 0.1, 0.1]], [1.0])
    same_state(learner, ob.restore(state))


def test_growing_errors_are_refused_while_two_digits_are_left() -> None:
    """As forgetting does, this transition grows what the rows do not see, here the difference of two numbers."""
    learner = ob.create("kalman", transition=1.5)
    rows = np.ones((100, 2))
    with pytest.warns(ob.AccuracyWarning), pytest.raises(ob.DivergedError):
        learner.partial_fit(rows, np.ones(100))
    P = moments(learner)[1]
    assert 1e-3 < 4 * np.finfo(float).eps * P.max() < 0.01 * 2.25
    s = 2.25 - 1  # of the sum, where s -> 2.25 s / (1 + s) stays; its forecast f -> 1.5 (f + (1 - f) s / (1 + s)) too
    np.testing.assert_allclose(learner.predict(rows[:1]), 2.5, rtol=1e-3)
    np.testing.assert_allclose(rows[0] @ P @ rows[0], s / (1 + s), rtol=0.05)


def test_a_state_that_grows_unseen_warns_and_then_diverges() -> None:
    """Every row an x that does not see the second number, which doubles."""
    learner = ob.create("kalman", transition=[0.5, 2.0])
    rows = np.tile([1.0, 0.0], (400, 1))
    assert len(said(lambda: learner.partial_fit(rows[:300], np.ones(300)))) == 1
    with pytest.raises(ob.DivergedError) as info:
        learner.partial_fit(np.tile(rows, (2, 1)), np.ones(800))
    good = ob.create("kalman", transition=[0.5, 2.0])
    said(lambda: good.partial_fit(np.tile(rows, (2, 1))[: info.value.step - 1], np.ones(info.value.step - 1)))
    assert learner.state().identical(good.state())
    assert moments(learner)[1][1, 1] > 1e300


@pytest.mark.parametrize("functions", [False, True])
@pytest.mark.parametrize("start", [0, 1, 2])
def test_divergence_keeps_the_state_before_the_prediction(start: int, functions: bool, same_state: Same) -> None:
    F, rows = np.diag([0.5, 1, 1]), np.vstack([np.eye(3)[:2], [[0, 0, 1e-5]], np.eye(3)])
    targets = np.array([1, 1, 1e308, 1, 1, 1])
    transition = (lambda w: F @ w, lambda w: F) if functions else F
    settings = {"initial_covariance": 1e10, "process_noise": 0.1, "transition": transition}
    for call in ("partial_fit", "prequential", "smooth"):
        learner = ob.create("kalman", **settings).partial_fit(rows[:start], targets[:start])
        good = ob.create("kalman", **settings).partial_fit(rows[:2], targets[:2])
        kept = learner.copy() if call == "smooth" else good
        with pytest.raises(ob.DivergedError, match=f"diverged at step 3, row {2 - start} of this call") as info:
            getattr(learner, call)(rows[start:], targets[start:])
        assert (info.value.step, info.value.row) == (3, 2 - start)
        same_state(learner, kept)
    with pytest.raises(ob.DivergedError):
        good.step(rows[2:4], targets[2:4])
    same_state(good, ob.create("kalman", **settings).partial_fit(rows[:2], targets[:2]))


@pytest.mark.parametrize("functions", [False, True])
def test_a_prediction_that_leaves_the_finite_numbers_is_refused_unseen(functions: bool, same_state: Same) -> None:
    F = 1e100 * np.eye(3)
    learner = ob.create("kalman", transition=(lambda w: F @ w, lambda w: F) if functions else F)
    learner.partial_fit(X[:2], [NAN, NAN])
    kept = learner.copy()
    for act in (
        lambda: learner.partial_fit(X[:3], [NAN] * 3),
        lambda: learner.step(X[:3], [NAN] * 3),
        lambda: learner.smooth(X[:3], [NAN] * 3),
    ):
        with pytest.raises(ob.DivergedError):
            act()
        same_state(learner, kept)


def test_a_mean_that_a_function_makes_infinite_is_refused_unseen(same_state: Same) -> None:
    learner = ob.create("kalman", transition=(lambda w: w / 0, lambda w: np.eye(3))).partial_fit(X[:1], y[:1])
    kept = learner.copy()
    with pytest.raises(ob.DivergedError):
        learner.partial_fit(X[:1], [NAN])
    same_state(learner, kept)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_no_numpy_warning_at_any_scale(scale: float, dtype: str) -> None:
    s = float(np.clip(scale, *(np.finfo(dtype).tiny, np.finfo(dtype).max / 8)))
    for noise in (0.0, 1.0, s):
        for settings in ({}, {"process_noise": 0.1, "transition": 0.9}, {"initial_covariance": s}):
            learner = ob.create("kalman", observation_noise=noise, dtype=dtype, **settings)
            for A, b in ((X, y), (X * s / 8, y), (X, y * s / 8), (X * s / 8, y * s / 8)):
                for act in (learner.partial_fit, learner.smooth, learner.step):
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", ob.AccuracyWarning)
                        with suppress(ob.DivergedError):
                            act(A, b)
                learner.predict(A)
                assert all(np.isfinite(a).all() for a in moments(learner))


@pytest.mark.parametrize("shape", [(0, 1), (1, 1), (1, 7), (5, 1), (3, 8), (20, 4)])
@pytest.mark.parametrize("outputs", [(), (1,), (2,)])
def test_any_size(shape: tuple[int, int], outputs: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal(shape), rng.standard_normal((shape[0], *outputs))
    learner = ob.create("kalman", process_noise=0.1, transition=np.full(shape[1], 0.9)).partial_fit(A, b)
    assert learner.predict(A).shape == b.shape
    assert learner.smooth(A, b)["mean"].shape == (shape[0], shape[1], *(outputs or (1,)))


# ---------------------------------------------------------------------- merging


def test_merging_is_exact(same_state: Same) -> None:
    X, Y, varying = scene(n=40, outputs=2)
    noise = varying["observation_noise"]
    P = np.array([[2.0, 0.3, 0], [0.3, 1, 0], [0, 0, 0]])  # the third number is known
    for settings in ({}, {"initial_covariance": P, "initial_mean": [1, 2, 3], "transition": 1.0}):
        for k in (1, 13, 39):
            one, a, b = (ob.create("kalman", **settings) for _ in range(3))
            one.partial_fit(X, Y, observation_noise=noise)
            a.partial_fit(X[:k], Y[:k], observation_noise=noise[:k])
            b.partial_fit(X[k:], Y[k:], observation_noise=noise[k:])
            kept = b.copy()
            a.merge(b)
            same_state(b, kept)
            for got, want in zip(moments(a), moments(one), strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-13)
            np.testing.assert_array_equal(moments(a)[1], moments(a)[1].T)
            assert (a.n_samples_seen_, a.state().attrs["t"]) == (40, 40)


def test_merging_with_one_that_saw_nothing(same_state: Same) -> None:
    full = ob.create("kalman").partial_fit(X, y)
    same_state(full.copy().merge(ob.create("kalman")), full)
    same_state(ob.create("kalman").merge(full), full)


def test_merging_keeps_the_word_on_digits() -> None:
    vague = {"initial_covariance": 1e8, "observation_noise": 1e-4}
    a, b = (ob.create("kalman", **vague) for _ in range(2))
    a.partial_fit(X[:1] * 1e-9, y[:1])
    said(lambda: b.partial_fit(X, y))
    assert [it.state()["digits_lost"].item() for it in (a, b)] == [0, 1]
    assert a.merge(b).state()["digits_lost"] == 1


def test_what_cannot_be_merged(cubic: ob.Model, same_state: Same) -> None:
    for settings, message in (
        ({"process_noise": 0.1}, "the state moves between the rows"),
        ({"transition": 0.9}, "the state moves between the rows"),
        ({"transition": (pendulum, slope)}, "the state moves between the rows"),
        ({"model": cubic}, "on a nonlinear model"),
    ):
        a, b = (ob.create("kalman", **settings).partial_fit(X / 4, y / 4) for _ in range(2))
        refused(a, lambda it, b=b: it.merge(b), ValueError, f"kalman cannot be merged here: {message}", same_state)
    still, moved = ob.create("kalman").partial_fit(X, y), ob.create("kalman").partial_fit(X, y, **GIVEN)
    for a, b in ((still, moved), (moved, still)):
        refused(a, lambda it, b=b: it.merge(b), ValueError, "a state moved between its rows", same_state)
    exact = ob.create("kalman").partial_fit(np.eye(3), y[:3], observation_noise=np.zeros(3))
    refused(still, lambda it: it.merge(exact), ValueError, "a direction is known exactly", same_state)


# ---------------------------------------------------------------------- the batch solution


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"initial_mean": 2.0, "initial_covariance": [1, 2, 3], "observation_noise": [0.3]},
        {"initial_covariance": np.diag([1.0, 0, 2]), "transition": np.eye(3)},
        {"observation_noise": 0.0, "initial_mean": [1, 2, 3]},
        {"initial_covariance": 0.0, "initial_mean": [[1, 2], [3, 4], [5, 6]]},
        {"process_noise": 0.1},
        {"transition": 0.9, "initial_mean": [1, 2, 3]},
        {"transition": GIVEN["transition"][0], "process_noise": [0.1, 0, 0.3], "observation_noise": [[2.0]]},
    ],
    ids=str,
)
def test_the_batch_solution(settings: dict[str, Any]) -> None:
    X, Y, _ = scene(n=12, outputs=2)
    learner = ob.create("kalman", **settings).partial_fit(X, Y)
    want = learner.method.batch(X, Y, np.zeros((3, 2)), learner.settings)
    np.testing.assert_allclose(moments(learner)[0], want, rtol=1e-9, atol=1e-11)


def test_where_there_is_no_batch_solution() -> None:
    batch, start = ob.methods()["kalman"].batch, np.zeros((3, 1))
    long = np.ones((700, 3)), np.ones((700, 1))
    assert batch(*long, start, ob.create("kalman").settings) is not None
    assert batch(*long, start, ob.create("kalman", process_noise=1).settings) is None
    assert batch(X, y[:, None], start, ob.create("kalman", transition=(pendulum, slope)).settings) is None


# ---------------------------------------------------------------------- long streams


def stable(d: int) -> tuple[Any, Any]:
    """A random transition of spectral radius 0.999, and a factor of a small process noise of rank 2."""
    rng = np.random.default_rng(7)
    F = rng.standard_normal((d, d))
    F *= 0.999 / abs(np.linalg.eigvals(F)).max()
    B = 1e-3 * rng.standard_normal((d, 2))
    return F, B


class ArrayFilter:
    """The same filter on a factor L of P = L L' alone, by orthogonal transformations: it loses half as many digits."""

    def __init__(self, F: Any, B: Any, variance: float) -> None:
        self.F, self.B, self.noise, d = F, B, np.sqrt(variance), len(F)
        self.mean, self.L, self.begun = np.zeros(d), np.eye(d), False

    def learn(self, x: Any, y: float) -> None:
        if self.begun:
            self.mean, self.L = self.F @ self.mean, triangular(np.hstack([self.F @ self.L, self.B]))
        self.begun = True
        d = len(x)
        M = np.zeros((d + 1, d + 1))
        M[0, 0], M[0, 1:], M[1:, 1:] = self.noise, x @ self.L, self.L
        M = triangular(M)
        self.mean, self.L = self.mean + M[1:, 0] / M[0, 0] * (y - x @ self.mean), M[1:, 1:]


def triangular(A: Any) -> Any:
    """L (k, k) lower triangular with L L' = A A'."""
    return np.linalg.qr(A.T, mode="r").T


def check_long_run(n: int, d: int = 6) -> tuple[float, float, float]:
    """Learn n rows; the largest errors of mean and P, and the least eigenvalue of P over its largest."""
    (F, B), rng = stable(d), np.random.default_rng(8)
    learner = ob.create("kalman", transition=F, process_noise=B @ B.T, observation_noise=0.01)
    truth, found = ArrayFilter(F, B, 0.01), []
    for i in range(0, n, 1000):
        rows = rng.standard_normal((1000, d))
        targets = np.sin(0.01 * np.arange(i, i + 1000)) + 0.1 * rng.standard_normal(1000)
        learner.partial_fit(rows, targets)
        for x, target in zip(rows, targets, strict=True):
            truth.learn(x, target)
        mean, P = moments(learner)
        np.testing.assert_array_equal(P, P.T)
        values, wanted = np.linalg.eigvalsh(P), ((mean[:, 0], truth.mean), (P, truth.L @ truth.L.T))
        found.append([*(np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in wanted), -values[0] / values[-1]])
    mean_error, P_error, least = np.max(found, axis=0)
    print(f"{n} steps: mean off by {mean_error:.1e}, P by {P_error:.1e}, least eigenvalue {-least:.1e}")
    assert -least > 0
    assert max(mean_error, P_error) < 1e-9
    return float(mean_error), float(P_error), float(-least)


def check_at_rest(n: int, rows: Rows) -> None:
    """Against a triangular factor kept up by orthogonal factorisations alone."""
    looks, warned, refused_at = endure(ob.create("kalman"), "covariance", n, rows, 1.0)
    assert (warned, refused_at) == (0, 0)
    assert looks[-1].rows == n
    _, mean, P, _, asymmetry = np.max(looks, axis=0)
    least = min(look.least_eigenvalue for look in looks)
    print(f"{n} rows at rest: mean off by {mean:.1e}, P by {P:.1e}, least eigenvalue {least:.1e}")
    assert max(mean, P) < 1e-9
    assert least > 0
    assert asymmetry == 0


def test_two_thousand_steps_of_a_moving_state() -> None:
    check_long_run(2000)


def test_two_thousand_ill_conditioned_rows_at_rest() -> None:
    check_at_rest(2000, Rows(seen=12))


@pytest.mark.slow
def test_a_million_steps_of_a_moving_state() -> None:
    check_long_run(1_000_000)


@pytest.mark.slow
def test_a_million_ill_conditioned_rows_at_rest() -> None:
    check_at_rest(1_000_000, Rows(seen=12, condition=1e5))


def test_a_block_of_a_model_takes_its_noise_by_row_or_by_output() -> None:
    rng = np.random.default_rng(0)
    A, b, noise = rng.standard_normal((4, 2)), rng.standard_normal((4, 2)), np.array([1.0, 2.0, 3.0, 4.0])
    given = [noise, np.diag(noise), np.repeat(noise, 2), np.diag(np.repeat(noise, 2))]
    found = [ob.create("kalman", model=ob.MLP((3,))).step(A, b, observation_noise=r).state()["mean"] for r in given]
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-12, atol=1e-14)


def test_a_jacobian_that_fills_the_same_array_again_changes_nothing() -> None:
    kept, rows = np.empty((2, 2)), np.random.default_rng(0).standard_normal((8, 3))

    def turn(w: Any) -> Any:
        return np.array([np.sin(w[0]) + w[1], 0.9 * w[1]])

    def slope(w: Any) -> Any:
        return np.array([[np.cos(w[0]), 1.0], [0.0, 0.9]])

    def same(w: Any) -> Any:
        kept[...] = slope(w)
        return kept

    plain, reusing = (
        ob.create("kalman", transition=(turn, J), process_noise=0.1).smooth(rows[:, :2], rows[:, 2])
        for J in (slope, same)
    )
    np.testing.assert_array_equal(plain["mean"], reusing["mean"])
