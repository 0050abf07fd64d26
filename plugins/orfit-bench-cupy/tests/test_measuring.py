"""What is measured on a device, on tiny sizes in its place."""

import pytest

from benchmarks import gpu, pages
from orfit_bench import backends


@pytest.mark.filterwarnings("ignore::orfit_bench.AccuracyWarning")
def test_table(in_place):
    limit = gpu.rates(backends()[in_place], size=16)
    lines = list(gpu.table(in_place, dict.fromkeys(gpu.WIDTHS, (30,)), limit))
    assert len(lines) == 2 * len(gpu.WIDTHS)
    assert all(line.count("|") == 9 for line in (*lines, *gpu.HEAD.splitlines()))


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
