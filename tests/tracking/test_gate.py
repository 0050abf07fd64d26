"""The gate: what counts as worse, measuring in turns, environments of commits, a plugin's repository end to end."""

import json
import math
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from benchmarks.gate_trials import change, git
from orfit_bench.cli import main
from orfit_bench.report.gate import as_json, as_markdown, notes, summary
from orfit_bench.tracking import commit_process, environment, gate
from orfit_bench.tracking.commit_process import MeasureError, MissingError
from orfit_bench.tracking.comparison import Comparison, classify
from orfit_bench.tracking.interleaving import interleaved
from orfit_bench.tracking.quantities import QUANTITIES, tolerances

KEY = ("rls", "numba", 64)


def verdict(metric, base, head, **tolerated):
    return classify(metric, KEY, (base, head), tolerated).verdict


class TestVerdict:
    @pytest.mark.parametrize(
        ("metric", "base", "head", "want"),
        [
            ("seconds_per_sample", 1e-6, 1.29e-6, "same"),
            ("seconds_per_sample", 1e-6, 1.31e-6, "worse"),
            ("seconds_per_sample", 1.31e-6, 1e-6, "better"),
            ("peak_bytes", 1000.0, 1099.0, "same"),
            ("peak_bytes", 1000.0, 1300.0, "worse"),
            ("state_bytes", 1000.0, 1008.0, "same"),
            ("state_bytes", 1000.0, 1016.0, "worse"),
            ("frozen_deviation", 0.0, 9e-13, "same"),
            ("frozen_deviation", 0.0, 1e-6, "worse"),
            ("frozen_deviation", 1e-6, 0.0, "better"),
            ("frozen_deviation", 1e-6, 5e-6, "same"),
            ("batch_deviation", 3e-15, 2e-6, "worse"),
        ],
    )
    def test_from_where_on_a_number_is_worse(self, metric, base, head, want):
        assert verdict(metric, base, head) == want

    def test_tolerances_take_the_place_of_the_declared(self):
        assert verdict("latency", 1.0, 1.8, latency=0.9) == "same"
        assert verdict("latency", 1.0, 1.1, latency=0.05) == "worse"

    def test_what_is_not_there(self):
        gone, broken = MissingError("not here"), MeasureError("died")
        assert verdict("peak_bytes", 1.0, gone) == "gone"
        assert verdict("peak_bytes", 1.0, broken) == "broken"
        assert verdict("peak_bytes", gone, 1.0) == "new"
        assert verdict("peak_bytes", gone, gone) == "n/a"
        assert verdict("peak_bytes", broken, broken) == verdict("peak_bytes", broken, gone) == "failing"
        assert classify("peak_bytes", KEY, (1.0, broken), {}).is_regression

    @pytest.mark.parametrize("text", ["nonsense=0.1", "peak_bytes", "peak_bytes=much", "peak_bytes=-1"])
    def test_wrong_tolerances(self, text):
        with pytest.raises(ValueError, match="--tolerate"):
            tolerances([text])

    def test_more_is_worse_throughout(self):
        assert all(verdict(name, 1.0, 100.0) == "worse" for name in QUANTITIES)


class Machine:
    """A clock whose machine is slow in some of its turns, as others' work makes it."""

    def __init__(self, seconds, slowness):
        self.seconds, self.slowness = seconds, iter(slowness)

    def __call__(self):
        slow = next(self.slowness)
        return self.seconds * slow, 0.001 * slow


class TestTurns:
    def test_the_least_of_all_turns_counts(self):
        base, head = Machine(1.0, [3, 1, 2]), Machine(2.0, [1, 1, 3])
        assert interleaved([base, head], 3) == pytest.approx([1.0, 2.0])

    def test_a_machine_that_slows_down_for_one_of_them_is_set_right(self):
        assert interleaved([Machine(1.0, [1, 1, 1]), Machine(1.0, [2, 2, 2])], 3) == pytest.approx([1.0, 1.0])

    def test_they_take_turns_in_changing_order(self):
        seen = []
        clocks = [lambda i=i: (seen.append(i), (1.0, 1.0))[1] for i in range(2)]
        interleaved(clocks, 3)
        assert seen == [0, 1, 1, 0, 0, 1]

    def test_a_side_that_breaks_does_not_take_the_other_down(self):
        def broken():
            raise MeasureError("died")

        first, second = interleaved([broken, Machine(1.0, [1, 1])], 2)
        assert str(first) == "died"
        assert second == pytest.approx(1.0)


