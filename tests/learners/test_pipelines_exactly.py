"""Pipelines that are exact in chunks, merged and after shifts, against a batch solution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.pipelines import CUT, EXACT, REVERSED, N, X, Y, answers, batch, close, in_chunks, make, moments, y

import orfit_bench as ob

rng = np.random.default_rng(2)


@pytest.mark.parametrize(("method", "settings"), EXACT, ids=str)
@pytest.mark.parametrize("targets", [y, Y], ids=["one", "several"])
def test_chunks_merges_and_the_batch_solution_agree(method: str, settings: dict[str, Any], targets: Any) -> None:
    ff = settings.get("forgetting_factor", 1.0)
    for rows, t in ((X, targets), (X[REVERSED], targets[REVERSED])):
        cut = CUT if rows is X else N - CUT
        single = make(method, **settings).partial_fit(rows, t)
        want = batch(rows, t, 0.5, moments(rows[:64]), ff=ff)
        close(single.predict(rows), answers(want, rows))
        close(in_chunks(make(method, **settings), rows, t, 37).predict(rows), single.predict(rows))
        first = in_chunks(make(method, **settings), rows[:cut], t[:cut], 50)
        merged = first.merge(make(method, **settings).partial_fit(rows[cut:], t[cut:]))
        close(merged.predict(rows), answers(want, rows))
        assert merged.n_samples_seen_ == N
        more = rng.standard_normal((20, 4)) + rows[:20]
        for p in (merged, single):
            p.partial_fit(more, t[:20])
        close(merged.predict(rows), single.predict(rows))


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("method", ["ridge", "rls"])
def test_single_precision_agrees_to_its_digits(method: str, backend: str) -> None:
    single = make(method, "float32", backend, ridge=0.5).partial_fit(X, y)
    merged = make(method, "float32", backend, ridge=0.5).partial_fit(X[:CUT], y[:CUT])
    merged.merge(make(method, "float32", backend, ridge=0.5).partial_fit(X[CUT:], y[CUT:]))
    want = answers(batch(X, y, 0.5, moments(X[:64])), X)
    close(single.predict(X), want, 2e-4)
    close(merged.predict(X), want, 2e-4)
    assert merged.learner.dtype == np.float32


def test_small_parts_have_the_prior_of_both() -> None:
    for method in ("ridge", "rls", "kalman"):
        settings = {"ridge": 0.5} if method != "kalman" else {"initial_covariance": 2.0}
        for cut in (1, 2, 30):
            rows = X[380:440]
            a = make(method, **settings).partial_fit(rows[:cut], y[380 : 380 + cut])
            b = make(method, **settings).partial_fit(rows[cut:], y[380 + cut : 440])
            want = answers(batch(rows, y[380:440], 0.5, moments(rows)), rows)
            close(a.copy().merge(b).predict(rows), want)
            close(b.copy().merge(a).predict(rows), want)


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 16, 63, 64, 65, 200])
def test_the_prior_moves_until_it_settles(count: int) -> None:
    rows, t = rng.standard_normal((count, 2)), rng.standard_normal(count)
    rows[:2] = np.array([[1, -1], [-1, 1]])[:count]
    prior = moments(rows[: 64 if count >= 64 else 8]) if count >= 8 else (rows[0], np.ones(2))
    for method in ("ridge", "rls"):
        close(make(method, ridge=0.5).partial_fit(rows, t).weights(), batch(rows, t, 0.5, prior))


def test_centred_rows_without_a_scale() -> None:
    rows = X[:, :3] / [1e-3, 1, 1e4]
    for method in ("ridge", "rls"):
        steps = ob.Standardizer(scale=False), "intercept"
        single = ob.pipeline(*steps, ob.create(method, ridge=0.5)).partial_fit(rows, y)
        a, b = (
            ob.pipeline(*steps, ob.create(method, ridge=0.5)).partial_fit(rows[s], y[s])
            for s in (slice(CUT), slice(CUT, N))
        )
        want = answers(batch(rows, y, 0.5, (moments(rows[:64])[0], np.ones(3))), rows)
        close(single.predict(rows), want)
        close(a.merge(b).predict(rows), want)


def test_weights_of_rows_count_as_repetitions() -> None:
    rows, t = X[:, :3], y
    weights = rng.integers(0, 4, N).astype(float)
    weights[:3] = [0, 0, 2]
    kept = weights > 0
    for method in ("ridge", "rls"):
        single = make(method, ridge=1e-6).partial_fit(rows, t, sample_weight=weights)
        np.testing.assert_allclose(single.transforms[0].mean_, np.average(rows, axis=0, weights=weights), rtol=1e-12)
        assert single.transforms[0].count == weights.sum()
        close(
            in_chunks(make(method, ridge=1e-6), rows, t, 9, sample_weight=weights).predict(rows), single.predict(rows)
        )
        repeated = np.repeat(np.arange(N), weights.astype(int))
        close(
            make(method, ridge=1e-6).partial_fit(rows[repeated], t[repeated]).predict(rows), single.predict(rows), 1e-6
        )
        without = make(method, ridge=1e-6).partial_fit(rows[kept], t[kept], sample_weight=weights[kept])
        close(without.predict(rows), single.predict(rows))
        a = make(method, ridge=0.5).partial_fit(rows[:CUT], t[:CUT], sample_weight=weights[:CUT])
        b = make(method, ridge=0.5).partial_fit(rows[CUT:], t[CUT:], sample_weight=weights[CUT:])
        both = make(method, ridge=0.5).partial_fit(rows, t, sample_weight=weights)
        close(a.merge(b).predict(rows), both.predict(rows))
    second = make("rls").partial_fit(rows[:2], t[:2], sample_weight=[0.0, 2.0])
    assert not second.transforms[0].var_.any()  # exactly zero for a single row
    nothing = make("rls").partial_fit(rows[:5], t[:5], sample_weight=np.zeros(5))
    assert nothing.transforms[0].count == 0
    close(nothing.partial_fit(rows, t).predict(rows), make("rls").partial_fit(rows, t).predict(rows))


def test_a_negative_weight_takes_a_row_back() -> None:
    p = make("ridge", ridge=0.5).partial_fit(X, y)
    prior = moments(X[:64])
    p.partial_fit(X[500:], y[500:], sample_weight=-np.ones(200))
    close(p.predict(X), answers(batch(X[:500], y[:500], 0.5, prior), X), 1e-7)
    np.testing.assert_allclose(p.transforms[0].mean_, X[:500].mean(axis=0), rtol=1e-9)
    before = p.to_bytes()
    with pytest.raises(ValueError, match=r"sample_weight: .* up to row 499 of this call"):
        p.partial_fit(X[:500], y[:500], sample_weight=-np.ones(500))
    assert p.to_bytes() == before


def test_a_column_that_varies_late_has_the_prior_of_its_scale() -> None:
    rows = X[:, :3].copy()
    rows[:150, 1] = 3.0
    rows[150:, 1] = 3e3 + 1e3 * rng.standard_normal(N - 150)
    for method in ("ridge", "rls"):
        single = make(method, ridge=1e-3).partial_fit(rows, y)
        close(in_chunks(make(method, ridge=1e-3), rows, y, 13).predict(rows), single.predict(rows))
        mean, std = moments(rows[:64])
        std[1] = moments(rows[:151])[1][1]
        close(single.predict(rows), answers(batch(rows, y, 1e-3, (mean, std)), rows), 1e-8)


def test_complex_rows() -> None:
    Xc = X[:, :3] + 1j * X[::-1, :3] * [2, 0.1, -3]
    yc = (Xc - Xc.mean(axis=0)) / Xc.std(axis=0) @ [1, 1j, -2] + 3j
    for method, settings in EXACT[:7]:
        single = make(method, "complex128", **settings).partial_fit(Xc, yc)
        a, b = (make(method, "complex128", **settings).partial_fit(Xc[s], yc[s]) for s in (slice(CUT), slice(CUT, N)))
        close(a.merge(b).predict(Xc), single.predict(Xc))
        ff = settings.get("forgetting_factor", 1.0)
        close(single.predict(Xc), answers(batch(Xc, yc, 0.5, moments(Xc[:64]), ff=ff), Xc))


def test_classes_of_both_parts_are_kept() -> None:
    labels = np.array(["a", "b", "c", "d"])[np.digitize(y, np.quantile(y, [0.25, 0.5, 0.75]))]
    first, second = np.isin(labels, ["a", "b"]), np.isin(labels, ["c", "d"])
    a, b = (make("class_rls", ridge=0.5).partial_fit(X[part], labels[part]) for part in (first, second))
    order = np.r_[np.flatnonzero(first), np.flatnonzero(second)]
    single = make("class_rls", ridge=0.5)
    scores = single.prequential(X[order], labels[order])
    assert scores.shape == (N, 4)
    a.merge(b)
    assert list(a.classes_) == list(single.classes_)
    close(a.decision_function(X), single.decision_function(X))
    close(a.predict_proba(X), single.predict_proba(X))


@pytest.mark.parametrize(
    "method", [("ridge", {}), ("rls", {}), ("rls", {"form": "square_root"}), ("kalman", {})], ids=str
)
@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize("n", [8, 20, 70])
def test_nearly_equal_first_rows_cost_no_digits(n, one_by_one, method):
    """The prior uses the moments after row 8 or 64, however small the spread of the first rows was."""
    for seed, difference in enumerate((1e-2, 1e-4, 1e-6, 1e-9, 1e-12)):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal(n)
        x[1] = x[0] + difference
        y, k = x + rng.standard_normal(n), 8 if n < 64 else 64
        Z = np.stack([(x - x[:k].mean()) / x[:k].std(), np.ones(n)], axis=1)
        want = Z @ np.linalg.solve(Z.T @ Z + np.eye(2), Z.T @ y)
        pipeline = ob.pipeline("standardize", "intercept", ob.create(method[0], **method[1]))
        for part in np.split(np.arange(n), range(1, n) if one_by_one else []):
            pipeline.partial_fit(x[part, None], y[part])
        np.testing.assert_allclose(pipeline.predict(x[:, None]), want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", ["ridge", "rls", "kalman"])
def test_nearly_equal_first_rows_are_no_outliers_in_float32(method):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 3)) + 5
    X[1, 2] = X[0, 2] + 1e-4
    pipeline = ob.pipeline("standardize", "intercept", ob.create(method, dtype="float32")).partial_fit(X, X.sum(axis=1))
    assert abs(pipeline.predict(X) - X.sum(axis=1)).max() < 0.1


@pytest.mark.parametrize("method", ["ridge", "rls", "kalman", "class_rls"])
@pytest.mark.parametrize("difference", [1e-3, 1e-7])
@pytest.mark.filterwarnings("ignore::orfit_bench.errors.AccuracyWarning")
def test_predictions_in_a_chunk_are_those_before_each_row(difference, method):
    """Also if the prior moves with the coordinates, as it does after nearly equal first rows."""
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((20, 2)) + 3
    rows[1] = rows[0] + difference
    targets: Any = rows @ [1.0, 2.0] + rng.standard_normal(20)
    if method == "class_rls":
        targets = np.array(list("aabcba"))[rng.integers(0, 6, 20)]
        targets[2] = "new"
    weights = None if method in ("kalman", "class_rls") else rng.integers(1, 3, 20).astype(float)
    one_by_one, chunk = make(method), make(method)
    found = []
    for i in range(20):
        part = slice(i, i + 1)
        given = {} if weights is None else {"sample_weight": weights[part]}
        found.append(one_by_one.prequential(rows[part], targets[part], **given)[0])
    got = chunk.prequential(rows, targets, **({} if weights is None else {"sample_weight": weights}))
    if method == "class_rls":
        found = [np.pad(scores, (0, got.shape[1] - len(scores))) for scores in found]
        twin = make(method).partial_fit(rows[:2], targets[:2])
        np.testing.assert_allclose(got[2][:2], twin.decision_function(rows[2:3])[0][:2], rtol=1e-9, atol=1e-12)
    else:
        given = {} if weights is None else {"sample_weight": weights[:2]}
        twin = make(method).partial_fit(rows[:2], targets[:2], **given)
        np.testing.assert_allclose(twin.predict(rows[2:3]), got[2:3], rtol=1e-9)
    np.testing.assert_allclose(np.array(found), got, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(chunk.weights(), one_by_one.weights(), rtol=1e-9)
