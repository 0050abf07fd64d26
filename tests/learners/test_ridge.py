"""Ridge regression in information form: weights are computed when they are requested, and never outdated."""

import warnings

import numpy as np
import pytest
from conftest import make_rows
from helpers.matrices import kahan_matrix

import orfit_bench as ob

pytestmark = pytest.mark.parametrize("backend", ["numpy", "numba"])


def exact(X, y, ridge=1.0):
    return np.linalg.solve(X.T @ X + ridge * np.eye(X.shape[1]), X.T @ y)


class Counting:
    """A kernel that counts its solutions."""

    def __init__(self, kernel):
        self.kernel, self.solutions = kernel, 0

    def __getattr__(self, name):
        return getattr(self.kernel, name)

    def solve(self, s):
        self.solutions += 1
        return self.kernel.solve(s)


def counted(backend, **settings):
    from orfit_bench.conformance.inspection import with_kernel

    learner = with_kernel(ob.create("ridge", backend=backend, **settings), Counting)
    return learner, learner.rule.kernel


def test_weights_are_solved_for_once_after_rows_were_learned(backend):
    X, y = make_rows(30, 4)
    learner, kernel = counted(backend)
    for chunk in (slice(0, 10), slice(10, 11), slice(11, 30)):
        learner.partial_fit(X[chunk], y[chunk])
    assert kernel.solutions == 0
    for _ in range(3):
        np.testing.assert_allclose(learner.predict(X), X @ exact(X, y), atol=1e-12)
    assert kernel.solutions == 1


@pytest.mark.parametrize("change", ["partial_fit", "prequential", "step", "merge", "copy"])
def test_weights_are_never_stale(backend, change):
    X, y = make_rows(30, 4)
    learner = ob.create("ridge", backend=backend).partial_fit(X[:10], y[:10])
    learner.predict(X)
    if change == "merge":
        learner.merge(ob.create("ridge", backend=backend).partial_fit(X[10:], y[10:]))
    elif change == "copy":
        learner = learner.copy().partial_fit(X[10:], y[10:])
    else:
        getattr(learner, change)(X[10:], y[10:])
    np.testing.assert_allclose(learner.predict(X), X @ exact(X, y), atol=1e-12)
    np.testing.assert_allclose(learner.array("w")[:, 0], exact(X, y), atol=1e-12)


def test_row_that_is_refused_leaves_weights_of_rows_before(backend):
    X, y = make_rows(12, 3)
    learner = ob.create("ridge", backend=backend).partial_fit(X[:5], y[:5])
    learner.predict(X)
    with pytest.raises(ob.DivergedError, match="row 2"):
        learner.partial_fit(np.vstack([X[5:7], np.full((1, 3), 1e200), X[7:]]), np.append(y[5:], 1.0))
    np.testing.assert_allclose(learner.predict(X), X @ exact(X[:7], y[:7]), atol=1e-12)


def test_saved_state_holds_no_weights_and_restores(backend, tmp_path):
    X, y = make_rows(30, 4)
    learner = ob.create("ridge", backend=backend, forgetting_factor=0.9).partial_fit(X, y)
    learner.save(tmp_path / "state.npz")
    assert "w" not in np.load(tmp_path / "state.npz").files
    for other in (ob.load(tmp_path / "state.npz"), ob.restore(learner.state())):
        np.testing.assert_array_equal(other.predict(X), learner.predict(X))


def test_equations_that_lose_half_of_their_digits_warn_once(backend):
    X, y = make_rows(30, 4)
    X = X.copy()
    X[:, 3] = X[:, 2] + 1e-6 * X[:, 3]
    learner = ob.create("ridge", backend=backend, ridge=1e-12).partial_fit(X, y)
    with pytest.warns(ob.AccuracyWarning, match="ridge: half of the digits of the weights are lost"):
        learner.predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.partial_fit(X, y).predict(X)


@pytest.mark.parametrize(("n", "scale", "loses"), [(10, 1e-3, False), (30, 1.0, True), (50, 1e3, True)])
def test_equations_whose_pivots_hide_their_condition_warn(n, scale, loses, backend):
    K, scales = kahan_matrix(n), scale * np.logspace(-2, 2, n)  # the scales of features cost no digits
    learner = ob.create("ridge", backend=backend, ridge=0.0).partial_fit(K * scales, K.sum(axis=1))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        w = learner.array("w")[:, 0] * scales
    assert (abs(w - 1).max() > 1e-8) == loses == bool(caught)


