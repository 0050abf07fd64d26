"""The gate between commits: pairs, environments, processes, and the repository of a plugin."""

import json
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from helpers.gate import KEY, commit

from benchmarks.gate_trials import change
from orfit_bench.cli import main
from orfit_bench.tracking import commit_process, environment, gate
from orfit_bench.tracking.commit_process import MeasureError, MissingError


class Reported:
    """A side whose process gives prepared answers."""

    def __init__(self, distributions, pairs, broken=()):
        self.where = SimpleNamespace(distributions=distributions)
        self.says = {"pairs": pairs, "broken": dict(broken)}

    def ask(self, measure):
        return self.says[measure]


@pytest.mark.parametrize("share", [0, 0.5])
def test_a_damaged_file_of_trajectories_ends_the_gate_before_it_measures(share, tmp_path):
    file = tmp_path / gate.OWN_TRAJECTORIES
    file.parent.mkdir()
    np.savez(file, **{"mine/w": np.ones(100)})
    file.write_bytes(file.read_bytes()[: int(share * file.stat().st_size)])
    side = Reported(("mine",), []).where
    with pytest.raises(ValueError, match=r"trajectories.npz: cannot be read as stored trajectories .* freeze"):
        gate.Gate(side, side, root=tmp_path).compare()


def test_a_method_that_only_the_newer_commit_can_run_is_new():
    works, fails = {"w": ((2,), np.ones(2).tobytes())}, MeasureError("broken")
    side = Reported(("orfit-bench",), []).where
    for given, want in [((fails, works), "new"), ((works, fails), "broken"), ((fails, fails), "failing")]:
        compared = gate.Gate(side, side)
        answers = compared._trajectory_deviations([Prepared(answer) for answer in given], ("mine", "numpy", 64))
        assert compared._classify("frozen_deviation", ("mine", "numpy", 64), answers).verdict == want


class Prepared:
    """A process with one answer."""

    def __init__(self, answer):
        self.answer = answer

    def begin(self, *question):
        pass

    def finish(self):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class TestPairs:
    HOST, BOTH = "orfit-bench", ("orfit-bench", "orfit-bench-numba")
    NUMPY, NUMBA = ["lms", "numpy", "orfit-bench"], ["lms", "numba", "orfit-bench orfit-bench-numba"]

    def keys(self, base, head, there, **asked):
        sides = [Reported(base, there), Reported(head, there)]
        return gate.Gate(sides[0].where, sides[1].where, **asked)._keys(sides)

    def test_a_distribution_that_was_removed_is_gone_though_the_environment_has_it(self):
        keys, found = self.keys(self.BOTH, (self.HOST,), [self.NUMPY, self.NUMBA])
        assert keys == [("lms", "numpy", 64)]
        assert [(f.method, f.backend, f.verdict) for f in found] == [("lms", "numba", "gone")]
        _, found = self.keys((self.HOST,), self.BOTH, [self.NUMPY, self.NUMBA])
        assert [(f.method, f.backend, f.verdict) for f in found] == [("lms", "numba", "new")]

    def test_a_plugin_that_cannot_be_loaded_is_named(self):
        broken = {"orfit-bench-numba": "ImportError: no", "another": "ValueError: no"}
        sides = [Reported(self.BOTH, [self.NUMPY, self.NUMBA]), Reported(self.BOTH, [self.NUMPY], broken)]
        _, (gone,) = gate.Gate(sides[0].where, sides[1].where)._keys(sides)
        assert (gone.verdict, gone.note) == ("gone", "the plugin of orfit-bench-numba is broken: ImportError: no")
        with pytest.raises(ValueError, match="sgd: neither commit has it; the plugin of orfit-bench-numba is broken"):
            gate.Gate(sides[0].where, sides[1].where, methods=["sgd"])._keys(sides)
        with pytest.raises(ValueError, match="; the plugin of orfit-bench-numba is broken"):
            gate.Gate(sides[0].where, sides[1].where)._keys([Reported(self.BOTH, []), Reported(self.BOTH, [], broken)])

    def test_of_a_repository_with_a_plugin_its_own(self):
        keys, _ = self.keys(("orfit-bench-numba",), ("orfit-bench-numba",), [self.NUMPY, self.NUMBA])
        assert keys == [("lms", "numba", 64)]

    @pytest.mark.parametrize("asked", [{"methods": ["lms", "lmss"]}, {"backends": ["numpy", "nunpy"]}])
    def test_misspelt_name_is_refused_next_to_a_valid_one(self, asked):
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
    @pytest.mark.slow
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
            for measure, error, stated in [
                ("fails", MeasureError, "KeyError"),
                ("misses", MissingError, "no such"),
                ("dies", MeasureError, "the process died"),
                ("hangs", MeasureError, "no answer in 5 s"),
            ]:
                with pytest.raises(error, match=stated):
                    process.ask(measure, *KEY)
                assert process.ask("gives", *KEY) == 1.5

    def test_process_runs_the_installed_code(self, tmp_path, monkeypatch):
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
def test_gate_in_the_repository_of_a_plugin(tmp_path, monkeypatch):
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
    assert {f["method"] for f in found} <= {"my_rule", ""}
    assert subprocess.run(["git", "status", "--short"], capture_output=True, text=True).stdout == "?? gate.json\n"
