"""What is measured on a device, on tiny sizes in its place, and the page of it."""

import argparse
import os
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import pages
from benchmarks.gpu import __main__ as command
from benchmarks.gpu import cases, checking, costs, looking, measuring, options, page, plan, profiling, tables, warming
from benchmarks.gpu.goals import GOALS
from benchmarks.gpu.units import DONE, FAILED, Journal
from benchmarks.performance import moving
from orfit_bench import create
from orfit_bench.bench.measuring import transferred
from orfit_bench.spec import Backend, Data
from orfit_bench.tracking.workloads import Missing, Workload
from orfit_bench.tracking.workloads import device as clock
from orfit_bench_cupy import METHODS

ROOT = Path(options.__file__).resolve().parents[2]
STANDIN = Path(__file__).resolve().parent / "standin"


@pytest.fixture
def told(monkeypatch):
    """What was told; of one turn each."""
    monkeypatch.setattr(measuring, "TURNS", 1)
    return {}


def chosen(**more):
    """Options as `python3 dev.py gpu` has them."""
    return argparse.Namespace(**{**vars(options.parsed([])), **more})


def test_the_way_of_rows_to_the_device_is_timed_apart(in_place):
    rows = Data(np.ones((40, 3)), np.array(["no", "yes"] * 20))
    assert transferred(lambda: create("class_rls", backend=in_place), rows) > 0
    assert transferred(lambda: create("class_rls", backend="numpy"), rows) is None


def test_every_method_that_computes_is_measured():
    assert {case.method for case in cases.CASES} == {*METHODS} - {"greedy"}


@pytest.mark.filterwarnings("ignore::orfit_bench.AccuracyWarning")
@pytest.mark.parametrize("case", cases.by_name())
def test_a_size(in_place, told, case):
    measuring.measure(told_by(told), in_place, case, 20, "float32", small=True)
    assert {*told} == {"rows", "cupy", "copying", "numba", "numba_rows"}
    assert all(value > 0 for value in told.values())


def told_by(told):
    """The function that units tell by."""
    return lambda **more: told.update(more)


def test_few_rows_are_asked_of_numba_where_one_takes_long(in_place, told, monkeypatch):
    monkeypatch.setattr(measuring, "SECONDS", 0.0)
    measuring.measure(told_by(told), in_place, "lms", 20, "float64", small=False)
    assert (told["rows"], told["numba_rows"]) == (256, measuring.FEW)


def test_what_does_not_fit_is_not_measured(in_place, told, monkeypatch):
    monkeypatch.setattr(measuring, "free", lambda device: 10**9)
    measuring.measure(told_by(told), in_place, "orfit", 10**7, "float64", small=False)
    assert told == {"why": "needs 9 GB, has 1 GB"}


def test_no_memory_is_a_result(in_place, told, monkeypatch):
    def full(*_):
        raise MemoryError

    monkeypatch.setattr(measuring, "on_device", full)
    measuring.measure(told_by(told), in_place, "lms", 20, "float64", small=True)
    assert told == {"why": "out of memory"}


def test_rows_of_all_turns_are_independent():
    case = cases.by_name()["icl"]
    X = cases.data(case, 500, 40, "float64")[0]
    rows = np.concatenate([X, *(measuring.turned(X, turn) for turn in range(1, 5))])
    assert np.linalg.cond(rows) < 10


def test_limits_are_measured(in_place, told):
    measuring.limits(told_by(told), in_place, small=True)
    assert {*told} == {"bandwidth", "float64", "float32", "free"}
    assert all(value > 0 for value in told.values())


@pytest.mark.parametrize("fact", sorted({*looking.FACTS} - {"libraries", "whether it can compute"}))
def test_a_fact(in_place, told, fact):
    looking.look(told_by(told), in_place, fact)
    assert told or fact == "variables"


@pytest.mark.parametrize("work", costs.WORK)
def test_a_cost(in_place, told, work):
    costs.cost(told_by(told), in_place, work, small=True)
    assert all(value > 0 for value in told.values())


@pytest.mark.parametrize("name", costs.METHODS)
def test_a_rate(in_place, told, name):
    costs.rate(told_by(told), in_place, name, small=True)
    assert len(told) == 6


@pytest.mark.parametrize("method", METHODS)
def test_a_few_rows_of_every_method(in_place, told, method):
    warming.warm(told_by(told), in_place, method, "float32", small=True)
    assert told["rows"] == 40


def test_a_profile(in_place, told):
    profiling.profile(told_by(told), in_place, "rls", 20, small=True)
    assert len(told["top"]) == profiling.LINES
    assert told["ms"] > 0


def test_the_kit_is_counted(told, monkeypatch):
    monkeypatch.setattr(checking, "FEW", ("any_chunking",))
    checking.check(told_by(told), "numpy", "greedy", "float64", seed=0, workers=1, small=True)
    assert (told["counts"]["passed"], told["problems"]) == (1, [])


