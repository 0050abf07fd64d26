"""Standard deviations and likelihoods: shapes, models and refusals; their values are tested by the laws."""

import re
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import decaying
from helpers.cases import installed
from scipy.stats import multivariate_normal, norm

import orfit_bench as ob
from orfit_bench.learners import linearization
from orfit_bench.spec import WeightCovariance

BACKENDS = [name for name in ("numpy", "numba") if ob.backends()[name].available]
rng = np.random.default_rng(0)
X, Y = rng.standard_normal((30, 4)), rng.standard_normal((30, 2))
y = Y[:, 0]
WITH_DISTRIBUTION = ["kalman", "ridge", "rls"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", WITH_DISTRIBUTION)
def test_shapes_follow_the_targets(name, backend):
    one, two = (ob.create(name, backend=backend).partial_fit(X, targets) for targets in (y, Y))
    mean, std = one.predict(X, return_std=True)
    np.testing.assert_array_equal(mean, one.predict(X))
    assert std.shape == (30,)
    means, stds = two.predict(X, return_std=True)
    assert means.shape == stds.shape == (30, 2)
    np.testing.assert_allclose(stds, np.stack([std, std], axis=1), rtol=1e-12)
    assert one.predict(X[:0], return_std=True)[1].shape == (0,)


@pytest.mark.parametrize("backend", BACKENDS)
def test_three_methods_say_the_same(backend):
    stds = [ob.create(n, backend=backend).partial_fit(X, y).predict(X, return_std=True)[1] for n in WITH_DISTRIBUTION]
    P = np.linalg.inv(np.eye(4) + X.T @ X)
    for std in stds:
        np.testing.assert_allclose(std, np.sqrt(1 + np.einsum("ni,ij,nj->n", X, P, X)), rtol=1e-10)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["ridge", "rls"])
@pytest.mark.parametrize("noise", [1e-60, 1e60])
def test_deviations_in_float32_for_noise_whose_variance_is_beyond_it(name, backend, noise):
    learner = ob.create(name, backend=backend, dtype="float32").partial_fit(X, y)
    unit, std = (learner.predict(X, return_std=True, noise_variance=v)[1] for v in (1.0, noise))
    np.testing.assert_allclose(std, np.sqrt(noise) * unit.astype(float), rtol=1e-6)
    assert std.dtype == np.float32


def test_the_density_of_targets_whose_squares_overflow_is_zero():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ob.create("rls", backend="numpy").log_likelihood(X, 1e160 * y) == -np.inf


@pytest.mark.parametrize("name", ["ridge", "rls"])
def test_likelihood_of_several_outputs_changes_nothing(name):
    learner = ob.create(name, backend="numpy", ridge=2.0).partial_fit(X[:10], Y[:10])
    before = learner.state()
    got = learner.log_likelihood(X[10:], Y[10:], noise_variance=0.5)
    assert before.identical(learner.state())
    P = np.linalg.inv(2 * np.eye(4) + X[:10].T @ X[:10])
    covariance = 0.5 * (np.eye(20) + X[10:] @ P @ X[10:].T)
    E = Y[10:] - X[10:] @ (P @ X[:10].T @ Y[:10])
    assert got == pytest.approx(sum(multivariate_normal(cov=covariance).logpdf(e) for e in E.T), rel=1e-12)
    evidence = ob.create(name, backend="numpy", ridge=2.0).log_likelihood(X, y)
    assert evidence == pytest.approx(multivariate_normal(cov=np.eye(30) + X @ X.T / 2).logpdf(y), rel=1e-12)
    assert ob.create(name, backend="numpy").log_likelihood(X[:0], y[:0]) == 0.0


@pytest.mark.parametrize("name", ["ridge", "rls"])
@pytest.mark.parametrize("ff", [0.5, 0.99, 1.3])
def test_likelihood_of_long_chunks_is_the_sum_over_rows(name, ff):
    A = rng.standard_normal((600, 3))
    b, learner, want = A.sum(axis=1), ob.create(name, backend="numpy", forgetting_factor=ff), 0.0
    got = learner.log_likelihood(A, b)
    for row, target in zip(A, b, strict=True):
        (mean,), (std,) = (
            learner.predict(row[None], return_std=True)
            if learner.n_samples_seen_
            else ([0.0], [np.hypot(1, np.linalg.norm(row) / ff**0.5)])
        )
        want += norm(mean, std).logpdf(target)
        learner.learn_one(row, target)
    assert got == pytest.approx(want, rel=1e-9)


