"""Kernels are compiled in several processes before cells are measured one by one."""

from types import SimpleNamespace

import pytest

from orfit_bench.bench.cell import Cell
from orfit_bench.bench.compilation import compile_ahead
from orfit_bench.bench.isolation import Limits
from orfit_bench.bench.runner import _run_cells

SIZES = {"n": 70, "d": 4}


def cell(method, backend="numba", **more):
    return Cell(method, backend, "regression", stream_settings=SIZES, **more)


@pytest.mark.parametrize("cells", [[], [cell("lms")], [cell("lms", "numpy"), cell("rls", "numpy")]])
def test_nothing_is_started_where_nothing_can_be_shared(cells):
    assert compile_ahead(cells) == {}


def test_the_seconds_of_the_first_cell_that_needs_them():
    pytest.importorskip("numba")
    first, again, other, wrong = cell("greedy"), cell("greedy", seed=1), cell("lms"), cell("lms", settings={"eta": 1})
    found = compile_ahead([first, again, other, cell("greedy", "numpy")])
    assert set(found) == {first.key, other.key}
    assert min(found.values()) > 0
    assert set(compile_ahead([first, wrong])) == {first.key}, "an error is left to the run"


def test_they_count_as_the_first_use_of_that_cell_alone():
    cells = [cell("lms"), cell("nlms"), cell("rls")]
    records = {c.key: {"status": "ok", "seconds_compile": 1.0} for c in cells[:2]} | {
        cells[2].key: {"status": "failed"}
    }
    executor = SimpleNamespace(run_all=lambda work, limits: ((k, dict(records[k])) for k in work))
    compiled = {cells[0].key: 2.0, cells[2].key: 3.0}
    found = _run_cells({c.key: c for c in cells}, executor, Limits(60.0), compiled, list)
    assert [record.get("seconds_compile") for _, record in found] == [3.0, 1.0, None]
