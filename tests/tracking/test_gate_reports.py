"""Reports and usage errors of the gate."""

import json
import math

from click.testing import CliRunner
from helpers.gate import KEY, commit

from orfit_bench.cli import main
from orfit_bench.cli.output import show
from orfit_bench.report.gate import as_json, as_markdown, findings_table, notes, summary
from orfit_bench.tracking import environment
from orfit_bench.tracking.commit_process import MeasureError, MissingError
from orfit_bench.tracking.comparison import Comparison, classify


class TestReport:
    FOUND = (
        Comparison("seconds_per_sample", *KEY, 1e-6, 2e-6, "worse"),
        Comparison("frozen_deviation", "lms", "numpy", 64, 0.0, 1e-6, "worse"),
        Comparison("peak_bytes", "gp", "numpy", 64, 5000.0, math.nan, "broken", "ValueError: no"),
        Comparison("peak_bytes", "lms", "numpy", 64, 5000.0, 5000.0, "same"),
    )

    def test_markdown_contains_only_changes(self):
        text = as_markdown(self.FOUND, "a", "b")
        assert "| rls | numba | 64 | seconds_per_sample | 1e-06 s | 2e-06 s | +100% worse |" in text
        assert "| lms | numpy | 64 | frozen_deviation | 0.0e+00 | 1.0e-06 | worse |" in text
        assert "broken: gp on numpy, peak_bytes: ValueError: no" in text
        assert text.count("\n| ") == 5
        assert summary(self.FOUND) == "4 values: 2 worse, 1 broken, 1 same"
        assert notes(self.FOUND[:2]) == []

    def test_markdown_without_changes_is_always_the_same(self):
        texts = {as_markdown([self.FOUND[3]] * n, "a" * n, "b") for n in (1, 3)}
        assert texts == {"No change in speed, memory or accuracy.\n"}

    def test_markdown_claims_nothing_of_what_was_not_measured(self):
        lacking = classify("peak_bytes", KEY, [MissingError("memray is not installed")] * 2, {})
        text = as_markdown([lacking], "abc", "def")
        assert text == "No change in what was measured.\n\n- peak_bytes was not measured: memray is not installed\n"

    def test_markdown_names_the_first_bad_commit(self):
        assert "- first bad commit: 12ab" in as_markdown(self.FOUND, "a", "b", "first bad commit: 12ab")

    def test_table_fits_80_columns_without_breaking_words(self, monkeypatch, capsys):
        monkeypatch.setenv("COLUMNS", "80")
        slow = Comparison("kernel_seconds_per_sample", "incremental_pca", "numba", 64, 7.0e-6, 2.7e-5, "worse")
        show(findings_table([slow]))
        shown = capsys.readouterr().out
        assert max(map(len, shown.splitlines())) <= 80
        assert {"incremental_pca", "kernel_seconds_per_sample", "2.7e-05", "+286%", "worse"} <= set(shown.split())

    def test_quantities_without_values_are_reported(self):
        missing = [classify("peak_bytes", KEY, (MissingError("no memray"),) * 2, {}) for _ in range(2)]
        same = classify("state_bytes", KEY, (1.0, 1.0), {})
        failing = classify("state_bytes", KEY, (MeasureError("died"),) * 2, {})
        found = [*missing, same, failing]
        assert notes(found) == [
            "peak_bytes was not measured: no memray", "failing: rls on numba, state_bytes: died"
        ]  # fmt: skip
        assert summary(found) == "4 values: 1 failing, 1 same, 2 n/a"
        assert "| rls | numba | 64 | state_bytes | n/a | n/a | failing |" in as_markdown(found, "a", "b")
        assert not any(f.is_regression for f in found)

    def test_a_reason_that_several_metrics_share_is_noted_once(self):
        found = [classify(name, KEY, (1.0, MeasureError("died")), {}) for name in ("state_bytes", "peak_bytes")]
        assert notes(found) == ["broken: rls on numba, 2 metrics: died"]
        assert summary(found[:1]) == "1 value: 1 broken"

    def test_json_holds_all(self):
        findings = json.loads(as_json(self.FOUND, "a", "b"))["findings"]
        assert len(findings) == 4
        assert findings[2]["head"] is None


class TestMistakes:
    def stated(self, *arguments):
        result = CliRunner().invoke(main, ["gate", *arguments])
        assert result.exit_code == 2, result.output
        return result.output

    def test_no_repository(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert "not in a git repository" in self.stated("main")

    def test_no_such_commit(self, repository, monkeypatch):
        monkeypatch.chdir(repository)
        assert "no commit 'nowhere'" in self.stated("nowhere")

    def test_no_distribution(self, repository, monkeypatch):
        monkeypatch.chdir(repository)
        assert "contains no pyproject.toml in its root, plugins/*, packages/*" in self.stated("main")

    def test_a_distribution_that_cannot_be_built(self, repository, monkeypatch):
        (repository / "pyproject.toml").write_text("[build-system]\nrequires = []\nbuild-backend = 'nothing_here'\n")
        commit(repository, "broken")
        monkeypatch.chdir(repository)
        assert "the root of" in self.stated("main")
        assert not [p for p in (repository / environment.FOLDER).iterdir() if p.name != ".gitignore"]

    def test_one_file_for_two_outputs(self, repository, monkeypatch):
        monkeypatch.chdir(repository)
        assert "two of them name the same file" in self.stated("main", "--json", "gate.x", "--markdown", "./gate.x")
