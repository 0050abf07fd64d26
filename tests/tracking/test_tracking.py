"""What is tracked over commits: nothing is left out, names keep their positions, frozen numbers their values."""

import ast
import importlib.util
import io
import json
import subprocess
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.plugins.registry import registry
from orfit_bench.tracking import LearnerBenchmarks, freeze_trajectories, workloads
from orfit_bench.tracking.__main__ import main as tracking_command
from orfit_bench.tracking.workloads import exactness
from orfit_bench.tracking.workloads.rows import rows
from orfit_bench.tracking.workloads.times import Clock, Stopwatch

ROOT = Path(__file__).resolve().parents[2]
WORKLOADS = "orfit_bench/tracking/workloads"
FILES = (f"{WORKLOADS}/names.py", f"{WORKLOADS}/times.py", f"{WORKLOADS}.py")
"""The present and earlier files with the names."""
CHANGED = ("log", "--format=%H", "--diff-filter=AM", "--no-renames")
FROZEN = "orfit_bench/tracking/trajectories.npz"
PROJECTS = [ROOT / "pyproject.toml", *sorted(ROOT.glob("plugins/*/pyproject.toml"))]
OURS = [tomllib.loads(file.read_text())["project"]["name"] for file in PROJECTS]


def untracked(suppliers):
    """Methods and backends of our distributions that no benchmark names."""
    ours = [key for key, supplier in suppliers.items() if supplier.rpartition(" ")[0] in OURS]
    methods = [name for hook, name in ours if hook == "methods" and name not in workloads.METHODS]
    return methods + [name for hook, name in ours if hook == "backends" and name not in workloads.BACKENDS]


def git(*arguments):
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)
    if done.returncode:
        pytest.skip("this tree is no git repository: nothing is known of older commits")
    return done.stdout


def numbers(blob):
    """The arrays of a version of the trajectories, without their names."""
    data = subprocess.run(["git", "-C", str(ROOT), "show", blob], capture_output=True, check=True).stdout
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        return sorted((file[name].shape, file[name].tobytes()) for name in file.files)


