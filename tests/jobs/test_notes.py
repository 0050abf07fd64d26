"""Notes are lines that files and terminals accept, whatever an exception contains."""

from types import SimpleNamespace

import pytest
from helpers.suites import hook

import orfit_bench as ob
from orfit_bench.bench import Suite, load, run
from orfit_bench.bench.cell import Cell
from orfit_bench.bench.executors import record_of
from orfit_bench.conformance.causes import describe
from orfit_bench.jobs.notes import describe_error
from orfit_bench.jobs.sessions import Answer
from orfit_bench.spec import Stream

HOSTILE = "\x1b[31mred\0 \x9b2J half \udc80"


class SilentError(Exception):
    def __str__(self):
        raise RuntimeError("no text")


@pytest.mark.parametrize("describe", [describe_error, describe])
def test_control_characters_are_marked(describe):
    assert describe(ValueError(HOSTILE)) == "ValueError: \ufffd[31mred\ufffd \ufffd2J half \ufffd"
    assert describe(ValueError("a\tb\n c")) == "ValueError: a b c"


@pytest.mark.parametrize("describe", [describe_error, describe])
def test_an_error_without_a_text_is_named(describe):
    assert describe(SilentError()) == "SilentError: its text cannot be read, since __str__ raised RuntimeError"


def test_results_are_written_whatever_an_error_contains(tmp_path):
    def raises():
        raise ValueError(HOSTILE)

    streams = [Stream("raises", "", raises), Stream("absent", "", raises, probe=lambda: HOSTILE)]
    ob.register(SimpleNamespace(SPEC_VERSION=(1, 0), streams=ob.hookimpl(hook("streams", streams))), "hostile")
    try:
        suite = Suite(["lms"], ["numpy"], ["raises", "absent", "drift"])
        run(suite, output=tmp_path / "r.nc", isolate=False, progress=None)
    finally:
        ob.unregister("hostile")
    marked = "\ufffd[31mred\ufffd \ufffd2J half \ufffd"
    results = load(tmp_path / "r.nc")
    assert results["status"].values.tolist() == ["failed", "absent", "ok"]
    assert results["reason"].values.tolist() == [f"ValueError: {marked}", marked, ""]


def test_what_a_kernel_printed_before_it_ended_is_marked():
    record = record_of(Cell("lms", "numpy", "drift"), Answer(TimeoutError("stopped"), "one\ntwo\0\x1b[2J\n"))
    assert record["reason"] == "stopped; it printed at the end: one / two\ufffd\ufffd[2J"