def test_a_kit_that_is_not_passed_is_no_success(told, monkeypatch):
    monkeypatch.setattr(checking, "conform_isolated", lambda *_, progress, **more: refused(progress))
    with pytest.raises(AssertionError, match="1 checks failed; nothing ran"):
        checking.check(told_by(told), "numpy", "greedy", "float64", seed=0, workers=1, small=True)
    assert told["failed any_chunking"] == "off"


def refused(progress):
    """A report of one check that failed."""
    progress(1, 1, SimpleNamespace(check="any_chunking", status=FAILED, reason="off"))
    return SimpleNamespace(records=[], counts={FAILED: 1}, problems=["nothing ran"], passed=False)


def test_units_have_names_of_their_own_and_functions_that_are_there():
    for options_of in (chosen(), chosen(sizes="small")):
        for part in plan.plan(options_of):
            assert len({unit.name for unit in part.units}) == len(part.units)
            for unit in part.units:
                module, _, function = unit.call.partition(":")
                code = getattr(sys.modules[module], function).__code__
                assert {*code.co_varnames[1 : code.co_argcount]} == {*unit.arguments, *unit.how}


def test_units_are_chosen_by_method_and_case():
    few = {part.name: part.units for part in plan.plan(chosen(methods=["kalman"], cases=["transition"]))}
    assert [unit.name for unit in few["check-float32"]] == ["kalman"]
    assert [*{unit.case for unit in few["tables"]}] == ["", "kalman, transition"] or len(few["tables"]) == 9
    assert few["tables"][0].name == "limits"
    assert few["profile"] == []
    assert len(few["look"]) > len(looking.FACTS)


def test_the_most_important_sizes_come_first_and_the_large_ones_last():
    sizes = [(case.name, d, dtype) for case, d, dtype in cases.sizes(cases.CASES)]
    assert sizes[:2] == [("rls", 1_000, "float64"), ("rls", 4_096, "float64")]
    assert len(sizes) == len({*sizes}) == 2 * sum(len(case.widths) for case in cases.CASES)
    assert {d >= cases.LARGE for _, d, _ in sizes[-20:]} == {True}


@pytest.fixture
def measured(tmp_path):
    """A folder with results of some units, one of which failed half-way and one of which was never ended."""

    def write(part, unit, told, status=DONE, **more):
        journal = Journal(tmp_path / f"{part}.jsonl")
        device = {"device": "A device", "cupy": "14"}
        journal.write(where={"device": device, "versions": {"numpy": "2"}, "cpu": "A host"})
        journal.write(unit=unit, arguments={"small": False, **more}, date="2026-05-04T03:02:01+00:00")
        journal.write(unit=unit, told=told)
        if status:
            journal.write(unit=unit, status=status, why="" if status == DONE else "it hangs")

    write("tables", "limits", {"bandwidth": 1e12, "float64": 5e13, "float32": 1e14, "free": 1})
    sizes = ((1_000, (4e4, 1e4), DONE), (500, (1e4, 2e4), DONE), (4_096, (3e4,), FAILED), (10**4, (), ""))
    for d, rates, status in sizes:
        rate = dict(zip(("cupy", "numba"), rates, strict=False)) | ({"rows": 256, "numba_rows": 8} if rates else {})
        write("tables", f"rls, d = {d:,}, float64", rate, status, case="rls", d=d, dtype="float64")
    large = {"why": "out of memory"}
    write("tables", "orfit, d = 10,000,000, float64", large, case="orfit", d=10**7, dtype="float64")
    write("check-float64", "rls", {"failed one_row": "off by 1", "counts": {"passed": 7, "failed": 1}}, FAILED, seed=3)
    write("check-float64", "lms", {}, FAILED, seed=3)
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
    assert "- check-float64: of 19, 17 not done, 2 failed\n" in text
    assert "The kit in float64, of 1 methods, seed 3: 7 passed, 1 failed." in text
    assert "- one_row of rls: off by 1\n- lms: it hangs\n" in text
    assert "| rls | 500 | float64 | 256 | 20,000 (of 8 rows) | 10,000 | 0.5 | n/a | 0.1% |" in text
    assert "| rls | 4,096 | float64 | 256 | n/a (it hangs) | 30,000 | n/a | n/a | 12.6% |" in text
    assert "| rls | 10,000 | float64 | n/a (not finished) |" in text
    assert "| orfit | 10,000,000 | float64 | n/a (out of memory) | n/a |" in text
    assert "| rls | 1,000 | none measured |" in text
    assert "| rls, d = 4,096, of the rate of matrix products | 256 | 0.03 | 0.05 |" in text
    assert "| orfit, d = 10,000,000, of the rate of matrix products | n/a | n/a (out of memory) | 0.3 |" in text
    assert "| `f` | 1 | 1 | 2 |" in text
    page.write(measured, plan.plan(chosen()), small=False, target=target)
    assert target.read_text() == text
    lines = [list(table) for is_table, table in groupby(text.splitlines(), lambda line: line[:1] == "|") if is_table]
    assert all(len({line.count("|") for line in table}) == 1 for table in lines)


