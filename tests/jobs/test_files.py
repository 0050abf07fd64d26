"""Atomic files: several writers, files that killed processes left behind, full disks."""

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from orfit_bench.jobs import files, locks, system

fcntl = pytest.importorskip("fcntl")


def test_threads_that_write_one_file_leave_a_complete_one(tmp_path):
    target = tmp_path / "f"
    contents = [bytes([65 + i]) * 100_000 for i in range(4)]

    def write_often(content):
        for _ in range(10):
            files.replace(target, lambda file: file.write(content))

    threads = [threading.Thread(target=write_often, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert not target.exists() or target.read_bytes() in contents
    assert target.read_bytes() in contents
    assert os.listdir(tmp_path) == ["f"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o444])
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path, mode):
    target, modes = tmp_path / "f", []
    target.write_bytes(b"old")
    target.chmod(mode)

    def write(file):
        modes.append(os.fstat(file.fileno()).st_mode & 0o777)
        file.write(b"new")

    files.replace(target, write)
    want = mode | 0o600
    assert (target.read_bytes(), target.stat().st_mode & 0o777, modes) == (b"new", want, [want])


def test_temporary_files_of_killed_processes_are_removed(tmp_path):
    target = tmp_path / "f"
    with open(tmp_path / ".f.1.tmp", "w") as used:
        fcntl.flock(used, fcntl.LOCK_EX)
        for name in (".f.0.tmp", ".f.123.tmp", ".g.0.tmp"):
            (tmp_path / name).write_text("half")
        files.replace_text(target, "new")  # takes the first free name
        assert sorted(os.listdir(tmp_path)) == [".f.1.tmp", ".f.123.tmp", ".g.0.tmp", "f"]
        files.ensure_writable(target)
        assert sorted(os.listdir(tmp_path)) == [".f.1.tmp", ".g.0.tmp", "f"]


def test_a_folder_of_a_killed_process_is_removed_and_one_in_use_stays(tmp_path):
    (tmp_path / ".f.0.tmp").write_text("")
    (tmp_path / ".f.0.folder.tmp").mkdir()
    (tmp_path / ".f.0.folder.tmp" / "half").write_text("half")
    with locks.temporary_folder(tmp_path / "f") as (folder, _):
        assert list(folder.iterdir()) == []
        (folder / "part").mkdir()
        locks.remove_matching(tmp_path, ".*.tmp")
        with locks.temporary_folder(tmp_path / "f") as (other, _):
            assert other != folder
        assert (folder / "part").is_dir()
    assert os.listdir(tmp_path) == []


def test_a_folder_stays_while_a_child_of_a_killed_process_uses_it(tmp_path):
    with locks.temporary_folder(tmp_path / "f") as (folder, lock):
        inherited = os.dup(lock)
        (tmp_path / ".f.0.tmp").rename(tmp_path / ".f.9.tmp")  # as if this process had been killed now
        os.rename(folder, tmp_path / ".f.9.folder.tmp")
    locks.remove_matching(tmp_path, ".*.tmp")
    assert sorted(os.listdir(tmp_path)) == [".f.9.folder.tmp", ".f.9.tmp"]
    os.close(inherited)
    locks.remove_matching(tmp_path, ".*.tmp")
    assert os.listdir(tmp_path) == []


def test_a_link_in_place_of_a_temporary_file_is_not_followed(tmp_path):
    (tmp_path / "victim").write_text("precious")
    (tmp_path / ".f.0.tmp").symlink_to(tmp_path / "victim")
    files.replace_text(tmp_path / "f", "new")
    assert (tmp_path / "victim").read_text() == "precious"
    assert (tmp_path / "f").read_text() == "new"


@pytest.mark.parametrize("operation", ["create", "write", "sync", "rename"])
def test_a_failed_operation_is_one_sentence_and_leaves_the_old_file(operation, tmp_path, monkeypatch):
    target = tmp_path / "f"
    target.write_text("old")

    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(tmp_path / "internal"))

    monkeypatch.setattr(system, operation, fail)
    with pytest.raises(OSError, match="cannot be written") as info:
        files.replace_text(target, "new")
    assert str(info.value) == f"{target}: cannot be written (No space left on device)"
    assert info.value.errno == errno.ENOSPC
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["f"]


def test_short_writes_are_continued(tmp_path, monkeypatch):
    monkeypatch.setattr(system, "write", lambda descriptor, data: os.write(descriptor, bytes(data)[:1000]))
    files.replace(tmp_path / "f", lambda file: file.write(bytes(range(250)) * 100))
    assert (tmp_path / "f").read_bytes() == bytes(range(250)) * 100


def test_a_file_larger_than_allowed_is_refused_in_one_sentence(tmp_path):
    code = (
        "import resource, sys; from pathlib import Path; from orfit_bench.jobs import files\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: files.replace_text(Path(sys.argv[1]), 'x' * 5000)\n"
        "except OSError as error: print(error)"
    )
    target = tmp_path / "f"
    done = subprocess.run([sys.executable, "-c", code, target], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{target}: cannot be written (File too large)"
    assert os.listdir(tmp_path) == []


def test_the_lock_of_a_killed_run_does_not_count(tmp_path):
    output = tmp_path / "r.nc"
    code = "import os, sys; from pathlib import Path; from orfit_bench.jobs import locks\n"
    code += "with locks.lock(Path(sys.argv[1])): os._exit(3)"
    assert subprocess.run([sys.executable, "-c", code, output], check=False).returncode == 3
    assert os.listdir(tmp_path) == [".r.nc.lock"]
    with locks.lock(output), pytest.raises(BlockingIOError, match=f"process {os.getpid()}"), locks.lock(Path(output)):
        pass
    assert os.listdir(tmp_path) == []


def no_home(project):
    raise RuntimeError("could not determine the home directory")


@pytest.mark.parametrize("folder", [no_home, lambda project: f"~/.cache/{project}"])
def test_without_a_home_nothing_is_cached(folder, monkeypatch):
    monkeypatch.setattr("pooch.os_cache", folder)
    found = files.cache_folder() / "f"
    assert not found.is_file()
    with pytest.raises(NotADirectoryError):
        found.parent.mkdir(parents=True)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks into /proc")
def test_a_system_that_renames_no_open_file(tmp_path, monkeypatch):
    def rename(source, target):
        if any(descriptor.resolve() == source for descriptor in Path("/proc/self/fd").iterdir()):
            raise PermissionError(errno.EACCES, "used by another process")
        os.replace(source, target)

    monkeypatch.setattr(system, "rename", rename)
    with pytest.raises(PermissionError, match="used by another process"):
        files.replace_text(tmp_path / "f", "text")
    monkeypatch.setattr(system, "RENAMES_OPEN_FILES", False)
    files.replace_text(tmp_path / "f", "text")
    assert (tmp_path / "f").read_text() == "text"
    assert os.listdir(tmp_path) == ["f"]
