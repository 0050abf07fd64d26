"""Long streams: the exact that the errors are measured against, what is seen, and a million rows (slow)."""

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.conformance.endurance import TASKS, ExactSolution, Rows, measure_long_stream
from orfit_bench.report import endurance
from orfit_bench.report.plotting import pyplot, save


@pytest.mark.parametrize("ff", [1.0, 0.995])
def test_the_truth_is_the_weighted_ridge_solution(ff):
    rows, exact = Rows(d=6, seen=4, condition=10.0), ExactSolution(6, 0.5, ff)
    blocks = list(rows.blocks(1500))
    for X, Y in blocks:
        exact.add(X, Y)
    X, Y = (np.concatenate(part) for part in zip(*blocks, strict=True))
    n = len(X)
    assert (n, np.linalg.matrix_rank(X)) == (1500, 4)
    weight = ff ** np.arange(n - 1, -1, -1.0)
    information = (X.T * weight) @ X + ff**n * 0.5 * np.eye(6)
    w, P = exact.solution()
    np.testing.assert_allclose(information @ P, np.eye(6), atol=1e-8)
    np.testing.assert_allclose(information @ w, (X.T * weight) @ Y, atol=1e-9)


@pytest.mark.parametrize("ff", [1.0, 0.999])
def test_rls_keeps_its_digits(ff):
    errors, warned, refused = measure_long_stream(ob.create("rls", forgetting_factor=ff), "P", 5000, Rows(), 1.0, ff)
    assert [one.rows for one in errors] == [1000, 2000, 3000, 4000, 5000]
    assert (warned, refused) == (0, 0)
    assert max(max(one.w_error, one.P_error) for one in errors) < 1e-11
    assert max(one.asymmetry for one in errors) == 0
    assert min(one.min_eigenvalue for one in errors) > 0


def test_a_P_that_is_wrong_and_positive_is_seen():
    learner = ob.create("rls").partial_fit(np.zeros((0, 16)), np.zeros((0, TASKS)))
    learner.live_state.arrays.P[...] *= 100
    last = measure_long_stream(learner, "P", 2000, Rows(seen=8, condition=1e5), 1.0).errors[-1]
    assert last.min_eigenvalue > 0
    assert last.P_error > 0.1


def test_a_learner_that_winds_up_warns_and_then_refuses():
    learner = ob.create("rls", forgetting_factor=0.9)
    errors, warned, refused = measure_long_stream(learner, "P", 5000, Rows(seen=4), 1.0, 0.9)
    assert 0 < warned <= refused + 1000 or warned == refused == 0
    assert refused
    assert len(errors) < 5


def test_picture_and_table(tmp_path):
    found = {"a stream": {"rls": measure_long_stream(ob.create("rls"), "P", 2000, Rows(), 1.0)}}
    endurance.draw(found, tmp_path / "long.svg")
    assert "error of P" in (tmp_path / "long.svg").read_text()
    assert endurance.table(found).splitlines()[2].startswith("| a stream | rls | 2,000 |")


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "ff"), [(Rows(seen=12), 1.0), (Rows(), 0.999)], ids=["unseen directions", "forgets"])
def test_a_million_rows_keep_their_digits(rows, ff):
    errors, warned, refused = measure_long_stream(ob.create("rls", forgetting_factor=ff), "P", 1_000_000, rows, 1.0, ff)
    assert (warned, refused) == (0, 0)
    assert max(max(one.w_error, one.P_error) for one in errors) < 1e-9


def test_a_picture_that_fails_half_way_leaves_the_old_one(tmp_path):
    class Figure:
        canvas = pyplot().figure().canvas

        def savefig(self, path, **how):
            path.write_text("half")
            raise MemoryError

    path = tmp_path / "picture.svg"
    path.write_text("old")
    with pytest.raises(MemoryError):
        save(Figure(), path)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("picture.svg", "old")]