def test_a_nonlinear_model():
    learner = ob.create("rls", backend="numpy", model=ob.MLP(hidden=(3,))).partial_fit(X, Y)
    mean, std = learner.predict(X[:5], return_std=True)
    assert mean.shape == std.shape == (5, 2)
    w, P = learner.array("w")[:, 0], learner.array("P")
    J = learner.model.jacobian(w, X[0])
    np.testing.assert_allclose(std[0], np.sqrt(1 + np.einsum("ki,ij,kj->k", J, P, J)), rtol=1e-10)
    joint = multivariate_normal(cov=np.eye(2) + J @ P @ J.T)
    assert learner.log_likelihood(X[:1], Y[:1]) == pytest.approx(joint.logpdf(Y[0] - mean[0]), rel=1e-10)
    linear = [
        ob.create("rls", backend="numpy", **model).partial_fit(X, y)
        for model in ({}, {"model": ob.MLP(hidden=(), bias=False)})
    ]
    scores = [learner.log_likelihood(X, y) for learner in linear]
    assert np.isfinite(scores).all()


def test_forecasts_of_a_filter():
    motion = np.array([[1.0, 1.0], [0.0, 1.0]])
    kalman = ob.create("kalman", backend="numpy", transition=motion, process_noise=0.1, observation_noise=0.5)
    kalman.partial_fit(X[:, :2], y)
    before = kalman.state()
    _, std = kalman.predict(X[:3, :2], return_std=True)
    P = motion @ before["covariance"].values @ motion.T + 0.1 * np.eye(2)
    np.testing.assert_allclose(std, np.sqrt(0.5 + np.einsum("ni,ij,nj->n", X[:3, :2], P, X[:3, :2])), rtol=1e-10)
    assert before.identical(kalman.state())
    wider = kalman.predict(X[:3, :2], return_std=True, observation_noise=5.0)[1]
    np.testing.assert_allclose(wider**2 - std**2, 4.5, rtol=1e-9)


def test_what_has_no_distribution():
    for name in ("lms", "sgd", "orfit"):
        learner = ob.create(name, backend="numpy").partial_fit(X, y)
        with pytest.raises(TypeError, match="these methods have one: kalman, ridge, rls"):
            learner.predict(X, return_std=True)
        with pytest.raises(TypeError, match="without a distribution"):
            learner.log_likelihood(X, y)
    rls = ob.create("rls", backend="numpy", forgetting_factor=0.0).partial_fit(X[:2], y[:2])
    with pytest.raises(ValueError, match="as if there was no noise"):
        rls.predict(X, return_std=True)
    for name in ("rls", "ridge"):
        empty = ob.create(name, backend="numpy", ridge=0.0).partial_fit(X[:0], y[:0])
        with pytest.raises(ValueError, match="the variance is infinite"):
            empty.predict(X, return_std=True)
        for wrong in (0.0, -1.0, np.nan, np.inf, "1", None):
            with pytest.raises(ValueError, match=r"noise_variance=.*: want a positive number"):
                ob.create(name, backend="numpy").partial_fit(X, y).predict(X, return_std=True, noise_variance=wrong)
    few = ob.create("ridge", backend="numpy", ridge=0.0).partial_fit(X[:2], y[:2])
    with pytest.raises(ValueError, match="do not determine all weights"), pytest.warns(ob.AccuracyWarning):
        few.predict(X, return_std=True)


def test_the_log_likelihood_warns_of_lost_digits():
    """Two columns that nearly agree, in rows that are large compared with the prior."""
    rows = np.array([[300, 300], [300, 300.1], [300, 300], [300, 300.1]])
    with pytest.warns(ob.AccuracyWarning, match="rls: half of the digits"):
        ob.create("rls", backend="numpy", dtype="float32").log_likelihood(rows, np.ones(4))


def nearly_dependent(spread):
    """Rows whose columns differ by `spread` of their size."""
    rng = np.random.default_rng(0)
    return (rng.standard_normal((200, 1)) + spread * rng.standard_normal((200, 4))).astype(np.float32)


@pytest.mark.parametrize(("dtype", "count"), [("float32", 1), ("float64", 0)])
def test_deviations_that_rounding_decides_are_warned_of(dtype, count):
    rows, asked = nearly_dependent(1e-6).astype(dtype), np.eye(4, dtype=dtype)
    learner = ob.create("rls", form="square_root", ridge=1e-14, dtype=dtype, backend="numpy")
    learner.partial_fit(rows, rows[:, 0])
    for ask, given in ((learner.predict, {"return_std": True}), (learner.log_likelihood, {"y": asked[:, 0]})):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ask(asked, **given)
        text = r"rls: variances of predictions may be wrong by a factor of [\d.e+]+,"
        assert [bool(re.search(text, str(one.message))) for one in caught] == [True] * count