class TestOnceMore:
    """Times that look changed are measured again, and the look that saw least counts."""

    def looked(self, monkeypatch, first, looks):
        left = iter(looks)

        def compare_times(self, sides, jobs, rounds):
            for metric, key in jobs:
                yield self._classify(metric, key, (1.0, next(left)))

        monkeypatch.setattr(gate.Gate, "_compare_times", compare_times)
        here = environment.Environment("0" * 40, (), Path("home"))
        found = classify("seconds_per_sample", KEY, (1.0, first), {})
        return gate.Gate(here, here)._retry([found])[0], list(left)

    def test_noise_is_forgotten(self, monkeypatch):
        found, left = self.looked(monkeypatch, 1.5, [1.4, 1.02, 9.9])
        assert (found.verdict, found.head) == ("same", 1.02)
        assert left == [9.9]

    def test_what_always_is_slower_is_worse(self, monkeypatch):
        found, left = self.looked(monkeypatch, 2.3, [2.0, 1.9, 2.1])
        assert (found.verdict, found.head, left) == ("worse", 1.9, [])

    def test_a_lucky_look_does_not_count_either(self, monkeypatch):
        assert self.looked(monkeypatch, 0.6, [1.01])[0].verdict == "same"

    def test_what_breaks_on_the_way_is_broken(self, monkeypatch):
        assert self.looked(monkeypatch, 2.0, [MeasureError("died")])[0].verdict == "broken"

    def test_a_look_at_which_the_older_commit_breaks_hides_nothing(self, monkeypatch):
        here = environment.Environment("0" * 40, (), Path("home"))
        look = classify("seconds_per_sample", KEY, (MeasureError("no answer"), 2.0), {})
        monkeypatch.setattr(gate.Gate, "_compare_times", lambda *_: iter([look]))
        found = classify("seconds_per_sample", KEY, (1.0, 2.0), {})
        assert gate.Gate(here, here)._retry([found]) == [found]

    def test_what_is_not_timed_is_not_measured_again(self, monkeypatch):
        here = environment.Environment("0" * 40, (), Path("home"))
        found = classify("peak_bytes", KEY, (1.0, 2.0), {})
        assert gate.Gate(here, here)._retry([found]) == [found]


class TestReport:
    FOUND = (
        Comparison("seconds_per_sample", *KEY, 1e-6, 2e-6, "worse"),
        Comparison("frozen_deviation", "lms", "numpy", 64, 0.0, 1e-6, "worse"),
        Comparison("peak_bytes", "gp", "numpy", 64, 5000.0, math.nan, "broken", "ValueError: no"),
        Comparison("peak_bytes", "lms", "numpy", 64, 5000.0, 5000.0, "same"),
    )

    def test_markdown_holds_what_changed_and_no_more(self):
        text = as_markdown(self.FOUND, "a", "b")
        assert "| rls | numba | 64 | seconds_per_sample | 1e-06 s | 2e-06 s | +100% worse |" in text
        assert "| lms | numpy | 64 | frozen_deviation | 0.0e+00 | 1.0e-06 | worse |" in text
        assert "broken: gp on numpy, peak_bytes: ValueError: no" in text
        assert text.count("\n| ") == 5
        assert summary(self.FOUND) == "4 values: 2 worse, 1 broken, 1 same"
        assert notes(self.FOUND[:2]) == []

    def test_what_nobody_could_measure_is_said(self):
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

    def test_json_holds_all(self):
        findings = json.loads(as_json(self.FOUND, "a", "b"))["findings"]
        assert len(findings) == 4
        assert findings[2]["head"] is None


