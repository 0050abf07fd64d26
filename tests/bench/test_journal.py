"""The journal: interrupted runs are resumed with the same results."""

import errno
import json
import os

import pytest
from helpers.suites import suite

from orfit_bench.bench import Suite, evaluation, run, runner
from orfit_bench.catalogue.streams import mnist_files
from orfit_bench.jobs import system
from orfit_bench.jobs.forking import CAN_FORK
from orfit_bench.jobs.journal import Journal


class TestJournal:
    def interrupted(self, path, after):
        """Run until `after` cells are done, as if the user had then stopped the run."""

        def stop(done, total, record):
            if record and done == after:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run(suite("lms", "nlms", "rls"), path, isolate=False, progress=stop)

    @pytest.mark.parametrize("fresh", [False, True])
    def test_another_command_leaves_these_cells(self, fresh, tmp_path):
        path = tmp_path / "r.nc"
        self.interrupted(path, 2)
        run(suite("rls", "icl"), path, isolate=False, fresh=fresh)
        seen = []
        run(suite("lms", "nlms", "rls"), path, isolate=False, progress=lambda *a: seen.append(a[:2]))
        assert seen == [(2, 3), (3, 3)]
        assert [p.name for p in tmp_path.iterdir()] == ["r.nc"]

    def test_timed_and_untimed_cells_do_not_replace_each_other(self, tmp_path):
        path = tmp_path / "r.nc"
        self.interrupted(path, 2)
        run(suite("lms", "nlms", "rls"), path, isolate=False, timed=False)
        seen = []
        run(suite("lms", "nlms", "rls"), path, isolate=False, progress=lambda *a: seen.append(a[:2]))
        assert seen == [(2, 3), (3, 3)]
        assert [p.name for p in tmp_path.iterdir()] == ["r.nc"]

    def test_half_a_record_of_a_killed_run_goes_with_its_cell(self, tmp_path):
        journal = Journal(tmp_path / "r.nc", {})
        journal.write({"key": "a"})
        (journal.folder / ".a.json.123.tmp").write_text("{")
        journal.remove(["a", "b"])
        assert not journal.folder.exists()
        journal.remove(["a"])

    def test_resumes_where_it_was_stopped(self, tmp_path):
        path = tmp_path / "r.nc"
        self.interrupted(path, 2)
        assert not path.exists()
        seen = []
        done = run(suite("lms", "nlms", "rls"), path, isolate=False, progress=lambda *a: seen.append(a[:2]))
        assert seen == [(2, 3), (3, 3)]
        assert done["method"].values.tolist() == ["lms", "nlms", "rls"]
        assert [p.name for p in tmp_path.iterdir()] == ["r.nc"]

    def resume_two(self, path, resumed, **options):
        """Measure two of three cells, note how many were resumed, and return their records."""

        def stop(done, total, record):
            resumed.extend([done] if record is None else [])
            if done == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run(suite("rls", "orfit", "lms"), path, timed=False, progress=stop, **options)
        files = (path.parent / f"{path.name}.journal").glob("*.json")
        return [json.loads(file.read_text())["record"] for file in files]

    def test_metrics_beyond_another_budget_are_measured_again(self, tmp_path):
        def refused(records):
            return ["metric deviation: needs" in " ".join(record["notes"]) for record in records]

        resumed, path = [], tmp_path / "r.nc"
        assert refused(self.resume_two(path, resumed, isolate=False, memory_budget=1e3)) == [True, True]
        self.resume_two(path, resumed, isolate=False, memory_budget=1e3)
        assert refused(self.resume_two(path, resumed, isolate=False)) == [False, False]
        self.resume_two(path, resumed, isolate=False, timeout=7, memory_budget=1e8)
        assert resumed == [0, 2, 0, 2], "complete cells are kept whatever the limits"

    def test_cells_beyond_another_time_limit_are_measured_again(self, tmp_path):
        resumed, path = [], tmp_path / "r.nc"
        assert {record["status"] for record in self.resume_two(path, resumed, timeout=1e-6)} == {"timeout"}
        self.resume_two(path, resumed, timeout=1e-6)
        assert {record["status"] for record in self.resume_two(path, resumed)} == {"ok"}
        assert resumed == [0, 2, 0]

    def test_metrics_beyond_another_memory_limit_are_measured_again(self, tmp_path, monkeypatch):
        def allocate(metric, record, budget):
            raise MemoryError(f"Unable to allocate memory for {metric.name}")

        resumed, path = [], tmp_path / "r.nc"
        with monkeypatch.context() as patch:
            patch.setattr(evaluation, "_measure", allocate)
            for _ in range(2):
                records = self.resume_two(path, resumed, isolate=False, memory_limit=4e7)
        assert {record["status"] for record in records} == {"ok"}
        assert "MemoryError" not in str(self.resume_two(path, resumed, isolate=False, memory_limit=4e9))
        assert resumed == [0, 2, 0]

    @pytest.mark.skipif(not CAN_FORK, reason="needs fork, on Linux")
    def test_cells_beyond_another_default_memory_limit_are_measured_again(self, tmp_path, monkeypatch):
        resumed, path = [], tmp_path / "r.nc"
        for share in (10**9, 10**9, 2 * 10**9):
            monkeypatch.setattr(runner, "default_memory_limit", lambda jobs, share=share: share // jobs)
            records = self.resume_two(path, resumed, timeout=1e-6)
            assert [record["limits"]["memory"] for record in records] == [share, share]
        assert resumed == [0, 2, 0]

    def test_fresh_forgets(self, tmp_path):
        self.interrupted(tmp_path / "r.nc", 2)
        seen = []
        run(suite("lms"), tmp_path / "r.nc", isolate=False, fresh=True, progress=lambda *a: seen.append(a[:2]))
        assert seen == [(0, 1), (1, 1)]

    def test_other_cells_versions_and_damage_do_not_count(self, tmp_path):
        journal = Journal(tmp_path / "r.nc", {"versions": 1})
        journal.write({"key": "a", "value": [1.5, float("nan")]})
        (journal.folder / "b.json").write_text('{"identity": ')
        (journal.folder / "c.json").write_text("[]")
        edited = json.loads((journal.folder / "a.json").read_text())
        edited["record"] |= {"key": "d", "value": [0.5, 0.0]}
        (journal.folder / "d.json").write_text(json.dumps(edited))
        (journal.folder / "e.json").write_text(json.dumps({"identity": journal.identity(), "record": {"key": "x"}}))
        (journal.folder / "f.json").write_text("[" * 100_000)
        with pytest.warns(UserWarning, match="its job is run again") as warned:
            assert list(Journal(tmp_path / "r.nc", {"versions": 1}).read()) == ["a"]
        for name, warning in zip("bcdef", warned, strict=True):
            assert f"{name}.json: " in str(warning.message)
        for name in "bcdef":
            (journal.folder / f"{name}.json").unlink()
        assert Journal(tmp_path / "r.nc", {"versions": 2}).read() == {}

    def test_two_runs_on_one_output_are_refused(self, tmp_path):
        path = tmp_path / "r.nc"
        seen = []

        def start_another(done, total, record):
            with pytest.raises(BlockingIOError, match=r"another run \(process \d+\) writes this file"):
                run(suite("rls"), path, isolate=False)
            seen.append(done)

        run(suite("lms"), path, isolate=False, progress=start_another)
        assert seen == [0, 1]
        run(suite("rls"), path, isolate=False)
        assert [p.name for p in tmp_path.iterdir()] == ["r.nc"]

    def test_a_link_has_the_lock_and_the_journal_of_its_file(self, tmp_path):
        path, link, seen = tmp_path / "r.nc", tmp_path / "links" / "latest.nc", []
        link.parent.mkdir()
        link.symlink_to(path)
        self.interrupted(link, 2)
        assert sorted(p.name for p in tmp_path.iterdir()) == ["links", "r.nc.journal"]

        def start_another(done, total, record):
            with pytest.raises(BlockingIOError, match=r"latest\.nc: another run \(process \d+\) writes this file"):
                run(suite("rls"), link, isolate=False)
            seen.append(done)

        run(suite("lms", "nlms", "rls"), path, isolate=False, progress=start_another)
        assert seen == [2, 3]
        assert sorted(p.name for p in tmp_path.rglob("*")) == ["latest.nc", "links", "r.nc"]

    def test_cells_of_other_images_do_not_count(self, tmp_path, monkeypatch):
        images = tmp_path / "images"
        monkeypatch.setattr(Suite, "files", lambda suite: [images])
        images.write_bytes(b"these")
        self.interrupted(tmp_path / "r.nc", 2)
        images.write_bytes(b"those")
        seen = []
        run(suite("lms", "nlms", "rls"), tmp_path / "r.nc", isolate=False, progress=lambda *a: seen.append(a[:2]))
        assert seen[0] == (0, 3)

    def test_a_suite_knows_the_users_files_of_its_streams(self, tmp_path, monkeypatch):
        monkeypatch.setenv("ORFIT_BENCH_DATA", str(tmp_path))
        monkeypatch.setattr(mnist_files, "_cache", lambda: tmp_path / "none")
        (tmp_path / "mnist").mkdir()
        here = tmp_path / "mnist" / "t10k-images-idx3-ubyte.gz"
        here.write_bytes(b"images")
        assert Suite(methods=["lms"], streams=["mnist", "rotated_mnist"]).files() == [here]
        assert Suite(methods=["lms"], streams=["drift"]).files() == []

    def test_a_failed_write_leaves_the_old_file_and_the_journal(self, tmp_path, monkeypatch):
        def half(descriptor, data):
            os.write(descriptor, b"half")
            raise OSError(errno.ENOSPC, "disk full")

        path = tmp_path / "r.nc"
        run(suite("lms"), path, isolate=False)
        before = path.read_bytes()
        with monkeypatch.context() as patch:
            run_all = runner.run_resumable
            patch.setattr(
                runner, "run_resumable", lambda *a, **k: (run_all(*a, **k), patch.setattr(system, "write", half))[0]
            )
            with pytest.raises(OSError, match=r"r\.nc: cannot be written \(disk full\)"):
                run(suite("rls"), path, isolate=False)
        assert path.read_bytes() == before
        assert sorted(p.name for p in tmp_path.iterdir()) == ["r.nc", "r.nc.journal"]
        seen = []
        run(suite("rls"), path, isolate=False, progress=lambda *a: seen.append(a[:2]))
        assert seen == [(1, 1)]
