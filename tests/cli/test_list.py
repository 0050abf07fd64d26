"""The command `orfit-bench list`."""

import re

import pytest
from helpers.commands import invoke, words

import orfit_bench as ob
from orfit_bench.cli.suite_options import parse_setting


class TestList:
    def test_overview_names_everything(self):
        result = invoke("list")
        assert result.exit_code == 0
        for name in (*ob.methods(), *ob.backends(), *ob.streams(), *ob.metrics(), "catalogue"):
            assert f" {name} " in result.output
        assert max(map(len, result.output.splitlines())) <= 100

    @pytest.mark.parametrize(("name", "stated"), [("rls", "exact"), ("lms", "averaged"), ("ogd", "approximate")])
    def test_how_learners_merge(self, name, stated):
        (row,) = (line.split() for line in invoke("list").output.splitlines() if line.startswith(f" {name} "))
        of_backends = row[1 : 1 + len(ob.backends())]
        assert (row[0], set(of_backends) - {"no"}, row[1 + len(of_backends)]) == (name, {"yes"}, stated)
        summary = ob.methods()[name].combine.merge.summary
        assert f"merge: {stated}: {summary}" in " ".join(invoke("list", name).output.split())

    def test_a_method(self):
        output = invoke("list", "rls").output
        rls = ob.methods()["rls"]
        for text in (
            rls.summary[:60],
            "P <- (P - P x x'P / s) / ff",
            "forgetting_factor",
            "[0, inf)",
            "parameter x parameter",
        ):
            assert text in output
        for law in rls.theory.laws:
            assert law.name in output
        words = " ".join(output.split())
        assert f"use when: {rls.use_when} avoid when: {rls.avoid_when}" in words
        assert "cost per sample: 30,000 flops" in output
        assert "learns rows with weights; learns complex rows; predicts standard deviations" in words
        assert "numpy: yes, supplied by orfit-bench-numpy" in output
        assert "lacks" not in output

    def test_what_a_kernel_lacks(self):
        words = " ".join(invoke("list", "owm").output.split())
        assert re.search(r"numpy: yes, supplied by orfit-bench-numpy [\d.]+; lacks fleets: its kernel has no", words)

    @pytest.mark.parametrize(
        ("name", "stated"),
        [
            ("drift", "root mean square length of one step"),
            ("numpy", "available"),
            ("forgetting", "lower is better"),
            ("deviation", "compare ignores: changes by a factor of up to 10 and changes between values up to 1e-12"),
            ("throughput", "compare ignores: any change"),
        ],
    )
    def test_other_names(self, name, stated):
        assert stated in invoke("list", name).output

    def test_streams_are_listed_with_reasons_for_absence(self, tmp_path, monkeypatch):
        monkeypatch.setenv("ORFIT_BENCH_DATA", str(tmp_path))
        text = invoke("list").output
        lines = [line.split() for line in text.partition("\nStreams\n")[2].partition("\nMetrics\n")[0].splitlines()]
        stated = {line[0]: line[1:3] for line in lines if len(line) > 2}
        assert stated["class_digits"] == ["labels", "yes"]
        assert stated["drift"] == ["numbers", "yes"]
        assert stated["mnist"] == ["numbers", "no"]
        reason = f"not available: mnist, rotated_mnist: the folder in ORFIT_BENCH_DATA, {tmp_path}"
        assert reason in " ".join(text.split())
        assert "targets: labels, for methods of kind classification, subspace" in invoke("list", "class_digits").output
        assert "kind: regression; suitable streams: delay_line, digits, drift," in invoke("list", "lms").output

    @pytest.mark.parametrize("name", [*ob.methods(), *ob.backends(), *ob.streams(), *ob.metrics()])
    def test_every_name_has_details(self, name):
        result = invoke("list", name)
        assert result.exit_code == 0
        assert "supplied by" in result.output

    @pytest.mark.parametrize("name", ["lms", "nlms", "apa", "sgd"])
    def test_schedules_are_shown_as_set_takes_them(self, name):
        lines = [line.strip() for line in invoke("list", name).output.splitlines() if line.startswith("  --set")]
        assert len(lines) == len(ob.schedules.MAKERS)
        for line in lines:
            method, setting, value = parse_setting(words(line)[1])
            assert (method, setting) == (name, "step_size")
            assert isinstance(ob.schedules.from_config(value), ob.schedules.Schedule)

    def test_no_line_ends_in_blanks(self):
        lines = invoke("list", "rls").output.splitlines()
        assert [line.rstrip() for line in lines] == lines

    def test_a_plugin(self):
        lines = invoke("list", "orfit-bench-papers").output.splitlines()
        assert lines[0] == "plugin papers: ok"
        assert lines[-1].startswith("supplied by: orfit-bench-papers ")

    def test_unknown_name(self):
        result = invoke("list", "orift")
        assert result.exit_code == 2
        assert result.stderr.startswith(
            "Error: no method, backend, stream, metric, experiment or plugin 'orift'. Did you mean 'orfit'?"
        )
        assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "command",
    [["list"], *(["list", name] for name in ob.methods()), ["laws", "greedy"], ["reproduce"], ["conform", "--list"]],
    ids="-".join,
)
def test_lines_fit_80_columns_without_broken_words(command, monkeypatch):
    """Columns may be left out; --wide shows them."""
    monkeypatch.setenv("COLUMNS", "10000")
    known = set(invoke(*command).output.split())
    monkeypatch.setenv("COLUMNS", "80")
    lines = [line for line in invoke(*command).output.splitlines() if not line.startswith("not shown for lack")]
    assert max(map(len, lines)) <= 80
    rules = {word for line in lines for word in line.split() if set(word) == {"─"}}
    assert {word for line in lines for word in line.split()} - known - rules - {"(--wide", "shows", "columns)"} == set()


@pytest.mark.parametrize("command", ["conform", "gate", "list", "mutants", "new-plugin", "reproduce", "report", "run"])
def test_help_fits_80_columns(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, invoke(command, "--help").output.splitlines())) <= 80
