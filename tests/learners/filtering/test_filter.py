"""Kalman filter: chunks, missing targets, blocks, several outputs, states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.filters import GIVEN, NAN, VARYING, Same, X, cut, moments, refused, scene, spd, stated, y
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import orfit_bench as ob
from orfit_bench.catalogue.shared.gaussian_states import condition_on_rows as conditioned
from orfit_bench.catalogue.shared.gaussian_states import joint_prior as prior


@st.composite
def streams(draw: st.DrawFn) -> tuple[Any, Any, dict[str, Any], list[slice], str]:
    """Rows, some missing, inputs that come with them (also identities and zeros), a division into chunks, a dtype."""
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
@hypothesis_settings(max_examples=40)
def test_any_division_into_calls_gives_the_same_result(stream: Any, settings: Any, same_state: Same) -> None:
    """Results are bitwise equal, whatever comes with the rows, and P stays exactly symmetric."""
    X, y, varying, pieces, dtype = stream
    complete, parts, unreported = (ob.create("kalman", dtype=dtype, **settings) for _ in range(3))
    reported = complete.prequential(X, y, **varying)
    got = [parts.prequential(X[rows], y[rows], **cut(varying, rows)) for rows in pieces]
    for rows in pieces:
        unreported.partial_fit(X[rows], y[rows], **cut(varying, rows))
    same_state(parts, complete)
    same_state(unreported, complete)
    np.testing.assert_array_equal(np.concatenate(got), reported)
    assert np.isfinite(reported).all()
    P = moments(complete)[1]
    np.testing.assert_array_equal(P, P.T)
    assert complete.n_samples_seen_ == len(X) == complete.state().attrs["t"]


def test_warnings_on_precision_loss_do_not_depend_on_chunks(same_state: Same) -> None:
    """A row that comes with the identity is at rest, whatever comes with its neighbours."""
    F, Q = np.tile(np.eye(3), (9, 1, 1)), np.zeros((9, 3, 3))
    F[7], Q[8] = 0.5 * np.eye(3), np.eye(3)
    vague = {"initial_covariance": 1e8, "observation_noise": 1e-4}
    complete, parts = ob.create("kalman", **vague), ob.create("kalman", **vague)

    def row_by_row() -> None:
        for i in range(9):
            row = slice(i, i + 1)
            parts.partial_fit(X[row], y[row], transition=F[row], process_noise=Q[row])

    assert len(stated(row_by_row)) == 1
    assert len(stated(lambda: complete.partial_fit(X, y, transition=F, process_noise=Q))) == 1
    same_state(parts, complete)


def test_a_state_moved_once_a_step_was_taken_that_moved_it() -> None:
    F = np.ones(3)
    F[0] = 0.5  # nothing moves before the first step
    learner = ob.create("kalman").partial_fit(X[:3], y[:3], transition=F, process_noise=[1.0, 0, 0])
    assert learner.state()["moved"] == 0
    assert learner.partial_fit(X[3:4], y[3:4], transition=[0.5]).state()["moved"] == 1
    assert ob.create("kalman", transition=np.eye(3), process_noise=0.0).partial_fit(X, y).state()["moved"] == 0
    assert ob.create("kalman").partial_fit(X, y, process_noise=np.eye(9)[1]).state()["moved"] == 1
    assert ob.create("kalman", process_noise=1.0).partial_fit(X[:1], y[:1]).state()["moved"] == 0
    assert ob.create("kalman", process_noise=1.0).step(X, y).step(X, y).state()["moved"] == 1


def test_unseen_rows_predict_only(same_state: Same) -> None:
    learner = ob.create("kalman", transition=0.5, process_noise=0.1, initial_mean=[1, 2, 3])
    reported = learner.prequential(X, np.full(9, NAN))
    np.testing.assert_allclose(reported, X @ [1, 2, 3] * 0.5 ** np.arange(9), rtol=1e-13)
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


def test_several_outputs_equal_separate_learners() -> None:
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
def test_restored_filters_continue_identically(
    settings: str, rows: int | None, dtype: str, same_state: Same, tmp_path: Path
) -> None:
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