@pytest.mark.filterwarnings("ignore::orfit_bench.AccuracyWarning")
def test_singular_equations_give_smallest_weights(backend):
    X, y = make_rows(3, 5)
    X = X.copy()
    X[:, 4] = 0  # a feature that never occurs
    learner = ob.create("ridge", backend=backend, ridge=0.0)
    assert not learner.partial_fit(X[:0], y[:0]).predict(X).any()
    learner.partial_fit(X, y)
    np.testing.assert_allclose(learner.array("w")[:, 0], np.linalg.pinv(X) @ y, atol=1e-10)


def test_forgetting_factor_above_one_never_overflows(backend):
    X, y = make_rows(3000, 3)
    learner = ob.create("ridge", backend=backend, forgetting_factor=2.0).partial_fit(X, y)
    early = ob.create("ridge", backend=backend, forgetting_factor=2.0).partial_fit(X[:100], y[:100])
    np.testing.assert_allclose(learner.predict(X), early.predict(X), rtol=1e-12)


def test_long_blocks_predict_as_single_rows_do(backend):
    X, y = make_rows(150, 70)
    for ff in (0.97, 1.0, 1.03):
        one, other = (ob.create("ridge", backend=backend, forgetting_factor=ff, ridge=1e-3) for _ in range(2))
        rows = [other.prequential(X[i : i + 1], y[i : i + 1]) for i in range(len(X))]
        np.testing.assert_allclose(one.prequential(X, y), np.concatenate(rows), atol=1e-6 * abs(y).max())


def test_single_rows_make_the_weights_be_solved_anew(backend):
    X, y = make_rows(6, 3)
    one, other = (ob.create("ridge", backend=backend) for _ in range(2))
    for i in range(6):
        one.learn_one(X[i], float(y[i]))
        other.partial_fit(X[i : i + 1], y[i : i + 1])
        assert one.predict_one(X[i]) == other.predict(X[i : i + 1])[0]


def test_weights_near_the_largest_number_are_right(backend):
    """For such m, substitution in L w = m overflows in an intermediate result."""
    X, y = np.array([[0.34, 0.04, -1.3, 3.27], [0.91, -0.38, 0.28, -0.88]]), np.array([0.0, 15.9])
    one = ob.create("ridge", backend=backend).partial_fit(X, y)
    large = ob.create("ridge", backend=backend).partial_fit(X, 2.0**1020 * y)
    np.testing.assert_allclose(large.predict(X) / 2.0**1020, one.predict(X), rtol=1e-13)
    later = np.zeros(3)
    np.testing.assert_allclose(
        large.prequential(np.ones((3, 4)), later) / 2.0**1020, one.prequential(np.ones((3, 4)), later), rtol=1e-12
    )


def test_small_weights_are_right_with_another_output_near_the_largest_number(backend):
    X, y = np.array([[0.34, 0.04, -1.3, 3.27], [0.91, -0.38, 0.28, -0.88]]), np.array([0.0, 15.9])
    both = ob.create("ridge", backend=backend).partial_fit(X, np.stack([2.0**1020 * y, 1e-170 * y], axis=1))
    alone = ob.create("ridge", backend=backend).partial_fit(X, 1e-170 * y)
    np.testing.assert_allclose(both.predict(X)[:, 1], alone.predict(X), rtol=1e-13)


def test_weights_that_overflow_are_warned_of_once(backend):
    learner = ob.create("ridge", backend=backend, ridge=1e-4).partial_fit([[1e-3, 0.0]], [1.7e308])
    with pytest.warns(ob.AccuracyWarning, match="weights are not finite in float64: scale the targets"):
        assert learner.predict([[1.0, 0.0]]) == np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert learner.partial_fit([[0.0, 1.0]], [1.0]).predict([[1.0, 0.0]]) == np.inf


@pytest.mark.parametrize("kind", ["learner", "weighted", "pipeline"])
def test_prequential_predictions_of_several_rows_warn_of_lost_digits(kind, backend):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 2))
    y = X @ [1.0, 2.0]
    learner = ob.create("ridge", ridge=1e-3, backend=backend)
    if kind == "pipeline":
        learner = ob.pipeline("intercept", learner)
    learner.partial_fit(X, y).partial_fit(1e10 * X[:1], 1e10 * y[:1])
    given = {"sample_weight": [1.0, 1.0]} if kind == "weighted" else {}
    with pytest.warns(ob.AccuracyWarning, match="half of the digits of the weights are lost"):
        learner.prequential(X[1:3], y[1:3], **given)


def test_a_good_prediction_before_a_single_row_warns_of_nothing(backend):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ob.create("ridge", ridge=0.0, backend=backend).prequential([[1.0, 2.0]], [1.0]).tolist() == [0.0]
