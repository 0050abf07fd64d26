"""The verbs of pipelines that follow their moments, with all kinds of rows and targets."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.pipelines import N, X, Y, answers, close, make, y

import orfit_bench as ob
from orfit_bench.learners import weight_history
from orfit_bench.learners.rule import Rule

rng = np.random.default_rng(2)


def test_a_warning_that_is_an_error_comes_after_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def warn(*arguments: object) -> None:
        raise ob.AccuracyWarning("half of the digits")

    for steps in (("standardize", "intercept"), ("standardize",)):
        p = ob.pipeline(*steps, ob.create("rls", backend="numpy")).partial_fit(X[:70], y[:70])
        with monkeypatch.context() as patch:
            patch.setattr(Rule, "warn_of_lost_precision", warn)
            with pytest.raises(ob.AccuracyWarning, match="half of the digits"):
                p.partial_fit(X[70:150], y[70:150])  # the coordinates move at row 128
        assert p.transforms[0].count == p.n_samples_seen_ == 150
        close(p.predict(X), ob.pipeline(*steps, ob.create("rls")).partial_fit(X[:150], y[:150]).predict(X))


def test_the_history_of_weights_is_that_of_rows_as_they_come() -> None:
    table = pd.DataFrame(X[:, :3], columns=list("abc"))
    p, parts = make("rls", ridge=0.5), make("rls", ridge=0.5)
    history = p.weight_history(table, Y, every=150)
    assert history.dims == ("row", "parameter", "output")
    assert history.coords["parameter"].values.tolist() == ["a", "b", "c", "intercept"]
    assert history.coords["row"].values.tolist() == [150, 300, 450, 600]
    for i, w in enumerate(history.values):
        parts.partial_fit(table[150 * i : 150 * i + 150], Y[150 * i : 150 * i + 150])
        close(parts.weights(), w)
        close(parts.predict(table), answers(w, X[:, :3]))
    assert p.n_samples_seen_ == N
    one = make("lms", step_size=0.01).weight_history(X[:4, :3], y[:4], every=2)
    assert one.shape == (2, 4)
    assert make("lms").weight_history(X[:4, :3], y[:4], every=5).shape == (0, 4)
    before = p.to_bytes()
    with pytest.raises(ValueError, match="every=0"):
        p.weight_history(table, Y, every=0)
    wrong = Y.copy()
    wrong[400] = np.nan
    with pytest.raises(ValueError, match="nan"):
        p.weight_history(table, wrong, every=150)
    assert p.to_bytes() == before
    with pytest.raises(TypeError, match="class_rls have none"):
        make("class_rls").weight_history(X, np.where(y > 0, "a", "b"))


def test_a_history_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight_history, "MAX_BYTES", len(X) * 4 * 8 // 2)
    p = make("rls")
    with pytest.raises(ValueError, match=r"rows with 4 weights each would exceed .*; pass every=2 or more"):
        p.weight_history(X[:, :3], y)
    assert p.n_samples_seen_ == 0
    assert p.weight_history(X[:, :3], y.tolist(), every=2).shape == (len(X) // 2, 4)


def test_the_label_of_one_row_is_of_pythons_own_type() -> None:
    labels = np.where(y > 0, "a", "b")
    p, learner = make("class_rls").partial_fit(X, labels), ob.create("class_rls", backend="numpy")
    assert type(p.predict_one(X[0])) is type(learner.partial_fit(X, labels).predict_one(X[0])) is str


def test_single_rows_of_all_kinds() -> None:
    table = pd.DataFrame(X[:, :3], columns=list("abc"))
    p, twin = make("ridge"), make("ridge")
    p.partial_fit(table, y)
    twin.partial_fit(table, y)
    p.learn_one({"c": X[0, 2], "a": X[0, 0], "b": X[0, 1]}, y[0], sample_weight=2.0)
    twin.partial_fit(table[:1], y[:1], sample_weight=[2.0])
    assert p.predict_one(table.iloc[5]) == p.predict(table[5:6])[0] == twin.predict(table[5:6])[0]
    labels = make("class_rls").learn_one(X[0], "a").learn_one(X[1], "b").learn_one(X[2], "a")
    assert list(labels.classes_) == ["a", "b"]
    assert labels.predict_one(X[1]) == "b"
    kalman = make("kalman").partial_fit(X, y, observation_noise=np.linspace(1, 2, N))
    plain = make("ridge", ridge=1.0).partial_fit(X, y, sample_weight=1 / np.linspace(1, 2, N))
    close(kalman.predict(X), plain.predict(X), 1e-4)  # their priors settle in moments with and without weights
    close(kalman.log_likelihood(X[:9], y[:9]), kalman.copy().log_likelihood(pd.DataFrame(X[:9]), y[:9]))
    mean, std = plain.predict(X[:9], return_std=True)
    assert (std > 1).all()
    assert mean.shape == (9,)
    sgd = make("sgd", batch_size=4).partial_fit(X[:6], y[:6])
    assert sgd.pending == 2


def test_targets_of_all_kinds_are_cut_where_the_coordinates_move() -> None:
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    want = make("rls").partial_fit(X, Y).predict(X)
    frame = pd.DataFrame(Y, columns=["u", "v"])
    for targets in (Y.tolist(), frame, polars.from_pandas(frame), pyarrow.Table.from_pandas(frame)):
        close(make("rls").partial_fit(X, targets).predict(X), want)
    for targets in (y.tolist(), frame["u"], polars.Series(y), pyarrow.array(y)):
        close(make("rls").partial_fit(X, targets).predict(X), want[:, 0])


def test_what_was_saved_before_coordinates_goes_on() -> None:
    p = make("rls").partial_fit(X[:100], y[:100])
    state = p.state()
    header = json.loads(state.attrs["pipeline"])
    del header["position"]
    again = ob.restore(state.assign_attrs(pipeline=json.dumps(header)))
    close(again.position.current.center, p.transforms[0].mean_)
    assert np.isfinite(again.partial_fit(X[100:], y[100:]).predict(X)).all()


@pytest.mark.parametrize("verb", ["partial_fit", "prequential", "weight_history"])
def test_an_error_of_a_target_has_the_number_of_its_row_in_the_call(verb):
    """Pipelines that standardize learn a call in parts."""
    X = np.random.default_rng(0).standard_normal((100, 3))
    y = X.sum(axis=1)
    y[70] = np.nan
    pipeline = ob.pipeline("standardize", "intercept", ob.create("rls", backend="numpy"))
    before = pipeline.to_bytes()
    with pytest.raises(ValueError, match=r"y\[70\] is nan \(row 70; 1 such in all\)"):
        getattr(pipeline, verb)(X, y)
    assert pipeline.to_bytes() == before


def test_an_error_of_a_noise_has_the_number_of_its_row_in_the_call():
    X = np.random.default_rng(0).standard_normal((100, 3))
    noise = np.ones(100)
    noise[55] = np.nan
    pipeline = ob.pipeline("standardize", "intercept", ob.create("kalman", backend="numpy"))
    with pytest.raises(ValueError, match=r"observation_noise\[55\] is nan"):
        pipeline.partial_fit(X, X.sum(axis=1), observation_noise=noise)


def test_an_error_counts_all_missing_targets_of_the_call():
    X, y = np.random.default_rng(0).standard_normal((200, 3)), np.zeros(200)
    y[[0, 150, 160]] = np.nan
    with pytest.raises(ValueError, match=r"y\[0\] is nan \(row 0; 3 such in all\)"):
        ob.pipeline("standardize", ob.create("rls", backend="numpy")).partial_fit(X, y)


@pytest.mark.parametrize("scale", ["no", 1, None])
def test_a_scale_that_is_no_bool_is_refused(scale):
    with pytest.raises(TypeError, match=rf"Standardizer: scale={scale!r}, want True or False"):
        ob.pipeline(ob.Standardizer(scale), ob.create("rls", backend="numpy"))


@pytest.mark.parametrize("width", [1, 3])
def test_a_standardizer_of_other_columns_is_refused(width):
    standardizer, _ = ob.Standardizer().learn(np.random.default_rng(0).standard_normal((20, 2)))
    pipeline = ob.pipeline(standardizer, "intercept", ob.create("rls", backend="numpy"))
    before = pipeline.to_bytes()
    with pytest.raises(ValueError, match=f"X: got {width} columns, want 2 as the standardizer has learned"):
        pipeline.partial_fit(np.ones((4, width)), np.ones(4))
    assert pipeline.to_bytes() == before


def test_a_likelihood_needs_moments():
    X = np.random.default_rng(0).standard_normal((20, 2))
    standardized = ob.pipeline("standardize", "intercept", ob.create("rls", backend="numpy")).partial_fit(X[:0], [])
    with pytest.raises(ValueError, match="log_likelihood: the pipeline has learned no row, so that it has no moments"):
        standardized.log_likelihood(X, X[:, 0])
    plain = ob.pipeline("intercept", ob.create("rls", backend="numpy"))
    with_ones = np.column_stack([X, np.ones(20)])
    want = ob.create("rls", backend="numpy").log_likelihood(with_ones, X[:, 0])
    assert plain.partial_fit(X[:0], []).log_likelihood(X, X[:, 0]) == pytest.approx(want, rel=1e-12)


def test_weights_of_a_method_without_weights_are_refused() -> None:
    pipeline = ob.pipeline("standardize", "intercept", ob.create("greedy", backend="numpy"))
    with pytest.raises(TypeError, match="weights: greedy has none: it does not predict by weights"):
        pipeline.partial_fit(np.eye(3), [1.0, 2.0, 3.0]).weights()


@pytest.mark.parametrize("y", [np.ma.masked, np.ma.array(5.0, mask=True)])
def test_a_masked_target_of_one_row_is_refused(y: Any) -> None:
    pipeline = ob.pipeline("standardize", ob.create("rls", backend="numpy"))
    with pytest.raises(TypeError, match="y: got a masked"):
        pipeline.learn_one([1.0], y)
    assert pipeline.n_samples_seen_ == 0


def test_a_merge_with_a_pipeline_without_rows_merges_the_transforms() -> None:
    X = np.random.default_rng(0).standard_normal((5, 2))
    moments, _ = ob.Standardizer().learn(X[:3])

    def make(first: Any) -> Any:
        return ob.pipeline(first, "intercept", ob.create("rls", backend="numpy"))

    a, b = make(moments), make("standardize").partial_fit(X[3:], X[3:, 0])
    expected = moments.merge(b.transforms[0])
    merged = (a.copy().merge(b), b.copy().merge(a))
    assert [one.transforms[0].count for one in merged] == [5, 5]
    for one in merged:
        np.testing.assert_allclose(one.transforms[0].transform(X), expected.transform(X), rtol=1e-12)


def test_moments_that_a_fitted_learner_cannot_follow_are_not_merged() -> None:
    rows = np.random.default_rng(0).standard_normal((20, 2))
    moments, _ = ob.Standardizer().learn(100 + 50 * rows)

    def make(first: Any) -> Any:
        return ob.pipeline(first, ob.create("rls", backend="numpy"))

    fitted = make("standardize").partial_fit(rows, rows[:, 0])
    before = fitted.to_bytes()
    for one, other in ((fitted, make(moments)), (make(moments), fitted)):
        with pytest.raises(ValueError, match="merge: each pipeline learned its rows with its own moments"):
            one.merge(other)
    assert fitted.to_bytes() == before
    assert fitted.copy().merge(make("standardize")).predict(rows).tolist() == fitted.predict(rows).tolist()
    assert make(moments).merge(make(moments)).transforms[0].count == 40


@pytest.mark.parametrize("method", ["rls", "ridge", "kalman", "lms"])
@pytest.mark.parametrize("before", [0, 1, 3, 4, 7, 8, 16])
@pytest.mark.parametrize("targets", [1, 7])
def test_another_number_of_targets_is_refused_at_any_row(method: str, before: int, targets: int) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), rng.standard_normal(30)
    p = ob.pipeline("standardize", "intercept", ob.create(method, backend="numpy")).partial_fit(X[:before], y[:before])
    state = p.to_bytes()
    for verb in (p.partial_fit, p.prequential, p.weight_history):
        with pytest.raises(ValueError, match=f"y: got {targets} rows, want 2, one for each row of X"):
            verb(X[20:22], y[20 : 20 + targets])
        assert p.to_bytes() == state
