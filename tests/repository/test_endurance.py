"""The benchmark of long streams: its exact solution, what it measures, and a million rows (slow)."""

import numpy as np
import pytest

import orfit_bench as ob
from benchmarks.endurance import presentation
from benchmarks.endurance.measurement import TASKS, ExactSolution, Rows, measure_long_stream
from orfit_bench.report.plotting import pyplot, save


@pytest.mark.parametrize("ff", [1.0, 0.995])
def test_exact_solution_is_weighted_ridge_regression(ff):
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
def test_errors_of_rls_stay_small(ff):
    errors, warned, refused = measure_long_stream(ob.create("rls", forgetting_factor=ff), "P", 5000, Rows(), 1.0, ff)
    assert [one.rows for one in errors] == [1000, 2000, 3000, 4000, 5000]
    assert (warned, refused) == (0, 0)
    assert max(max(one.w_error, one.P_error) for one in errors) < 1e-11
    assert max(one.asymmetry for one in errors) == 0
    assert min(one.min_eigenvalue for one in errors) > 0


def test_wrong_positive_definite_P_has_a_large_error():
    learner = ob.create("rls").partial_fit(np.zeros((0, 16)), np.zeros((0, TASKS)))
    learner.live_state.arrays.P[...] *= 100
    last = measure_long_stream(learner, "P", 2000, Rows(seen=8, condition=1e5), 1.0).errors[-1]
    assert last.min_eigenvalue > 0
    assert last.P_error > 0.1


def test_rows_of_the_warning_and_of_the_refusal_are_recorded():
    learner = ob.create("rls", forgetting_factor=0.9)
    errors, warned, refused = measure_long_stream(learner, "P", 5000, Rows(seen=4), 1.0, 0.9)
    assert 0 < warned <= refused + 1000 or warned == refused == 0
    assert refused
    assert len(errors) < 5


def test_figure_and_table_are_written(tmp_path):
    found = {"a stream": {"rls": measure_long_stream(ob.create("rls"), "P", 2000, Rows(), 1.0)}}
    presentation.draw(found, tmp_path / "long.svg")
    assert "error of P" in (tmp_path / "long.svg").read_text()
    assert presentation.table(found).splitlines()[2].startswith("| a stream | rls | 2,000 |")


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "ff"), [(Rows(seen=12), 1.0), (Rows(), 0.999)], ids=["unseen directions", "forgets"])
def test_errors_stay_small_over_a_million_rows(rows, ff):
    errors, warned, refused = measure_long_stream(ob.create("rls", forgetting_factor=ff), "P", 1_000_000, rows, 1.0, ff)
    assert (warned, refused) == (0, 0)
    assert max(max(one.w_error, one.P_error) for one in errors) < 1e-9


def test_failed_save_of_a_figure_keeps_the_old_file(tmp_path):
    class Figure:
        canvas = pyplot().figure().canvas

        def savefig(self, file, **how):
            file.write(b"half")
            raise MemoryError

    path = tmp_path / "picture.svg"
    path.write_text("old")
    with pytest.raises(MemoryError):
        save(Figure(), path)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("picture.svg", "old")]
