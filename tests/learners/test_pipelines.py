"""Pipelines: moments in one pass, the verbs of learners, and what is saved."""

import pickle

import numpy as np
import pandas as pd
import pytest

import orfit_bench as ob

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 3)) * [1e-3, 1, 1e5] + [5, -2e6, 1e5]
y = (X - X.mean(axis=0)) / X.std(axis=0) @ [1.0, -2.0, 3.0] + 7 + 0.1 * rng.standard_normal(60)
CUTS = ([], [1], [2, 3, 30], list(range(1, 60)))


def make(method="rls", backend="numpy", **settings):
    return ob.pipeline(ob.Standardizer(), "intercept", ob.create(method, backend=backend, **settings))


def standardized(rows):
    """Each row standardized by the moments of the rows up to it, computed separately for each; and a column of ones."""
    Z = np.ones((len(rows), rows.shape[1] + 1), rows.dtype)
    for t in range(len(rows)):
        seen = rows[: t + 1]
        spread = seen.std(axis=0)
        Z[t, :-1] = (seen[-1] - seen.mean(axis=0)) / np.where(t > 0, spread, 1)
    return Z


@pytest.mark.parametrize("cuts", CUTS, ids=len)
def test_without_an_intercept_rows_are_standardized_by_the_moments_so_far(cuts):
    pipeline = ob.pipeline("standardize", ob.create("rls", backend="numpy"))
    plain = ob.create("rls", backend="numpy").partial_fit(standardized(X)[:, :-1], y)
    for part in np.split(np.arange(60), cuts):
        pipeline.partial_fit(X[part], y[part])
    step = pipeline.transforms[0]
    np.testing.assert_allclose(step.mean_, X.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(step.var_, X.var(axis=0), rtol=1e-9)
    np.testing.assert_allclose(pipeline.learner.state()["w"], plain.state()["w"], rtol=1e-8)
    assert pipeline.n_samples_seen_ == 60
    assert pipeline.n_features_in_ == 3


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_predictions_use_nothing_later(backend):
    pipeline, want = make(backend=backend), []
    pipeline.partial_fit(X[:0], y[:0])
    twin = pipeline.copy()
    for x, target in zip(X, y, strict=True):
        want.append(twin.predict(x[None])[0])
        assert twin.predict_one(x) == want[-1]
        twin.learn_one(x, target)
    np.testing.assert_allclose(pipeline.prequential(X, y), want, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(pipeline.predict(X), twin.predict(X), rtol=1e-6)
    changed = np.vstack([X[:30], X[30:] + np.array([3e-3, 3, -3e5])])
    np.testing.assert_array_equal(make().prequential(changed, y)[:30], make().prequential(X, y)[:30])


def test_it_learns_what_plain_rows_do_not_allow():
    A = rng.standard_normal((2000, 3)) * [1e-3, 1, 1e5] + [5, -2e3, 1e5]
    b = (A - [5, -2e3, 1e5]) / [1e-3, 1, 1e5] @ [1.0, -2.0, 3.0] + 7
    pipeline = make("sgd", step_size=0.05).partial_fit(A, b)
    assert np.abs(pipeline.predict(A[-200:]) - b[-200:]).max() < 0.5
    mean, std = make(ridge=1e-3).partial_fit(A, b).predict(A[-200:], return_std=True)
    assert np.abs(mean - b[-200:]).max() < 0.5
    assert std.shape == (200,)


def test_merging_is_exact_for_the_moments():
    one, other = make().partial_fit(X[:7], y[:7]), make().partial_fit(X[7:], y[7:])
    merged = one.copy().merge(other)
    np.testing.assert_allclose(merged.transforms[0].mean_, X.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(merged.transforms[0].var_, X.var(axis=0), rtol=1e-9)
    assert merged.n_samples_seen_ == 60
    assert make().merge(other).transforms[0].count == 53
    with pytest.raises(ValueError, match="differ in their steps"):
        one.merge(ob.pipeline("intercept", ob.create("rls", backend="numpy")))


def test_a_pipeline_with_functions_of_the_user_is_not_pickled(cubic):
    for n in (0, 9):
        p = ob.pipeline("intercept", ob.create("lms", model=cubic)).partial_fit(X[:n] / 1e6, y[:n])
        with pytest.raises(TypeError, match="cannot be pickled, since functions are not saved"):
            pickle.dumps(p)
        assert ob.from_bytes(p.to_bytes(), model=cubic).n_samples_seen_ == n


@pytest.mark.parametrize("carry", ["bytes", "pickle", "file", "state", "copy"])
def test_what_is_carried_goes_on_exactly(carry, tmp_path):
    table = pd.DataFrame(X, columns=list("abc"))
    pipeline = make().partial_fit(table[:40], y[:40])
    if carry == "file":
        pipeline.save(tmp_path / "p.orfit")
    again = {
        "bytes": lambda: ob.from_bytes(pipeline.to_bytes()),
        "pickle": lambda: pickle.loads(pickle.dumps(pipeline)),
        "file": lambda: ob.load(tmp_path / "p.orfit"),
        "state": lambda: ob.restore(pipeline.state()),
        "copy": pipeline.copy,
    }[carry]()
    for p in (pipeline, again):
        p.partial_fit(table[40:], y[40:])
    np.testing.assert_array_equal(again.predict(table), pipeline.predict(table))
    assert again.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="columns"):
        again.predict(pd.DataFrame(X, columns=list("abd")))
    np.testing.assert_array_equal(again.predict(table[["c", "b", "a"]]), pipeline.predict(table))


def test_damaged_bytes_are_refused():
    data = bytearray(make().partial_fit(X, y).to_bytes())
    for wrong in (data[:10], data[:-1], data + b"x", data[:40] + bytes([data[40] ^ 1]) + data[41:]):
        with pytest.raises(ValueError, match="cut"):
            ob.from_bytes(bytes(wrong))


def test_rejected_rows_change_nothing():
    pipeline = make().partial_fit(X, y)
    before = pipeline.to_bytes()
    bad = X.copy()
    bad[3, 1] = np.nan
    for rows, targets in ((bad, y), (X[:, :2], y), (X, y[:5]), (X, np.full(60, np.inf))):
        with pytest.raises(ValueError, match="want"):
            pipeline.partial_fit(rows, targets)
        assert pipeline.to_bytes() == before
    for wrong, error in ((np.ones(5), ValueError), (-np.ones(60), ValueError), ("a", TypeError), (1.0, ValueError)):
        with pytest.raises(error, match="sample_weight"):
            pipeline.partial_fit(X, y, sample_weight=wrong)
        assert pipeline.to_bytes() == before
    with pytest.raises(TypeError, match="no rule for the weight of a row: without an intercept"):
        ob.pipeline("standardize", ob.create("rls")).partial_fit(X, y, sample_weight=np.ones(60))
    first = make()
    for rows, targets in ((X, y[:5]), (X, [*y.tolist(), 1.0]), (X, np.append(y[:59], np.nan)), (X, 3.0)):
        with pytest.raises(ValueError, match="want"):
            first.partial_fit(rows, targets)
        assert first.to_bytes() == make().to_bytes()
    plain = ob.pipeline("intercept", ob.create("rls", backend="numpy")).partial_fit(
        X / 1e6, y, sample_weight=np.ones(60)
    )
    assert plain.n_samples_seen_ == 60


def test_divergence_leaves_the_moments_of_the_rows_learned():
    pipeline = make("lms", step_size=1e300)
    with pytest.raises(ob.DivergedError) as caught:
        pipeline.partial_fit(X, y)
    assert pipeline.transforms[0].count == caught.value.row == pipeline.n_samples_seen_


def test_other_kinds_of_learners():
    labels = np.where(y > 7, "high", "low")
    for method in ("class_rls", "softmax"):
        classifier = make(method).partial_fit(X, labels)
        assert np.mean(classifier.predict(X) == labels) > 0.8
        assert classifier.predict_proba(X).shape == classifier.decision_function(X).shape == (60, 2)
    centred = ob.pipeline(ob.Standardizer(scale=False), ob.create("incremental_pca", backend="numpy", n_components=1))
    assert centred.partial_fit(X).transform(X).shape == (60, 1)
    kalman = make("kalman").partial_fit(X, y, observation_noise=np.ones(60))
    assert kalman.predict(X, return_std=True)[1].shape == (60,)


def test_constant_columns_become_zeros():
    rows = np.column_stack([np.full(9, 0.1), np.arange(9.0)])
    pipeline = make().partial_fit(rows, np.arange(9.0))
    assert pipeline.learner.array("w")[0, 0] == 0
    np.testing.assert_array_equal(pipeline.transforms[0].transform(rows)[:, 0], 0)


def test_steps_that_do_not_fit():
    learner = ob.create("rls", backend="numpy")
    for steps, error, message in (
        ((), TypeError, "the last step is None"),
        (("intercept",), TypeError, "the last step is 'intercept'"),
        (("standardizer", learner), ValueError, "Did you mean 'standardize'"),
        ((3, learner), TypeError, "got int"),
        ((learner, learner), TypeError, "got Regressor"),
        (("intercept", "standardize", learner), ValueError, "behind the intercept"),
        ((learner.copy().partial_fit(X / 1e6, y),), ValueError, "has seen rows already"),
    ):
        with pytest.raises(error, match=message):
            ob.pipeline(*steps)
    assert repr(ob.pipeline("standardise", learner)).startswith("<pipeline of standardize and <rls")
    with pytest.raises(ValueError, match="seen no chunk"):
        make().predict(X)
    with pytest.raises(AttributeError, match="known after"):
        make().n_features_in_  # noqa: B018


def test_complex_rows_have_complex_means_and_real_variances():
    Xc, yc = X + 1j * X[::-1] * [2, 0.1, -3], y * (1 + 2j)
    pipeline, plain = make(dtype="complex128"), ob.create("rls", backend="numpy", dtype="complex128")
    bare = ob.pipeline("standardize", plain.copy())
    for part in np.split(np.arange(60), [2, 3, 30]):
        pipeline.partial_fit(Xc[part], yc[part])
        bare.partial_fit(Xc[part], yc[part])
    plain.partial_fit(standardized(Xc)[:, :-1], yc)
    step = pipeline.transforms[0]
    np.testing.assert_allclose(step.mean_, Xc.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(step.var_, Xc.var(axis=0), rtol=1e-9)
    assert step.var_.dtype == float
    np.testing.assert_allclose(bare.learner.state()["w"], plain.state()["w"], rtol=1e-8)
    one, other = (make(dtype="complex128").partial_fit(Xc[part], yc[part]) for part in (slice(20), slice(20, 60)))
    np.testing.assert_allclose(one.merge(other).transforms[0].var_, step.var_, rtol=1e-9)
    for again in (
        ob.from_bytes(pipeline.to_bytes()),
        ob.restore(pipeline.state()),
        pickle.loads(pickle.dumps(pipeline)),
    ):
        np.testing.assert_array_equal(again.predict(Xc), pipeline.predict(Xc))
        np.testing.assert_array_equal(
            again.partial_fit(Xc, yc).predict(Xc), pipeline.copy().partial_fit(Xc, yc).predict(Xc)
        )
    with pytest.raises(TypeError, match="want real numbers"):
        make().partial_fit(Xc, yc)


@pytest.mark.parametrize("steps", [["standardize"], ["standardize", "intercept"]])
@pytest.mark.parametrize("method", ["rls", "orfit"])
@pytest.mark.parametrize("size", [1e200, -1e308])
def test_a_row_whose_square_overflows_is_refused(size, method, steps):
    """The variance of its column would be infinite, and all later rows zero in it."""
    pipeline = ob.pipeline(*steps, ob.create(method, backend="numpy")).partial_fit(X, y)
    before, rows = pipeline.to_bytes(), X.copy()
    rows[3, 1] = size
    with pytest.raises(ValueError, match=r"X\[3, 1\] = .* overflows when it is standardized: drop or clip it"):
        pipeline.partial_fit(rows, y)
    assert pipeline.to_bytes() == before
    weights = np.where(np.arange(len(X)) == 3, 0.0, 1.0)
    if method == "rls" and len(steps) == 2:  # a row of weight 0 is not learned
        pipeline.copy().partial_fit(rows, y, sample_weight=weights)
    if steps == ["standardize"]:  # with an intercept the coordinates of earlier rows remain valid
        with pytest.raises(ValueError, match=r"X\[3, 1\]"):
            pipeline.predict(rows)


def test_squares_that_overflow_are_learned_where_nothing_is_scaled():
    rows = np.array([[1.0], [1e160], [-1e160]])
    pipeline = ob.pipeline(ob.Standardizer(scale=False), ob.create("lms", backend="numpy", step_size=1e-322))
    assert pipeline.partial_fit(rows, np.ones(3)).n_samples_seen_ == 3


def test_a_merge_whose_squares_overflow_names_them():
    one, other = (make(ridge=1e-3).partial_fit(X + shift, y) for shift in (0, 1e155))
    with pytest.raises(ValueError, match="the variances of the rows of both overflow"):
        one.merge(other)


@pytest.mark.parametrize("scale", ["no", 0, 3, None, np.ones(3)])
def test_a_scale_that_is_no_boolean_is_refused(scale):
    with pytest.raises(TypeError, match=r"Standardizer: scale=.*, want True or False"):
        ob.Standardizer(scale=scale)
