"""The gate between commits: pairs, environments, processes, and the repository of a plugin."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

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


def stored(repository, name, **arrays):
    """The commit in which the stored trajectories are these arrays."""
    file = repository / gate.OWN_TRAJECTORIES
    file.parent.mkdir(exist_ok=True)
    np.savez(file, **{name.replace(".", "/"): array for name, array in arrays.items()})
    commit(repository, name)
    return SimpleNamespace(commit=environment.git(repository, "rev-parse", "HEAD").strip(), distributions=("mine",))


@pytest.mark.parametrize("share", [0, 0.5])
def test_a_damaged_file_of_trajectories_ends_the_gate_before_it_measures(share, repository):
    side = stored(repository, "whole", **{"mine.48.48.w": np.ones(100)})
    file = repository / gate.OWN_TRAJECTORIES
    file.write_bytes(file.read_bytes()[: int(share * file.stat().st_size)])
    commit(repository, "cut", "checkout", "-q", "-b", "cut")
    side = SimpleNamespace(commit="cut", distributions=side.distributions)
    with pytest.raises(ValueError, match=r"trajectories.npz of cut: cannot be read as stored trajectories .* freeze"):
        gate.Gate(side, side, root=repository).compare()


@pytest.mark.parametrize(
    ("name", "array"), [("a", np.arange(3.0)), ("mine.48.48.w", np.array(["x"])), ("mine.48.48.w", np.array([np.nan]))]
)
def test_arrays_that_are_no_trajectories_are_refused(name, array, repository):
    side = stored(repository, "other", **{name: array})
    wrong = rf"npz of .*got '{name.replace('.', '/')}' of .*, want finite numbers named"
    with pytest.raises(ValueError, match=wrong):
        gate.Gate(side, side, root=repository).compare()


def test_other_files_than_archives_are_refused(repository):
    side = stored(repository, "start", **{"mine.48.48.w": np.ones(2)})
    (repository / gate.OWN_TRAJECTORIES).write_text("a text")
    commit(repository, "a text", "checkout", "-q", "-b", "text")
    with pytest.raises(ValueError, match=r"it is no \.npz file"):
        gate.Gate(SimpleNamespace(commit="text", distributions=("mine",)), side, root=repository).compare()


def test_trajectories_are_those_of_the_base_if_it_has_some(repository):
    none = SimpleNamespace(commit="main", distributions=("mine",))
    environment.git(repository, "checkout", "-q", "-b", "work")
    old, new = (stored(repository, str(v), **{"mine.48.48.w": np.full(2, v)}) for v in (1.0, 2.0))
    (repository / gate.OWN_TRAJECTORIES).write_bytes(b"not committed")
    for base, head, want in [(old, new, 1.0), (none, new, 2.0), (new, old, 2.0)]:
        found = gate.Gate(base, head, root=repository)._stored_trajectories()
        assert {name: array.tolist() for name, array in found.items()} == {"mine/48/48/w": [want, want]}
    assert "lms/48/12/w" in gate.Gate(none, none, root=repository)._stored_trajectories()


def test_a_method_that_only_the_newer_commit_can_run_is_new():
    works, fails = {"w": ((2,), np.ones(2).tobytes())}, MeasureError("broken")
    side = Reported(("orfit-bench",), []).where
    for given, want in [((fails, works), "new"), ((works, fails), "broken"), ((fails, fails), "failing")]:
        compared = gate.Gate(side, side)
        answers = compared._trajectory_deviations([Prepared(answer) for answer in given], ("mine", "numpy", 64), {})
        assert compared._classify("frozen_deviation", ("mine", "numpy", 64), answers).verdict == want


class Prepared:
    """A process with one answer."""

    def __init__(self, answer):
        self.answer = answer

    def begin(self, *question):
        pass

    def ask(self, *question):
        return self.finish()

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

    def test_a_commit_that_cannot_be_imported_is_named(self):
        side = Reported(self.BOTH, [self.NUMPY])
        side.where.commit = "0123456789abcdef"
        side.ask = Prepared(MeasureError("SyntaxError: no")).ask
        with pytest.raises(ValueError, match="0123456789ab cannot be measured: SyntaxError: no"):
            gate.Gate(side.where, side.where)._keys([side, side])

    def test_all_methods_of_a_newer_commit_that_cannot_be_imported_are_gone(self):
        sides = [Reported(self.BOTH, [self.NUMPY, self.NUMBA]), Reported(self.BOTH, [])]
        sides[1].where.commit = "0123456789abcdef"
        sides[1].ask = Prepared(MeasureError("ImportError: no")).ask
        keys, found = gate.Gate(sides[0].where, sides[1].where)._keys(sides)
        assert keys == []
        assert [(f.backend, f.verdict) for f in found] == [("numba", "gone"), ("numpy", "gone")]
        assert {f.note for f in found} == {"0123456789ab cannot be measured: ImportError: no"}

    def test_of_a_repository_with_a_plugin_its_own(self):
        keys, _ = self.keys(("orfit-bench-numba",), ("orfit-bench-numba",), [self.NUMPY, self.NUMBA])
        assert keys == [("lms", "numba", 64)]

    @pytest.mark.parametrize("asked", [{"methods": ["lms", "lmss"]}, {"backends": ["numpy", "nunpy"]}])
    def test_misspelt_name_is_refused_next_to_a_valid_one(self, asked):
        with pytest.raises(ValueError, match=r"(lmss|nunpy): neither commit has it\. Did you mean '(lms|numpy)'"):
            self.keys(self.BOTH, self.BOTH, [self.NUMPY, self.NUMBA], **asked)


@pytest.mark.parametrize(("learners", "starts"), [(True, True), (True, False), (False, True)])
def test_only_the_chosen_quantities_are_measured(learners, starts, monkeypatch):
    side = SimpleNamespace(distributions=("orfit-bench",), commit="a", variables={}, run=lambda *given: None)
    asked = []

    def compare_times(compared, processes, jobs, *turns):
        asked.extend(job for job, _ in jobs)
        return [[] for _ in jobs]

    monkeypatch.setattr(gate.Gate, "_keys", lambda compared, processes: ([("lms", "numpy", 64)], []))
    monkeypatch.setattr(gate.Gate, "_compare_sizes", lambda *given: iter(()))
    monkeypatch.setattr(gate.Gate, "_compare_times", compare_times)
    monkeypatch.setattr(gate.Gate, "_both", lambda *given: [1.0, 1.0])
    gate.Gate(side, side, measures_learners=learners, measures_starts=starts).compare()
    assert ("row_seconds" in asked, "import_seconds" in asked) == (learners, starts)


@pytest.mark.parametrize("methods", [(), ("lms",)])
def test_start_times_are_measured_without_methods(methods, repository, monkeypatch):
    sides = [SimpleNamespace(commit="HEAD", distributions=()) for _ in range(2)]
    monkeypatch.setattr(environment, "environments", lambda *given: sides)

    def compare(compared):
        raise ValueError(f"starts: {compared.measures_starts}")

    monkeypatch.setattr(gate.Gate, "compare", compare)
    monkeypatch.chdir(repository)
    options = [part for name in methods for part in ("--method", name)]
    assert f"starts: {not methods}" in CliRunner().invoke(main, ["gate", "main", *options]).output


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

    def test_an_incomplete_installation_is_replaced(self, repository, monkeypatch):
        (repository / "pyproject.toml").write_text(
            '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
            '[project]\nname = "mine"\nversion = "1"\n[project.scripts]\nmine = "mine:main"\n'
        )
        for name in ("__init__.py", "kernel.py"):
            (repository / "mine" / name).parent.mkdir(exist_ok=True)
            (repository / "mine" / name).write_text("x = 1\n")
        commit(repository, "a distribution")
        for damage in (Path.unlink, lambda file: file.write_text("")):
            (site,) = environment.environment(repository, "main").path
            kernel = site / "mine/kernel.py"
            assert kernel.read_text() == "x = 1\n"
            damage(kernel)
        (record,) = site.glob("*.dist-info/RECORD")
        record.write_text("mine/kernel.py,sha256=0\n\n")
        environment.environment(repository, "main")
        assert len(record.read_text().splitlines()) > 2
        monkeypatch.setattr(environment, "_pip", lambda *given: "not needed: the installation is complete")
        environment.environment(repository, "main")
        kernel.unlink()
        with pytest.raises(
            ValueError, match=r"the root of .* cannot be installed: not needed.*; with downloaded build"
        ):
            environment.environment(repository, "main")

    def test_an_incomplete_installation_that_stays_is_refused(self, repository, monkeypatch):
        (repository / "pyproject.toml").write_text("")
        commit(repository, "a distribution")
        monkeypatch.setattr(environment, "_install", lambda source, site, what, lock: site.mkdir())
        with pytest.raises(ValueError, match=r"this installation of the root of .* is incomplete: delete the folder"):
            environment.environment(repository, "main")

    def test_build_tools_that_are_missing_are_downloaded(self, monkeypatch):
        given = []
        monkeypatch.setattr(
            environment, "_pip", lambda *options: given.append(options[3:]) or (options[3:] and "no tool")
        )
        environment._install(Path("source"), Path("site"), "it", 0)
        assert given == [("--no-build-isolation", "--check-build-dependencies"), ()]

    @pytest.mark.skipif(os.name == "nt", reason="the programs of this test are shell scripts")
    def test_tools_that_fail_are_named(self, repository, monkeypatch):
        (repository / "pyproject.toml").write_text("")
        commit(repository, "a distribution")
        (folder := repository / "programs").mkdir()
        monkeypatch.setenv("PATH", os.pathsep.join([str(folder), str(Path(shutil.which("git")).parent)]))
        for program, reason in [("echo no space >&2; exit 2", "tar: no space"), ("exit 3", "tar: exit status 3")]:
            (folder / "tar").write_text(f"#!/bin/sh\n{program}\n")
            (folder / "tar").chmod(0o755)
            with pytest.raises(ValueError, match=f"the root of [0-9a-f]+ cannot be unpacked: {reason}"):
                environment.environment(repository, "main")
        with pytest.raises(ValueError, match="what cannot be unpacked: nothing-here cannot be run"):
            environment._output(["nothing-here"], "what")

    def test_the_cause_is_picked_from_the_lines_of_pip(self):
        lines = ["note: long", "OSError: [Errno 28] No space left on device", "ERROR: Could not install", "a hint"]
        assert environment._reason("\n".join(lines)) == "\n".join(lines[1:3])
        assert environment._reason("nothing is known\n") == "nothing is known"

    def test_names_of_files_can_have_any_bytes(self, repository):
        (repository / os.fsdecode(b"f\xe4.txt")).write_text("not in UTF-8")
        (repository / "pyproject.toml").write_text("")
        commit(repository, "a name in another encoding")
        assert list(environment._places(repository, "HEAD")) == [""]

    def test_a_path_that_python_would_divide_is_refused(self, repository):
        moved = repository.rename(repository.with_name("one:two"))
        with pytest.raises(ValueError, match="':' in the path would separate folders in PYTHONPATH"):
            environment.environment(moved, "HEAD")

    def test_a_file_in_place_of_the_folder_is_named(self, repository):
        (repository / environment.FOLDER).write_text("")
        with pytest.raises(NotADirectoryError, match="this is a file, want a folder"):
            environment.environment(repository, "main")


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
        missing = ("no-such-distribution",)
        unknown: Any = SimpleNamespace(
            commit="0" * 40, home=tmp_path, path=(), variables={"PYTHONPATH": str(site)}, distributions=missing
        )
        with commit_process.CommitProcess(unknown) as process:
            for _ in range(2):  # not answered by a process that was not checked
                with pytest.raises(MeasureError, match="no-such-distribution"):
                    process.ask("tells", *KEY)


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
    worse = CliRunner().invoke(main, ["gate", "HEAD~1", "--json", "gate.json"])
    assert worse.exit_code == 1, worse.output
    found = json.loads((mine / "gate.json").read_text())["findings"]
    bad = [(f["method"], f["backend"], f["metric"]) for f in found if f["verdict"] == "worse"]
    assert ("my_rule", "numpy", "frozen_deviation") in bad
    assert {f["method"] for f in found} <= {"my_rule", ""}
    assert subprocess.run(["git", "status", "--short"], capture_output=True, text=True).stdout == "?? gate.json\n"
