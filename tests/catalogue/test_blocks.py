"""Blocks of rows, several outputs and nonlinear models, against formulas written out with dense inverses."""

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.catalogue.shared.least_squares import independent_rows

STEP, EPS = 0.3, 0.2


def weights(learner):
    return learner.array("w")


@pytest.fixture
def data():
    rng = np.random.default_rng(5)
    return rng.standard_normal((7, 12)), rng.standard_normal((7, 3)), rng.standard_normal((12, 3))


@pytest.mark.parametrize(
    ("method", "settings"),
    [("icl", {}), ("orfit", {}), ("orfit", {"memory": 9}), ("rls", {"forgetting_factor": 0.0})],
)
def test_interpolating_blocks_give_the_smallest_move_that_fits_all(data, method, settings):
    X, Y, w0 = data
    learner = ob.create(method, initial_weights=w0, **settings).step(X[:3], Y[:3]).step(X[3:4], Y[3:4])
    want = w0 + np.linalg.pinv(X) @ (Y - X @ w0)
    np.testing.assert_allclose(weights(learner.step(X[4:], Y[4:])), want, atol=1e-13)


@pytest.mark.parametrize("method", ["icl", "orfit"])
def test_rows_of_very_different_size_are_fitted_in_one_block(method):
    learner = ob.create(method).step([[1.0, 0, 0], [0, 1e-17, 0]], [1.0, 1e-17])
    np.testing.assert_allclose(weights(learner)[:, 0], [1, 1, 0])


@pytest.mark.parametrize("method", ["icl", "orfit", "rls"])
def test_a_block_with_a_repeated_row_takes_the_least_squares_compromise(data, method):
    """Eq. (3.10) with the pseudo-inverse; rows in the span of the memory are left out."""
    X, Y, _ = data
    settings = {"forgetting_factor": 0.0} if method == "rls" else {}
    learner = ob.create(method, **settings).step(X[:2], Y[:2])
    A, B = X[[2, 0, 3, 2]], Y[[2, 5, 3, 4]]  # row 2 twice with two labels, row 0 once more with another
    learner.step(A, B)
    want = np.linalg.pinv(X[:4]) @ np.vstack([Y[:2], (Y[2] + Y[4]) / 2, Y[3]])
    np.testing.assert_allclose(weights(learner), want, atol=1e-13)


@pytest.mark.parametrize("ff", [0.8, 1.0, 1.3])
def test_forgetting_acts_once_a_block(data, ff):
    X, Y, w0 = data
    learner = ob.create("rls", forgetting_factor=ff, ridge=0.5, initial_weights=w0)
    learner.step(X[:3], Y[:3]).step(X[3:4], Y[3:4]).step(X[4:], Y[4:])
    age = np.sqrt(ff ** np.array([2, 2, 2, 1, 0, 0, 0]))[:, None]
    A = np.vstack([age * X, np.sqrt(0.5 * ff**3) * np.eye(12)])
    want = w0 + np.linalg.lstsq(A, np.vstack([age * (Y - X @ w0), np.zeros((12, 3))]), rcond=None)[0]
    np.testing.assert_allclose(weights(learner), want, atol=1e-13)


def test_a_first_block_without_a_prior_forgets_the_start(data):
    X, Y, w0 = data
    learner = ob.create("rls", ridge=0.0, initial_weights=w0[:5]).step(X[:6, :5], Y[:6])
    np.testing.assert_allclose(weights(learner), np.linalg.lstsq(X[:6, :5], Y[:6], rcond=None)[0], atol=1e-13)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_first_block_whose_p_would_have_no_digits_is_refused(data, dtype):
    A = np.linalg.qr(data[0].T)[0] * np.geomspace(1, 1e-13 if dtype == "float64" else 1e-5, 7)
    with pytest.raises(ValueError, match=r"the first block has rank \d, want 7"):
        ob.create("rls", ridge=0.0, dtype=dtype).step(A, np.ones(12))


