"""The measurements of `python3 dev.py gpu`, with tiny sizes on the stand-in for a device."""

from types import SimpleNamespace

import pytest

from benchmarks.gpu import cases, checking, costs, looking, measuring, profiling, scale, warming
from benchmarks.gpu.units import FAILED
from orfit_bench_cupy import METHODS


@pytest.fixture
def results(monkeypatch):
    """A dictionary for results; each measurement has one turn."""
    monkeypatch.setattr(measuring, "TURNS", 1)
    return {}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::orfit_bench.AccuracyWarning")
@pytest.mark.parametrize("case", cases.by_name())
def test_a_size(in_place, results, case):
    measuring.measure(collect_into(results), in_place, case, 20, "float32", small=True)
    assert {*results} == {"rows", "cupy", "copying", "numba", "numba_rows"}
    assert all(value > 0 for value in results.values())


def collect_into(results):
    """The function that units report their results to."""
    return lambda **more: results.update(more)


def test_few_rows_are_asked_of_numba_where_one_takes_long(in_place, results, monkeypatch):
    monkeypatch.setattr(measuring, "SECONDS", 0.0)
    measuring.measure(collect_into(results), in_place, "lms", 20, "float64", small=False)
    assert (results["rows"], results["numba_rows"]) == (256, measuring.FEW)


def test_what_does_not_fit_is_not_measured(in_place, results, monkeypatch):
    monkeypatch.setattr(measuring, "free", lambda device: 10**9)
    measuring.measure(collect_into(results), in_place, "orfit", 10**7, "float64", small=False)
    assert results == {"why": "needs 9 GB, has 1 GB"}


def test_no_memory_is_a_result(in_place, results, monkeypatch):
    def full(*_):
        raise MemoryError

    monkeypatch.setattr(measuring, "on_device", full)
    measuring.measure(collect_into(results), in_place, "lms", 20, "float64", small=True)
    assert results == {"why": "out of memory"}


def test_limits_are_measured(in_place, results):
    measuring.limits(collect_into(results), in_place, small=True)
    assert {*results} == {"bandwidth", "float64", "float32", "free"}
    assert all(value > 0 for value in results.values())


@pytest.mark.slow
@pytest.mark.parametrize("fact", sorted({*looking.FACTS} - {"libraries", "whether it can compute"}))
def test_a_fact(in_place, results, fact):
    looking.look(collect_into(results), in_place, fact)
    assert results or fact == "variables"


@pytest.mark.parametrize("work", costs.WORK)
def test_a_cost(in_place, results, work):
    costs.cost(collect_into(results), in_place, work, small=True)
    assert all(value > 0 for value in results.values())


@pytest.mark.parametrize("name", costs.METHODS)
def test_a_rate(in_place, results, name):
    costs.rate(collect_into(results), in_place, name, small=True)
    assert len(results) == 6


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_a_few_rows_of_every_method(in_place, results, method):
    warming.warm(collect_into(results), in_place, method, "float32", small=True)
    assert results["rows"] == 40


@pytest.mark.parametrize("name", [*scale.FLEETS])
def test_fleets_are_measured(in_place, results, name):
    scale.measure_fleet(collect_into(results), in_place, name, small=True)
    assert {label for label in results if label.endswith("rows/s")} == {
        f"{label}, rows/s" for label in ("rows there", "rows here", "numba")
    }


def test_an_end_state_is_measured(in_place, results):
    scale.measure_end_state(collect_into(results), in_place, "ridge, d = 2,048", small=True)
    assert results["rows there, rows/s"] > 0


def test_a_profile(in_place, results):
    profiling.profile(collect_into(results), in_place, "rls", 20, small=True)
    assert len(results["top"]) == profiling.LINES
    assert results["ms"] > 0


def test_the_kit_is_counted(results, monkeypatch):
    monkeypatch.setattr(checking, "FEW", ("any_chunking",))
    checking.check(collect_into(results), "numpy", ["greedy"], "float64", seed=0, workers=1, small=True)
    assert (results["counts"]["passed"], results["problems"]) == (1, [])


def test_a_kit_that_is_not_passed_is_no_success(results, monkeypatch):
    monkeypatch.setattr(checking, "conform_isolated", lambda *_, progress, **more: refused(progress))
    with pytest.raises(AssertionError, match="1 checks failed; nothing ran"):
        checking.check(collect_into(results), "numpy", ["greedy"], "float64", seed=0, workers=1, small=True)
    assert results["failed any_chunking of greedy"] == "off"


def refused(progress):
    """A report of one check that failed."""
    progress(1, 1, SimpleNamespace(method="greedy", check="any_chunking", status=FAILED, reason="off"))
    return SimpleNamespace(results=[], counts={FAILED: 1}, problems=["nothing ran"], passed=False)
