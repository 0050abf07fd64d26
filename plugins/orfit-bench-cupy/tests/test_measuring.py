"""What is measured on a device, on tiny sizes in its place."""

from itertools import groupby
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import gpu, pages
from orfit_bench import backends, create
from orfit_bench.bench.measuring import transferred
from orfit_bench.spec import Backend, Data
from orfit_bench.tracking.workloads import Missing, Workload
from orfit_bench.tracking.workloads import device as clock
from orfit_bench_cupy import METHODS

CASES = [case._replace(widths=(20,), rows=4) for case in gpu.CASES]
HERE = gpu.Machine(1e9, {"float64": 1e9}, 10**9, 10**9)


@pytest.fixture(autouse=True)
def one_turn(monkeypatch):
    monkeypatch.setattr(gpu, "TURNS", 1)


def test_the_way_of_rows_to_the_device_is_timed_apart(in_place):
    rows = Data(np.ones((40, 3)), np.array(["no", "yes"] * 20))
    assert transferred(lambda: create("class_rls", backend=in_place), rows) > 0
    assert transferred(lambda: create("class_rls", backend="numpy"), rows) is None


def test_every_method_that_computes_is_measured():
    assert {case.method for case in gpu.CASES} == {*METHODS} - {"greedy"}


@pytest.mark.filterwarnings("ignore::orfit_bench.AccuracyWarning")
def test_tables(in_place):
    cases = [case._replace(settings=small(case)) for case in CASES]
    goals = [(case._replace(widths=(60,), rows=4), *goal) for case, *goal in gpu.GOALS]
    page = "".join(gpu.tables(in_place, cases, goals, HERE))
    tables = [list(lines) for is_table, lines in groupby(page.splitlines(), lambda line: line[:1] == "|") if is_table]
    assert "n/a" not in page
    assert [len(table) - 2 for table in tables] == [len(CASES), len(CASES), 3]
    assert [{line.count("|") for line in table} for table in tables] == [{10}, {4}, {5}]


def small(case):
    """Its settings, which leave room for 20 features."""
    given = case.settings(20)
    return lambda d: {k: min(v, 10) if k in ("memory", "n_components", "rank") else v for k, v in given.items()}


def test_what_does_not_fit_is_not_measured(in_place):
    large = [case._replace(widths=(10**7,)) for case in gpu.CASES if case.method == "orfit"]
    page = "".join(gpu.tables(in_place, large, gpu.GOALS[1:2], HERE))
    assert "| orfit | 10,000,000 | float64 | n/a (needs 9 GB, has 0 GB) | n/a | n/a | n/a | n/a | n/a |" in page
    assert "| orfit, d = 10,000,000, of the bandwidth | n/a (needs 9 GB, has 0 GB) | n/a | 0.6 |" in page


def test_limits_are_measured(in_place):
    here = gpu.limits(backends()[in_place], free=7, size=16)
    assert here.bandwidth > 0
    assert all(rate > 0 for rate in here.product.values())
    assert here.free == 7


def found(d, numba, cupy):
    return gpu.Found(gpu.CASES[0], d, "float64", 256, numba, cupy, 1.0)


@pytest.mark.parametrize(
    ("rates", "said"),
    [([(1, 2), (1, 2)], "10"), ([(2, 1), (1, 2)], "100"), ([(1, 2), (2, 1)], "none measured"), ([], "none measured")],
)
def test_a_crossing_holds_for_all_larger_sizes(rates, said):
    assert gpu.crossing([found(d, *rate) for d, rate in zip((10, 100), rates, strict=False)]) == said


def test_page_keeps_what_is_around():
    page = gpu.PAGE.read_text()
    once = pages.filled(page, "numbers\n")
    assert pages.filled(once, "numbers\n") == once
    assert once.startswith(page.partition(pages.BEGIN)[0])
    assert once.count("numbers\n") == 1


def test_without_a_device_it_says_why(monkeypatch, in_place):
    monkeypatch.setattr(gpu, "backends", lambda: {"cupy": type("B", (), {"reason": "no CUDA device"})})
    with pytest.raises(SystemExit, match="no CUDA device"):
        gpu.main()


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
    work = Workload("orfit", in_place, 20)
    with pytest.raises(Missing, match="no device of its own"):
        work.device_seconds_per_sample()
