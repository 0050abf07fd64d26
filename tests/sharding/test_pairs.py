"""A tuple of two is a pair (X, y), a list of two only if its first item is rows; contradictions are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import orfit_bench as ob
from orfit_bench.sharding.pairs import is_pair

X = np.random.default_rng(0).standard_normal((12, 3))
y = X @ [1.0, -2.0, 3.0]
TABLE = pd.DataFrame(X, columns=list("abc")).assign(y=y)
HERE: dict[str, Any] = {"workers": 1, "backend": "numpy"}


@pytest.mark.parametrize(
    ("shard", "want"),
    [
        ((X, y), True),
        ([X, y], True),
        ([X.tolist(), y.tolist()], True),
        ([TABLE, y], True),
        ([[[1.0, 2.0], [3.0]], [1.0, 2.0]], True),
        ([X[0], X[1]], False),
        (X[:2].tolist(), False),
        (X[:2], False),
        ([TABLE.iloc[0], TABLE.iloc[1]], False),
        ([X, y, y], False),
    ],
)
def test_rows_differ_from_pairs(shard: Any, want: bool) -> None:
    assert is_pair(shard) is want


@pytest.mark.parametrize("rows", [[2, 10], [3, 9], [10, 2]])
def test_lists_of_rows_of_any_number_are_x_alone(rows: list[int]) -> None:
    parts = [list(part) for part in np.split(X, [rows[0]])]
    found = ob.learn("incremental_pca", parts, n_components=1, **HERE)
    want = ob.learn("incremental_pca", np.split(X, [rows[0]]), n_components=1, **HERE)
    assert found.n_samples_seen_ == 12
    np.testing.assert_array_equal(found.array("basis"), want.array("basis"))


def test_a_partition_of_two_rows_is_learned() -> None:
    bag = pytest.importorskip("dask.bag").from_sequence(list(X), partition_size=2)
    assert ob.learn("incremental_pca", bag, n_components=1, **HERE).n_samples_seen_ == 12


def test_lists_as_pairs_are_learned() -> None:
    shards = [[X[:6], y[:6]], [X[6:].tolist(), y[6:].tolist()]]
    np.testing.assert_array_equal(
        ob.learn("rls", shards, **HERE).array("w"), ob.learn("rls", [tuple(part) for part in shards], **HERE).array("w")
    )


@pytest.mark.parametrize("shard", [[TABLE[:6], TABLE[6:]], (TABLE, TABLE["y"]), (TABLE[:6], TABLE[6:])])
def test_a_pair_whose_rows_hold_the_target_is_refused(shard: Any) -> None:
    with pytest.raises(ValueError, match=r"X holds the target column 'y'.*for two tables pass two shards") as raised:
        ob.learn("rls", [TABLE, shard], target="y", **HERE)
    assert raised.value.__notes__ == ["in shard 1"]


def test_two_matrices_in_a_list_are_no_shard_of_a_subspace() -> None:
    with pytest.raises(ValueError, match="only the first would be learned: pass two shards"):
        ob.learn("incremental_pca", [[X[:6], X[6:]]], n_components=1, **HERE)
    assert ob.learn("incremental_pca", [(X, y)], n_components=1, **HERE).n_samples_seen_ == 12


@pytest.mark.parametrize("files", [["a.csv", "b.csv"], ("a.csv", "b.csv"), ["a.csv", "b.csv", "c.csv"]])
def test_a_list_of_files_is_no_shard(files: Any) -> None:
    for shards in ([files], [TABLE, files]):
        with pytest.raises(TypeError, match=f"a shard is a {type(files).__name__} of files, want one file") as raised:
            ob.learn("rls", shards, target="y", **HERE)
        assert raised.value.__notes__ == [f"in shard {len(shards) - 1}"]


def test_rounds_refuse_targets_in_another_order() -> None:
    table = TABLE[list("abc")]
    for rounds in (1, 2):
        with pytest.raises(ValueError, match="y: its rows have the labels of X in another order"):
            ob.learn("lms", [(table, TABLE["y"].sort_values())] * 2, rounds=rounds, **HERE)


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize(("rows", "targets"), [(5, 12), (12, 5)])
def test_rounds_refuse_other_numbers_of_targets(rows: int, targets: int, rounds: int) -> None:
    for pair in [(X[:rows], y[:targets]), (TABLE[list("abc")][:rows], TABLE["y"][:targets].reset_index(drop=True))]:
        with pytest.raises(ValueError, match=f"y: got {targets} rows, want {rows}, one for each row of X"):
            ob.learn("lms", [pair], rounds=rounds, **HERE)


@pytest.mark.parametrize("rounds", [1, 3])
def test_rounds_cut_sparse_rows_and_labelled_rows_by_position(rounds: int) -> None:
    want = ob.learn("lms", [(X, y)], rounds=rounds, **HERE).array("w")
    labels = np.linspace(0.5, 3, 12)
    table = pd.DataFrame(X, columns=list("abc"), index=labels)
    for pair in [(csr_matrix(X), y), (table, pd.Series(y, index=labels)), (X.tolist(), y.tolist())]:
        np.testing.assert_allclose(ob.learn("lms", [pair], rounds=rounds, **HERE).array("w"), want, rtol=1e-12)
    with pytest.raises(TypeError, match=r"format coo, want csr: pass X.tocsr\(\)"):
        ob.learn("lms", [(csr_matrix(X).tocoo(), y)], rounds=rounds, **HERE)


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ((X, csr_matrix(y[:, None])), "y: got a sparse array"),
        ((X, 3.0), "y is float, want an array"),
        ((X, np.array(3.0)), "y is ndarray, want an array"),
        ((X, {"a": y}), "y is dict, want an array"),
    ],
)
def test_rounds_refuse_what_has_no_rows(pair: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        ob.learn("lms", [pair], rounds=2, **HERE)


def test_targets_that_a_subspace_does_not_use_may_be_in_another_order() -> None:
    table = TABLE[list("abc")]
    assert ob.learn("oja", [(table, TABLE["y"].sort_values())], n_components=2, **HERE).n_samples_seen_ == 12
