"""The Kalman filter as a learner: what comes with the rows, what is missing, what is refused, states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.filters import GIVEN, NAN, VARYING, Same, X, cut, moments, refused, said, scene, spd, y
from hypothesis import given
from hypothesis import strategies as st

import orfit_bench as ob
from orfit_bench.catalogue.shared.gaussian_states import condition_on_rows as conditioned
from orfit_bench.catalogue.shared.gaussian_states import joint_prior as prior

# ---------------------------------------------------------------------- what comes with the rows

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
        "precision_lost": (),
        "moved": (),
    }
    assert {a.dtype for n, a in state.variables.items() if n != "setting_transition"} == {np.dtype("float32")}