def test_ogd_on_a_block_steps_along_the_sum_of_the_projected_gradients(data):
    X, Y, w0 = data
    learner = ob.create("ogd", step_size=STEP, initial_weights=w0).step(X[:3], Y[:3]).step(X[3:], Y[3:])
    w = w0 + STEP * X[:3].T @ (Y[:3] - X[:3] @ w0)
    off = np.eye(12) - np.linalg.pinv(X[:3]) @ X[:3]
    want = w + STEP * off @ X[3:].T @ (Y[3:] - X[3:] @ w)
    np.testing.assert_allclose(weights(learner), want, atol=1e-13)


@pytest.mark.parametrize("summary", ["ipca", "largest"])
def test_a_block_larger_than_memory_leaves_its_principal_directions(data, summary):
    X, Y, _ = data
    basis = ob.create("orfit", memory=4, summary=summary).step(X, Y).array("basis")
    kept = np.linalg.svd(X)[2][:4]
    np.testing.assert_allclose(basis.T @ basis, kept.T @ kept, atol=1e-13)


def test_random_summary_keeps_each_direction_equally_often(data):
    """Of five unit rows a memory of four drops each with probability 1/5."""
    dropped = np.zeros(5)
    for seed in range(400):
        learner = ob.create("orfit", memory=4, summary="random", random_state=seed).partial_fit(np.eye(5), np.ones(5))
        dropped += 1 - abs(learner.array("basis")).max(axis=0)
    assert abs(dropped / 400 - 0.2).max() < 0.08  # four standard deviations


# ---------------------------------------------------------------------- two outputs of a nonlinear model


def second_step(method, w, P, J, e):
    """The weights after a second row, where P projects onto the complement of the stored directions."""
    inverse = np.linalg.pinv
    return {
        "lms": lambda: w + STEP * J.T @ e,
        "nlms": lambda: w + STEP * J.T @ np.linalg.solve(J @ J.T + EPS * np.eye(2), e),
        "apa": lambda: w + STEP * J.T @ np.linalg.solve(J @ J.T + EPS * np.eye(2), e),
        "one_step_sgd": lambda: w + inverse(J) @ e,
        "ogd": lambda: w + STEP * P @ J.T @ e,
        "icl": lambda: w + inverse(J @ P) @ e,
        "orfit": lambda: w + inverse(J @ P) @ e,
    }[method]()


SETTINGS = {
    "lms": {"step_size": STEP},
    "nlms": {"step_size": STEP, "eps": EPS},
    "apa": {"step_size": STEP, "eps": EPS, "projection_order": 1},
    "ogd": {"step_size": STEP},
}


@pytest.mark.parametrize("method", ["lms", "nlms", "apa", "one_step_sgd", "ogd", "icl", "orfit"])
def test_two_rows_of_a_model_with_two_outputs(data, cubic, method):
    X, Y, w0 = data[0][:2, :3], data[1][:2, :2], data[2][:6, :1] / 3
    learner = ob.create(method, model=cubic, initial_weights=w0, **SETTINGS.get(method, {}))
    w1 = weights(learner.partial_fit(X[:1], Y[:1]))[:, 0]
    stored = cubic.jacobian(w1 if method == "ogd" else w0[:, 0], X[0])  # ogd: the gradient after the step
    P = np.eye(6) - np.linalg.pinv(stored) @ stored
    J, e = cubic.jacobian(w1, X[1]), Y[1] - cubic.predict(w1, X[1:])[0]
    want = second_step(method, w1, P, J, e)
    np.testing.assert_allclose(weights(learner.partial_fit(X[1:], Y[1:]))[:, 0], want, atol=1e-12)


def test_apa_keeps_all_gradients_of_its_rows(data, cubic):
    X, Y, w0 = data[0][:2, :3], data[1][:2, :2], data[2][:6, :1] / 3
    learner = ob.create("apa", model=cubic, initial_weights=w0, projection_order=2, step_size=1.0, eps=0.0)
    w1 = weights(learner.partial_fit(X[:1], Y[:1]))[:, 0]
    A = np.vstack([cubic.jacobian(w0[:, 0], X[0]), cubic.jacobian(w1, X[1])])
    before = cubic.predict(w0[:, 0], X[:1])[0], cubic.predict(w1, X[1:])[0]
    b = np.concatenate([Y[0] - before[0] + A[:2] @ w0[:, 0], Y[1] - before[1] + A[2:] @ w1])
    want = w1 + np.linalg.pinv(A) @ (b - A @ w1)
    np.testing.assert_allclose(weights(learner.partial_fit(X[1:], Y[1:]))[:, 0], want, atol=1e-12)