@pytest.fixture
def repository(tmp_path):
    """A git repository with nothing in it but a text."""
    (tmp_path / "README.md").write_text("mine\n")
    commit(tmp_path, "first", "init", "-q", "-b", "main")
    return tmp_path


def commit(folder, message, *before):
    for arguments in filter(None, [before, ["add", "-A"], ["commit", "-q", "-m", message]]):
        git(folder, *arguments)


class TestMistakes:
    def said(self, *arguments):
        result = CliRunner().invoke(main, ["gate", *arguments])
        assert result.exit_code == 2, result.output
        return result.output

    def test_no_repository(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert "not in a git repository" in self.said("main")

    def test_no_such_commit(self, repository, monkeypatch):
        monkeypatch.chdir(repository)
        assert "no commit 'nowhere'" in self.said("nowhere")

    def test_no_distribution(self, repository, monkeypatch):
        monkeypatch.chdir(repository)
        assert "contains no pyproject.toml in its root, plugins/*, packages/*" in self.said("main")

    def test_a_distribution_that_cannot_be_built(self, repository, monkeypatch):
        (repository / "pyproject.toml").write_text("[build-system]\nrequires = []\nbuild-backend = 'nothing_here'\n")
        commit(repository, "broken")
        monkeypatch.chdir(repository)
        assert "the root of" in self.said("main")
        assert not [p for p in (repository / environment.FOLDER).iterdir() if p.name != ".gitignore"]

    def test_other_endings_of_the_output(self):
        assert "want a file ending in .md or .json" in self.said("main", "--output", "gate.txt")


class Told:
    """A side whose process says what it was told to."""

    def __init__(self, distributions, pairs):
        self.where = SimpleNamespace(distributions=distributions)
        self.pairs = pairs

    def ask(self, measure):
        assert measure == "pairs"
        return self.pairs


class TestPairs:
    HOST, BOTH = "orfit-bench", ("orfit-bench", "orfit-bench-numba")
    NUMPY, NUMBA = ["lms", "numpy", "orfit-bench"], ["lms", "numba", "orfit-bench orfit-bench-numba"]

    def keys(self, base, head, there, **asked):
        sides = [Told(base, there), Told(head, there)]
        return gate.Gate(sides[0].where, sides[1].where, **asked)._keys(sides)

    def test_a_distribution_that_was_removed_is_gone_though_the_environment_has_it(self):
        keys, found = self.keys(self.BOTH, (self.HOST,), [self.NUMPY, self.NUMBA])
        assert keys == [("lms", "numpy", 64)]
        assert [(f.method, f.backend, f.verdict) for f in found] == [("lms", "numba", "gone")]
        _, found = self.keys((self.HOST,), self.BOTH, [self.NUMPY, self.NUMBA])
        assert [(f.method, f.backend, f.verdict) for f in found] == [("lms", "numba", "new")]

    def test_of_a_repository_with_a_plugin_its_own(self):
        keys, _ = self.keys(("orfit-bench-numba",), ("orfit-bench-numba",), [self.NUMPY, self.NUMBA])
        assert keys == [("lms", "numba", 64)]

    @pytest.mark.parametrize("asked", [{"methods": ["lms", "lmss"]}, {"backends": ["numpy", "nunpy"]}])
    def test_a_misspelt_name_beside_a_good_one(self, asked):
        with pytest.raises(ValueError, match=r"(lmss|nunpy): neither commit has it\. Did you mean '(lms|numpy)'"):
            self.keys(self.BOTH, self.BOTH, [self.NUMPY, self.NUMBA], **asked)


class TestEnvironment:
    def test_folders_that_hold_a_distribution(self, repository):
        for place in ("", "plugins/größe/", "packages/x/old-", "example.", "plugins/a/b/", "packages/y z/"):
            file = repository / f"{place}pyproject.toml"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("")
        commit(repository, "folders")
        assert sorted(environment._places(repository, "HEAD")) == ["", "packages/y z", "plugins/größe"]

    def test_files_that_are_not_committed(self, repository):
        assert not environment.uncommitted(repository, "HEAD")
        (repository / "README.md").write_text("second\n")
        commit(repository, "second")
        (repository / "README.md").write_text("changed\n")
        assert environment.uncommitted(repository, "main")
        assert not environment.uncommitted(repository, "HEAD~1")


class TestSide:
    def test_a_process_that_dies_or_hangs_costs_its_question_only(self, tmp_path, monkeypatch):
        pytest.importorskip("execnet", reason="execnet is not installed")
        monkeypatch.setattr(commit_process, "SECONDS", 5.0)
        workloads = tmp_path / "workloads.py"
        workloads.write_text(
            "import os, time\nSTARTS = {}\nclass Missing(Exception): pass\n"
            "class Workload:\n    def __init__(self, *a): pass\n    def dies(self): os._exit(3)\n"
            "    def hangs(self): time.sleep(60)\n    def fails(self): raise KeyError('w')\n"
            "    def misses(self): raise Missing('no such')\n    def gives(self): print('noise'); return 1.5\n"
        )
        monkeypatch.setattr(commit_process, "WORKLOADS", workloads)
        here = environment.Environment("0" * 40, (), tmp_path)
        with commit_process.CommitProcess(here) as process:
            assert process.ask("gives", *KEY) == 1.5
            for measure, error, said in [
                ("fails", MeasureError, "KeyError"),
                ("misses", MissingError, "no such"),
                ("dies", MeasureError, "the process died"),
                ("hangs", MeasureError, "no answer in 5 s"),
            ]:
                with pytest.raises(error, match=said):
                    process.ask(measure, *KEY)
                assert process.ask("gives", *KEY) == 1.5

    def test_it_runs_the_code_that_was_installed(self, tmp_path, monkeypatch):
        pytest.importorskip("execnet", reason="execnet is not installed")
        workloads, site = tmp_path / "workloads.py", tmp_path / "site"
        site.mkdir()
        (site / "orfit_bench.py").write_text("here = 'as installed'\n")
        workloads.write_text(
            "STARTS = {}\nclass Missing(Exception): pass\nclass Workload:\n    def __init__(self, *a): pass\n"
            "    def tells(self):\n        import orfit_bench\n        return orfit_bench.here\n"
        )
        monkeypatch.setattr(commit_process, "WORKLOADS", workloads)
        with commit_process.CommitProcess(environment.Environment("0" * 40, (site,), tmp_path)) as process:
            assert process.ask("tells", *KEY) == "as installed"


@pytest.mark.slow  # builds and measures three commits
def test_the_repository_of_a_plugin(tmp_path, monkeypatch):
    pytest.importorskip("execnet", reason="execnet is not installed")
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["new-plugin", "my-rule"]).exit_code == 0
    mine = tmp_path / "my-rule"
    commit(mine, "first", "init", "-q", "-b", "main")
    kernel = mine / "src/my_rule/kernel.py"
    kernel.write_text(kernel.read_text() + "\n")
    commit(mine, "nothing")
    kernel.write_text(kernel.read_text() + change("error", "my_rule", "numpy"))
    commit(mine, "a small error")
    monkeypatch.chdir(mine)
    same = CliRunner().invoke(main, ["gate", "HEAD~2", "HEAD~1"])
    assert same.exit_code == 0, same.output
    worse = CliRunner().invoke(main, ["gate", "HEAD~1", "--output", "gate.json"])
    assert worse.exit_code == 1, worse.output
    found = json.loads((mine / "gate.json").read_text())["findings"]
    bad = [(f["method"], f["backend"], f["metric"]) for f in found if f["verdict"] == "worse"]
    assert ("my_rule", "numpy", "frozen_deviation") in bad
    assert {f["method"] for f in found} == {"my_rule", ""}
    assert subprocess.run(["git", "status", "--short"], capture_output=True, text=True).stdout == "?? gate.json\n"