def test_the_page_of_nothing_and_of_a_trial(measured, tmp_path):
    page.write(tmp_path / "none", plan.plan(chosen()), small=False, target=tmp_path / "none.md")
    assert "Nothing was measured yet." in (tmp_path / "none.md").read_text()
    page.write(measured, plan.plan(chosen(sizes="small")), small=True, target=tmp_path / "small.md")
    text = (tmp_path / "small.md").read_text()
    assert "no figure here says anything" in text
    assert "A device" not in text


def test_goals_are_shares_of_what_the_device_allows():
    limits, told = {"float64": 50e12}, {"cupy": 256 / 0.1, "rows": 256, "numba": 500.0}
    rls, orfit, implicit = (goal.reached(told, limits) for goal in GOALS)
    assert rls == pytest.approx(3 * 4096**2 * 2560 / 50e12)
    assert orfit == pytest.approx((2 * 307**2 + 2 * 51 * 307) * 1e7 / 0.1 / 50e12)
    assert implicit == 2560 / 500
    assert {goal.case for goal in GOALS} <= {*cases.by_name()}
    assert all(goal.d in cases.by_name()[goal.case].widths for goal in GOALS)


@pytest.mark.parametrize(
    ("rates", "said"),
    [([(1, 2), (1, 2)], "10"), ([(2, 1), (1, 2)], "100"), ([(1, 2), (2, 1)], "none measured"), ([], "none measured")],
)
def test_a_crossing_holds_for_all_larger_sizes(rates, said):
    assert tables.crossing([(d, cupy, numba) for d, (numba, cupy) in zip((10, 100), rates, strict=False)]) == said


def test_page_keeps_what_is_around():
    text = page.PAGE.read_text()
    once = pages.filled(text, "numbers\n")
    assert pages.filled(once, "numbers\n") == once
    assert once.startswith(text.partition(pages.BEGIN)[0])
    assert once.count("numbers\n") == 1


def test_without_a_device_it_says_why(monkeypatch):
    monkeypatch.setattr(command, "Worker", lambda: Silent())
    with pytest.raises(SystemExit, match="cupy: no CUDA device"):
        command.machine("cupy", 1.0)


class Silent:
    """A process that finds no device."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def do(self, unit, seconds, keep):
        keep({"reason": "no CUDA device"})
        return DONE, ""


@pytest.mark.slow
def test_all_parts_in_place_of_a_device(tmp_path):
    environment = os.environ | {"PYTHONPATH": str(STANDIN)}
    asked = ["--sizes", "small", "--methods", "rls", "--cases", "rls", "--minutes", "5", "--output", str(tmp_path)]
    call = [sys.executable, str(ROOT / "dev.py"), "gpu", *asked]
    done = subprocess.run(call, env=environment, capture_output=True, text=True, check=False)
    found = {path.stem: Journal(path).found() for path in tmp_path.glob("*.jsonl")}
    assert {*found} == {*options.PARTS} - {"page"}, done.stdout + done.stderr
    assert found["look"].pop("libraries").status == FAILED  # the stand-in has none
    assert [(name, one.why) for of in found.values() for name, one in of.items() if one.status != DONE] == []
    text = (tmp_path / "gpu.md").read_text()
    assert "no figure here says anything" in text
    assert "The kit in float32, of 1 methods, seed 0: 3 passed" in text
    measured = (tmp_path / "tables.jsonl").read_text()
    subprocess.run(call, env=environment, capture_output=True, check=False)
    assert (tmp_path / "tables.jsonl").read_text() == measured


def test_what_moves_is_measured_with_the_same_settings():
    assert cases.by_name()["kalman, transition"].settings is moving


class Event:
    """One of CUDA's, in a world where time goes by 250 ms from one to the next."""

    now = 0

    def record(self):
        Event.now += 250
        self.at = Event.now

    def synchronize(self):
        pass


def test_device_clock():
    used = []
    cuda = SimpleNamespace(Event=Event, get_elapsed_time=lambda a, b: b.at - a.at)
    device = Backend("d", "", namespace=lambda: SimpleNamespace(cuda=cuda), memory=lambda: 1000 * len(used))
    assert clock.seconds(device, lambda: used.append(1)) == 0.25
    assert len(used) == 2
    assert clock.peak_bytes(device, lambda: used.append(1)) == 3000
    for measure in (clock.seconds, clock.peak_bytes):
        with pytest.raises(Missing, match="cpu has no device of its own"):
            measure(Backend("cpu", "", lambda: np), used.clear)
    assert len(used) == 3


def test_without_a_device_a_chunk_has_no_time_of_one(in_place):
    assert Workload("orfit", in_place, 20).device_seconds_per_sample() > 0
    work = Workload("orfit", "numpy", 20)
    with pytest.raises(Missing, match="no device of its own"):
        work.device_seconds_per_sample()