@pytest.mark.parametrize("ff", [0.0, 0.7, 1.0])
def test_rls_on_a_model_is_the_recursion_in_information_form(data, cubic, ff):
    X, Y, w = data[0][:, :3], data[1][:, :2], data[2][:6, 0] / 3
    learner = ob.create("rls", model=cubic, initial_weights=w, forgetting_factor=ff)
    information, seen = np.eye(6), np.zeros((0, 6))
    for x, y in zip(X[:3], Y[:3], strict=True):
        J, e = cubic.jacobian(w, x), y - cubic.predict(w, x[None])[0]
        if ff:
            information = ff * information + J.T @ J
            w = w + np.linalg.solve(information, J.T @ e)
        else:
            off = np.eye(6) - np.linalg.pinv(seen) @ seen if len(seen) else np.eye(6)
            w, seen = w + np.linalg.pinv(J @ off, rcond=1e-10) @ e, np.vstack([seen, J])
    np.testing.assert_allclose(weights(learner.partial_fit(X[:3], Y[:3]))[:, 0], w, atol=1e-10)


def test_outputs_that_nearly_coincide_lose_no_digits():
    """J J' would square a number that is already small; apa of order 1 is the same rule."""
    x, y, near = 1e3 * np.ones((1, 3)), [[1e3, -1e3]], 1 + 1e-5
    model = ob.Model("twin", lambda w, X: np.stack([X @ w, near * (X @ w)], 1), lambda w, x: np.stack([x, near * x]), 3)
    same = {"model": model, "initial_weights": np.zeros(3), "step_size": 1.0, "eps": 1e-8}
    nlms, apa = ob.create("nlms", **same), ob.create("apa", projection_order=1, **same)
    np.testing.assert_allclose(weights(nlms.partial_fit(x, y)), weights(apa.partial_fit(x, y)), rtol=1e-6)
    assert abs(weights(nlms)).max() < 1e-5


def test_rls_without_a_prior_learns_the_linear_model_only(cubic):
    with pytest.raises(ValueError, match="ridge=0 learns the linear model only"):
        ob.create("rls", ridge=0.0, model=cubic).step([[1.0]], [1.0])


def test_apa_does_not_blow_up_on_rows_that_nearly_coincide():
    """Their difference, a billionth of them, counts as dependent: w moves to the compromise between the two labels."""
    x, z = np.array([1.0, 2.0, 0.5]), np.array([2.0, -1.0, 0.0])
    learner = ob.create("apa", step_size=1.0, eps=0.0).partial_fit([x, x + 1e-9 * z], [1.0, 2.0])
    np.testing.assert_allclose(learner.predict([x]), 1.5, atol=1e-6)
    assert abs(weights(learner)).max() < 1


def test_parameters_of_one_step_are_those_of_that_step():
    from orfit_bench.learners.parameters import ParameterMaker

    learner = ob.create("lms", step_size={"sequence": {"values": [0.5, 0.1, 0.2]}})
    p = ParameterMaker(learner.method, dict(learner.settings), learner.dtype, 0)(2, 2, 1, 1)
    assert (p.t, p.at(1).t, p.at(1).step_size.tolist()) == (2, 3, [0.2])


@pytest.mark.parametrize("rank", [0, 1, 5, 12])
@pytest.mark.parametrize("dtype", [float, complex])
def test_rows_kept_are_those_that_raise_the_rank(rank: int, dtype: type) -> None:
    rng = np.random.default_rng(rank)
    X = (rng.standard_normal((30, rank)) @ rng.standard_normal((rank, 12))).astype(dtype)
    if dtype is complex:
        X *= np.exp(1j * rng.uniform(0, 6, (30, 1)))
    X[[3, 7]] = 0
    X[9] = 2 * X[8]
    X[20] *= 1e-9
    unit = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)
    ranks = [0, *(np.linalg.matrix_rank(unit[:i]) for i in range(1, 31))]
    assert independent_rows(X) == [i for i in range(30) if ranks[i + 1] > ranks[i]]
    assert len(independent_rows(X[:5, :12])) == min(rank, 4)