def names_in(source):
    """The lists of asv's parameters in a version of a file, read without running it."""
    found = {"METHODS": [], "BACKENDS": [], "FULL_SIZES": [], "STARTS": []}
    for node in ast.parse(source).body:
        if isinstance(node, (ast.Assign, ast.AugAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if getattr(target, "id", "") in found:
                found[target.id] += list(ast.literal_eval(node.value))
    return {name: names for name, names in found.items() if names}


def loaded(path):
    spec = importlib.util.spec_from_file_location(f"tracking_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def benchmarks():
    """The module that asv runs."""
    return loaded(ROOT / "benchmarks" / "tracking" / "learners.py")


class TestAudit:
    def test_every_method_and_backend_is_tracked_and_frozen(self):
        assert untracked(registry().suppliers) == []
        assert all(workloads.stored_trajectory(method) for method in workloads.METHODS)

    def test_a_method_without_a_benchmark_is_seen(self):
        added = {("methods", "brand_new"): "orfit-bench 0.1.0", ("backends", "quantum"): "orfit-bench-numba 0.1.0"}
        assert untracked(added | {("methods", "theirs"): "my-plugin 1.0"}) == ["brand_new", "quantum"]

    def test_names_are_literal_and_only_appended_to(self):
        now = names_in((ROOT / FILES[0]).read_text()) | names_in((ROOT / FILES[1]).read_text())
        assert now == {name: list(getattr(workloads, name)) for name in ("METHODS", "BACKENDS", "FULL_SIZES", "STARTS")}
        versions = [(commit, file) for file in FILES for commit in git(*CHANGED, "--", file).split()]
        for commit, file in versions:
            for name, then in names_in(git("show", f"{commit}:{file}")).items():
                assert now[name][: len(then)] == then, f"{name}: {commit[:12]} had other names in these places"

    def test_a_commit_is_uninstalled_completely_before_the_next(self):
        conf = json.loads((ROOT / "asv.conf.json").read_text())
        assert set(OURS) <= set(conf["uninstall_command"][0].split())

    @pytest.mark.parametrize(("reported", "want"), [("13.0", ["cupy-cuda13x[ctk]>=14"]), ("11.8", []), ("", [])])
    def test_asv_installs_cupy_where_there_is_a_device(self, reported, want):
        install = loaded(ROOT / "benchmarks" / "asv_install.py")
        assert install.cupy(f"| Driver Version: 580.1   CUDA Version: {reported}  |") == want

    def test_asv_takes_the_names_from_there(self, benchmarks):
        assert benchmarks.Quick.params[0] == workloads.METHODS
        assert benchmarks.Quick.params[1] + benchmarks.Device.params[1] == workloads.BACKENDS


class TestFrozen:
    @pytest.mark.parametrize("method", workloads.METHODS)
    @pytest.mark.parametrize("backend", ["numpy", "numba"])
    def test_backends_give_the_frozen_numbers(self, method, backend):
        if registry().absence(backend, method):
            pytest.skip(registry().absence(backend, method))
        assert (
            workloads.trajectory_deviation(
                workloads.Workload(method, backend).trajectory(), workloads.stored_trajectory(method)
            )
            < 1e-12
        )

    def test_they_change_in_commits_of_their_own(self):
        """Other files may change in the same commit only if fields are renamed and all numbers are unchanged."""
        for commit in git("log", "--diff-filter=M", "--format=%H", "--", FROZEN).split():
            files = git("show", "--name-only", "--format=", commit).split()
            others = [f for f in files if f.startswith(("orfit_bench/", "plugins/")) and f != FROZEN]
            if others:
                before, after = (numbers(f"{commit}{parent}:{FROZEN}") for parent in ("^", ""))
                assert before == after, f"{commit[:12]} changes the frozen trajectories and {others[0]}"

    def test_freezing_twice_writes_the_same_file(self, tmp_path, monkeypatch):
        monkeypatch.setattr(workloads, "METHODS", ["lms", "oja"])
        files = []
        for name in ("a.npz", "b.npz"):
            monkeypatch.setattr(exactness, "TRAJECTORIES", tmp_path / name)
            freeze_trajectories()
            files.append((tmp_path / name).read_bytes())
        assert files[0] == files[1]
        assert workloads.stored_trajectory("oja").keys() == workloads.Workload("oja", "numpy").trajectory().keys()

    def test_a_file_that_cannot_be_written_is_a_usage_error(self, tmp_path, capsys):
        for file in (tmp_path, tmp_path / "none" / "a.npz"):
            with pytest.raises(SystemExit) as ended:
                tracking_command(["freeze", "lms", "--file", str(file)])
            assert ended.value.code == 2
            assert f"error: {file}: " in capsys.readouterr().err

    def test_a_small_error_is_seen_whatever_the_method(self):
        for method in workloads.METHODS:
            want = workloads.stored_trajectory(method)
            got = {name: value * (1 + 1e-6) for name, value in want.items()}
            assert 0.9e-6 < workloads.trajectory_deviation(got, want) < 1.1e-6

    def test_value_that_is_no_number_is_an_error(self):
        want = {"w": np.ones(3)}
        with pytest.raises(ValueError, match="not finite"):
            workloads.trajectory_deviation({"w": np.array([1, np.nan, 1])}, want)
        with pytest.raises(ValueError, match=r"shape \(2,\), want \(3,\)"):
            workloads.trajectory_deviation({"w": np.ones(2)}, want)
        with pytest.raises(ValueError, match="the fields differ: P"):
            workloads.trajectory_deviation({**want, "P": np.eye(3)}, want)


class TestWorkloads:
    def test_rows_are_the_same_with_every_version(self):
        X = rows(4000, 5)
        published = np.array([0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4])  # the first two of SplitMix64, begun at 0
        np.testing.assert_allclose(X[0, :2], (published / 2.0**64 - 0.5) * np.sqrt(12), rtol=1e-12)
        assert abs(X.mean(0)).max() < 0.05
        np.testing.assert_allclose(X.T @ X / 4000, np.eye(5), atol=0.06)
        np.testing.assert_array_equal(rows(10, 5), X[:10])

    def test_kernel_is_timed_within_a_chunk_and_restored(self):
        kernel = registry().kernel("numpy", "apa")
        before = kernel.learn
        work = workloads.Workload("apa", "numpy", 6)
        inside = work.kernel_seconds_per_sample(spend=0.0)
        assert 0 < inside < 5 * work.seconds_per_sample(spend=0.0)
        assert kernel.learn is before

    def test_kernel_takes_no_longer_than_the_call_that_contains_it(self):
        call, kernel = workloads.Workload("lms", "numpy", 6).chunk_seconds(spend=0.0)
        assert 0 < kernel < call

    def test_nested_calls_are_counted_once(self):
        clock = Clock()
        inner = clock.watch(lambda: None, lambda: None)
        outer = clock.watch(inner, lambda: None)
        outer()
        assert clock.depth == 0
        assert clock.seconds > 0

    def test_memory_that_a_kernel_asks_for_is_seen(self, monkeypatch):
        pytest.importorskip("memray", reason="memray is not installed")
        work = workloads.Workload("lms", "numpy", 6)
        before, learn = work.peak_bytes(), registry().kernel("numpy", "lms").learn

        def larger(*arguments):
            kept = np.empty(1_000_000, np.uint8)
            return learn(*arguments) + 0 * len(kept)

        monkeypatch.setattr(registry().kernel("numpy", "lms"), "learn", larger)
        assert 0.99e6 < work.peak_bytes() - before < 1.1e6

    @pytest.mark.parametrize("what", [("quantum", "numpy"), ("lms", "quantum")])
    def test_features_that_a_commit_lacks_are_missing(self, what):
        with pytest.raises(workloads.Missing, match="is not in this commit"):
            workloads.Workload(*what)

    def test_a_kernel_that_cannot_be_loaded_is_no_missing_one(self, monkeypatch, tmp_path):
        (tmp_path / "unloadable_kernel.py").write_text("1 / 0")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setitem(registry().kernels, ("numpy", "lms"), "unloadable_kernel")
        with pytest.raises(ob.UnavailableError, match="cannot be imported: ZeroDivisionError"):
            workloads.Workload("lms", "numpy").create()


class TestAsv:
    @pytest.fixture
    def few(self, monkeypatch, benchmarks):
        monkeypatch.setattr(benchmarks.workloads, "pairs", lambda: {("rls", "numpy"): "", ("greedy", "numpy"): ""})
        monkeypatch.setattr(benchmarks, "peaks", lambda backends, sizes: {"peak_bytes rls numpy 64": 5.0})
        return benchmarks.Quick()

    def test_numbers_are_read_from_the_cache(self, few):
        cache = few.setup_cache()
        few.setup(cache, "rls", "numpy")
        assert few.track_state_bytes(cache, "rls", "numpy") == 8 * (64 * 65 + 1)
        assert few.track_frozen_deviation(cache, "rls", "numpy") == workloads.FLOOR  # so that rounding is not a step
        assert 0 < few.track_kernel_seconds_a_sample(cache, "rls", "numpy") < 1
        assert few.track_peak_bytes(cache, "rls", "numpy") == 5.0
        assert json.loads(json.dumps(cache)) == cache

    def test_inapplicable_is_nan_and_absent_is_not_run(self, few):
        cache = few.setup_cache()
        assert np.isnan(few.track_batch_deviation(cache, "greedy", "numpy"))
        with pytest.raises(NotImplementedError, match="gp on numpy is not in this commit"):
            few.setup(cache, "gp", "numpy")

    def test_failing_benchmark_is_an_error(self, few, benchmarks):
        broken = SimpleNamespace(state_bytes=lambda: 1 / 0)
        cache = {"state_bytes rls numpy 64": benchmarks.answered(broken, "state_bytes")}
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            few.track_state_bytes(cache, "rls", "numpy")


def test_every_kernel_that_is_here_is_measured():
    assert {pair[0] for pair in workloads.pairs()} >= set(ob.methods())


def test_a_clock_of_cpu_time_that_stands_still_is_no_time_of_zero(monkeypatch):
    monkeypatch.setattr("orfit_bench.tracking.workloads.times.process_time", lambda: 7.0)
    assert Stopwatch().seconds() > 0


@pytest.mark.parametrize(
    ("given", "error", "reason"),
    [
        ({"methods": "lms"}, TypeError, "methods='lms', want a list of names"),
        ({"backends": "numpy"}, TypeError, "backends='numpy', want a list of names"),
        ({"trajectories": "trajectories.npz"}, ValueError, "want an absolute path, such as Path"),
    ],
)
def test_attributes_that_asv_cannot_use_are_refused(given, error, reason):
    with pytest.raises(error, match=f"Mine: .*{reason}"):
        type("Mine", (LearnerBenchmarks,), given)


@pytest.mark.parametrize("method", ["rls", "class_rls", "oja", "gp"])
def test_calls_of_every_kind_are_timed(method):
    work = workloads.Workload(method, "numpy", 8)
    times = [*work.row_seconds(0.001), work.prediction_seconds(0.001)]
    assert len(times) == 4
    assert all(0 < seconds < 1 for seconds in times)
