"""Runs that standardize rows and add an intercept."""

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench import bench, sampling
from orfit_bench.bench.preprocessing import StandardizedRows, preprocess
from orfit_bench.spec import Data, Stream
from orfit_bench.tables.row_view import RowView

rng = np.random.default_rng(0)
X = rng.standard_normal((300, 3)) * [1, 100, 1e4] + [5, -300, 1e5]
y = X @ [1.0, 0.01, 1e-4] + 2


def test_the_view_equals_a_pipeline_in_any_order_of_slices():
    test = X[:20] + 1
    lazy = [sampling.reshuffled((a, y[: len(a)]), 1).X for a in (X, test)]
    X_now, test_now = (np.asarray(a) for a in lazy)
    data = preprocess(Data(lazy[0], y, test=(lazy[1], y[:20])), True, True)
    now = preprocess(Data(X_now, y, test=(test_now, y[:20])), True, True)
    for a, b in ((data.X, now.X), (data.test[0], now.test[0])):
        assert type(a) is not np.ndarray is type(b)
        assert a.size == b.size
        np.testing.assert_allclose(np.asarray(a), b, rtol=1e-9, atol=1e-12)
    standardizer, Z = ob.Standardizer().learn(X_now)
    assert data.X.shape == (300, 4)
    for rows in (slice(0, 50), slice(200, 260), slice(50, 200), slice(0, 0), slice(10, 300)):
        np.testing.assert_allclose(data.X[rows][:, :3], Z[rows], rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(data.X[rows][:, 3], 1)
    np.testing.assert_allclose(np.asarray(data.test[0])[:, :3], standardizer.transform(test_now), rtol=1e-9)
    np.testing.assert_allclose(np.asarray(data.X)[:, :3], Z, rtol=1e-9, atol=1e-12)
    plain = Data(X, y)
    assert preprocess(plain, False, False) is plain


@pytest.mark.parametrize("options", [{}, {"standardise": True}, {"standardise": True, "intercept": True}])
def test_a_run_with_it(options, tmp_path):
    stream = Stream("raw", "rows on three scales", make=lambda: Data(X, y, test=(X[:20], y[:20])))
    protocol = bench.Protocol(**options)
    suite = bench.Suite(methods=["nlms", "rls"], backends=["numpy"], streams=[stream], protocol=protocol)
    results = bench.run(suite, isolate=False)
    assert set(results["status"].values) == {"ok"}
    assert not any("Error" in str(notes) for notes in results["notes"].values)
    name = "1 pass" + ", standardized" * ("standardise" in options) + ", intercept" * ("intercept" in options)
    assert set(results["protocol"].values) == {name}


def test_wrong_options_are_refused():
    with pytest.raises(TypeError, match="standardise=1: want true or false"):
        bench.Protocol(standardise=1)


def test_slices_are_read_once_in_order_and_from_a_near_row_otherwise(monkeypatch):
    """Rows are learned once in order; an earlier slice starts at the last kept transform before it."""
    monkeypatch.setattr("orfit_bench.bench.preprocessing.CHUNK", 64)
    counted = []

    class Rows(RowView):
        def __len__(self):
            return len(X)

        def __getitem__(self, piece):
            counted.append(len(range(*piece.indices(len(X)))))
            return X[piece]

    rows = StandardizedRows(Rows())
    in_order = np.concatenate([rows[i : i + 1] for i in range(300)])
    assert sum(counted) == 300
    np.testing.assert_allclose(in_order, ob.Standardizer().learn(X)[1], rtol=1e-9, atol=1e-12)
    counted.clear()
    np.testing.assert_allclose(rows[130:131], in_order[130:131], rtol=1e-9, atol=1e-12)
    assert sum(counted) <= 131
    rows.up_to(300)
    counted.clear()
    np.testing.assert_allclose(rows[130:131], in_order[130:131], rtol=1e-9, atol=1e-12)
    assert sum(counted) == 3  # from row 128
