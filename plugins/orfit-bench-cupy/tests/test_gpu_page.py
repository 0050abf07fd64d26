"""The page that `python3 dev.py gpu` writes from its results."""

import argparse
from itertools import groupby

import pytest

from benchmarks import pages
from benchmarks.gpu import cases, options, page, plan, tables
from benchmarks.gpu.goals import GOALS
from benchmarks.gpu.units import DONE, FAILED, Journal


def chosen(**more):
    """Options as parsed by `python3 dev.py gpu`."""
    return argparse.Namespace(**{**vars(options.parsed([])), **more})


@pytest.fixture
def measured(tmp_path):
    """A folder with results of some units: one failed half-way, and one never ended."""

    def write(part, unit, results, status=DONE, **more):
        journal = Journal(tmp_path / f"{part}.jsonl")
        device = {"device": "A device", "cupy": "14"}
        journal.write(where={"device": device, "versions": {"numpy": "2"}, "cpu": "A host"})
        journal.write(unit=unit, arguments={"small": False, **more}, date="2026-05-04T03:02:01+00:00")
        journal.write(unit=unit, results=results)
        if status:
            journal.write(unit=unit, status=status, why="" if status == DONE else "it hangs")

    write("tables", "limits", {"bandwidth": 1e12, "float64": 5e13, "float32": 1e14, "free": 1})
    sizes = ((1_000, (4e4, 1e4), DONE), (500, (1e4, 2e4), DONE), (4_096, (3e4,), FAILED), (10**4, (), ""))
    for d, rates, status in sizes:
        rate = dict(zip(("cupy", "numba"), rates, strict=False)) | ({"rows": 256, "numba_rows": 8} if rates else {})
        write("tables", f"rls, d = {d:,}, float64", rate, status, case="rls", d=d, dtype="float64")
    large = {"why": "out of memory"}
    write("tables", "orfit, d = 10,000,000, float64", large, case="orfit", d=10**7, dtype="float64")
    kit = {"failed one_row of rls": "off by 1", "counts": {"passed": 7, "failed": 1}}
    write("check-float64", "rls, sgd", kit, FAILED, seed=3, methods=["rls", "sgd"])
    write("check-float64", "lms", {}, FAILED, seed=3, methods=["lms"])
    write("look", "NaN in a maximum", {"C": False}, FAILED)
    write("profile", "rls", {"ms": 2.0, "rows": 9, "top": [{"function": "f", "calls": 1, "ms": 1, "ms with calls": 2}]})
    return tmp_path


def test_the_page_of_what_was_measured_so_far(measured, tmp_path):
    target = tmp_path / "copy.md"
    page.write(measured, plan.plan(chosen()), small=False, target=target)
    before = page.PAGE.read_text().partition(pages.BEGIN)[0]
    text = target.read_text()
    assert text.startswith(before)
    assert "2026-05-04, `python3 dev.py gpu`. A device; host A host, ? cores; cupy 14, numpy 2." in text
    assert "- check-float64: of 4, 4 not done\n" in text
    assert "The kit in float64, of 2 methods, seed 3: 7 passed, 1 failed." in text
    assert "- one_row of rls: off by 1\n- lms: it hangs\n" in text
    assert "| rls | 500 | float64 | 256 | 20,000 (of 8 rows) | 10,000 | 0.5 | n/a | 0.1% |" in text
    assert "| rls | 4,096 | float64 | 256 | n/a (it hangs) | 30,000 | n/a | n/a | 12.6% |" in text
    assert "| rls | 10,000 | float64 | n/a (not finished) |" in text
    assert "| orfit | 10,000,000 | float64 | n/a (out of memory) | n/a |" in text
    assert "| rls | 1,000 | none measured |" in text
    assert "| rls, d = 4,096, of the rate of matrix products | 256 | 0.03 | 0.5 |" in text
    assert "| orfit, d = 10,000,000, of the rate of matrix products | n/a | n/a (out of memory) | 0.3 |" in text
    assert "| `f` | 1 | 1 | 2 |" in text
    page.write(measured, plan.plan(chosen()), small=False, target=target)
    assert target.read_text() == text
    lines = [list(table) for is_table, table in groupby(text.splitlines(), lambda line: line[:1] == "|") if is_table]
    assert all(len({line.count("|") for line in table}) == 1 for table in lines)


def test_the_page_names_the_device_of_each_figure_where_they_are_several(measured, tmp_path):
    target, journal = tmp_path / "copy.md", Journal(measured / "tables.jsonl")
    page.write(measured, plan.plan(chosen()), small=False, target=target)
    assert "on A device" not in target.read_text()
    journal.write(where={"device": {"device": "Another device"}})
    journal.write(
        unit="rls, d = 500, float64", arguments={"case": "rls", "d": 500, "dtype": "float64"}, date="2026-05-05"
    )
    page.write(measured, plan.plan(chosen()), small=False, target=target)
    text = target.read_text()
    assert "- check-float64: on A device\n" in text
    assert "- tables, on Another device: rls, d = 500, float64\n" in text


def test_the_page_of_nothing_and_of_a_trial(measured, tmp_path):
    page.write(tmp_path / "none", plan.plan(chosen()), small=False, target=tmp_path / "none.md")
    assert "Nothing was measured yet." in (tmp_path / "none.md").read_text()
    page.write(measured, plan.plan(chosen(sizes="small")), small=True, target=tmp_path / "small.md")
    text = (tmp_path / "small.md").read_text()
    assert "no figure here says anything" in text
    assert "A device" not in text


def test_goals_are_shares_of_what_the_device_allows():
    limits, results = {"float64": 50e12}, {"cupy": 256 / 0.1, "rows": 256, "numba": 500.0}
    rls, orfit, implicit = (goal.reached(results, limits) for goal in GOALS)
    assert rls == pytest.approx(3 * 4096**2 * 2560 / 50e12)
    assert orfit == pytest.approx((2 * 307**2 + 2 * 51 * 307) * 1e7 / 0.1 / 50e12)
    assert implicit == 2560 / 500
    assert {goal.case for goal in GOALS} <= {*cases.by_name()}
    assert all(goal.d in cases.by_name()[goal.case].widths for goal in GOALS)


@pytest.mark.parametrize(
    ("rates", "crossing"),
    [([(1, 2), (1, 2)], "10"), ([(2, 1), (1, 2)], "100"), ([(1, 2), (2, 1)], "none measured"), ([], "none measured")],
)
def test_a_crossing_holds_for_all_larger_sizes(rates, crossing):
    assert tables.crossing([(d, cupy, numba) for d, (numba, cupy) in zip((10, 100), rates, strict=False)]) == crossing


def test_page_keeps_what_is_around():
    text = page.PAGE.read_text()
    once = pages.filled(text, "numbers\n")
    assert pages.filled(once, "numbers\n") == once
    assert once.startswith(text.partition(pages.BEGIN)[0])
    assert once.count("numbers\n") == 1