@pytest.mark.parametrize("noise", [-1, 0, np.nan, "x"])
def test_a_wrong_variance_of_the_noise_is_refused_also_where_it_is_not_used(noise):
    rls = ob.create("rls", backend="numpy").partial_fit(np.eye(2), [1.0, 2.0])
    with pytest.raises(ValueError, match="noise_variance="):
        rls.predict(np.eye(2), noise_variance=noise)


@pytest.mark.parametrize("decay", [1.0, 0.9])
def test_the_likelihood_needs_no_setting_of_a_certain_name(decay):
    with installed(decaying.METHOD, decaying.KERNEL):
        learner = ob.create(decaying.NAME, backend="numpy", decay=decay)
        same = ob.create("rls", backend="numpy", forgetting_factor=decay)
        assert learner.log_likelihood(X, y) == pytest.approx(same.log_likelihood(X, y), rel=1e-10)
        stds = [one.partial_fit(X, y).predict(X, return_std=True)[1] for one in (learner, same)]
        np.testing.assert_allclose(*stds, rtol=1e-9)


@pytest.mark.parametrize("form", ["covariance", "square_root"])
def test_deviations_have_the_dtype_of_the_learner(form):
    learner = ob.create("rls", dtype="float32", form=form).partial_fit(np.eye(2), [1.0, 2.0])
    assert [a.dtype for a in learner.predict(np.eye(2), return_std=True)] == [np.float32, np.float32]


@pytest.mark.parametrize(("name", "settings"), [("rls", {}), ("rls", {"form": "square_root"}), ("kalman", {})])
def test_deviations_of_a_network_are_computed_in_blocks(name, settings, monkeypatch):
    X = np.random.default_rng(0).standard_normal((40, 3))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1]])
    learner = ob.create(name, backend="numpy", model=ob.MLP((4,)), **settings).partial_fit(X, Y)
    mean, std = learner.predict(X, return_std=True)
    monkeypatch.setattr(linearization, "GRADIENTS", 200)  # two rows or three
    for found, want in zip(learner.predict(X, return_std=True), (mean, std), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-12)


@pytest.mark.parametrize(("noise", "held"), [(1e80, "inf"), (1e-100, "0.0")])
def test_noise_that_single_precision_loses_is_refused(noise: float, held: str) -> None:
    rls = ob.create("rls", backend="numpy", dtype="float32").partial_fit(np.eye(2), [1.0, 2.0])
    fleet = ob.fleet("rls", 1, backend="numpy", dtype="float32").partial_fit(np.eye(2)[None], [[1.0, 2.0]])
    for predict, rows in ((rls.predict, np.eye(2)), (fleet.predict, np.eye(2)[None])):
        with pytest.raises(
            ValueError, match=f"noise_variance=.*: want a positive number .* in float32, where it is {held}"
        ):
            predict(rows, return_std=True, noise_variance=noise)
    assert np.isfinite(rls.log_likelihood(np.eye(2), [1.0, 2.0], noise_variance=noise))  # computed in float64


def learn_walk(s, X, Y, p, out):
    """RLS whose P gains 0.1 I in each step, so that it forgets although its scale is 1."""
    for i, x in enumerate(X):
        s.P[...] += 0.1 * np.eye(len(x))
        if not decaying.learn(s, X[i : i + 1], Y[i : i + 1], SimpleNamespace(decay=1.0), None):
            return i
    return len(X)


def test_the_likelihood_of_rows_of_unknown_weights_is_summed_row_by_row():
    walk = replace(
        decaying.METHOD,
        name="walk",
        state=replace(decaying.METHOD.state, covariance=WeightCovariance(lambda settings, steps: 1.0, "P")),
    )
    with installed(walk, SimpleNamespace(learn=learn_walk)):
        learner = ob.create("walk", backend="numpy").partial_fit(X[:1], y[:1])
        found, alone = learner.log_likelihood(X[1:], y[1:]), 0.0
        for row, target in zip(X[1:], y[1:], strict=True):
            alone += learner.log_likelihood(row[None], [target])
            learner.learn_one(row, target)
        assert found == pytest.approx(alone, rel=1e-12)
