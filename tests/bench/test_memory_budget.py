"""Batch solutions within a budget of memory."""

import re

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.bench import Cell, Suite, run, run_cell


class TestMemoryBudget:
    """Metrics that would need more memory than the budget are not computed, and the notes say why."""

    def test_metric_above_budget_is_noted(self):
        cell = Cell("rls", "numpy", "regression", stream_settings={"n": 200, "d": 8})
        within, above = (run_cell(cell, memory_budget) for memory_budget in (1e9, 1e3))
        assert within["metrics"]["deviation"] < 1e-10
        assert not within["notes"]
        assert [above["metrics"][name] for name in ("deviation", "regret")] == [None, None]
        assert any(re.match(r"metric deviation: needs \S+ GB, more than 1e-06 GB", note) for note in above["notes"])

    def test_square_matrices_are_declared(self):
        settings = {"momentum": 0.5}
        cell = Cell("sgd", "numpy", "regression", settings, {"n": 9000, "d": 4})
        assert any("metric deviation: needs" in note for note in run_cell(cell)["notes"])

    @pytest.mark.parametrize("budget", [-1.0, float("nan")])
    def test_wrong_budget_is_refused(self, budget):
        with pytest.raises(ValueError, match="memory_budget"):
            run(Suite(methods=["lms"]), memory_budget=budget)


@pytest.mark.parametrize("method", ["lms", "nlms", "one_step_sgd", "rls", "ridge"])
def test_batch_solution_in_blocks_is_that_of_all_rows(method, monkeypatch):
    from orfit_bench.catalogue.shared import least_squares, recursions

    rng = np.random.default_rng(0)
    X = 0.3 * rng.standard_normal((300, 5))
    Y, w0 = X @ rng.standard_normal((5, 2)) + rng.standard_normal((300, 2)), rng.standard_normal((5, 2))
    for more in ({}, {"forgetting_factor": 0.95}, {"forgetting_factor": 1.05}):
        if more and method not in ("rls", "ridge"):
            continue
        learner = ob.create(method, **more)
        complete = learner.method.theory.batch(X, Y, w0, learner.settings)
        with monkeypatch.context() as patch:
            patch.setattr(least_squares, "BLOCK_ROWS", 64)
            patch.setattr(recursions, "BLOCK_ROWS", 64)
            np.testing.assert_allclose(learner.method.theory.batch(X, Y, w0, learner.settings), complete, atol=1e-12)
