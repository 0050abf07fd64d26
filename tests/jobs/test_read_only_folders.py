"""Files in a folder that the user may not write to: one clear sentence, and nothing is lost."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner

import orfit_bench as ob
from orfit_bench.cli import main
from orfit_bench.jobs.files import make_folder

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="users are changed in forked processes")
NOBODY = 65534


@pytest.fixture
def folders():
    """A writable folder and a read-only one, neither of them inside a private folder of this user."""
    parent = Path(tempfile.mkdtemp(dir="/tmp"))
    parent.chmod(0o755)
    writable, read_only = parent / "writable", parent / "read-only"
    for folder in (writable, read_only):
        folder.mkdir()
    yield writable, read_only
    read_only.chmod(0o755)
    shutil.rmtree(parent)


def save(folder):
    learner = ob.create("lms", backend="numpy").partial_fit([[1.0]], [2.0])
    try:
        learner.save(folder / "f")
    except OSError as error:
        return f"{type(error).__name__}: {error}"
    return "done"


def command(*arguments):
    """A command, with FILE for the name of a file in the folder; returns its errors and its exit status."""

    def invoke(folder):
        done = CliRunner().invoke(main, [str(folder / "f") if a == "FILE" else a for a in arguments])
        return f"{done.stderr.strip()} ({done.exit_code})" if done.exit_code else "done"

    return invoke


def as_another_user(action, writable, read_only):
    """The message of an action for the read-only folder, after it was done in the other, which imports all modules.

    The process is forked, since another user may not be able to read the environment of this one.
    """
    here, there = os.pipe()
    child = os.fork()
    if not child:
        with open(there, "w", encoding="utf-8") as pipe:
            try:
                assert action(writable) == "done"
                if os.geteuid() == 0:
                    os.setegid(NOBODY)
                    os.seteuid(NOBODY)
                pipe.write(action(read_only))
            except BaseException as error:
                pipe.write(repr(error))
        os._exit(0)
    os.close(there)
    with open(here, encoding="utf-8") as pipe:
        found = pipe.read()
    os.waitpid(child, 0)
    return found


def make(folder):
    """Create a subfolder, as commands do that write several files."""
    try:
        make_folder(folder / "f")
    except OSError as error:
        return f"{type(error).__name__}: {error}"
    return "done"


RUN = ["run", "--method", "lms", "--backend", "numpy", "--stream", "regression", "--rows", "20", "--output", "FILE"]


@pytest.mark.parametrize(
    ("action", "error"),
    [
        (save, "PermissionError: {file}: "),
        pytest.param(command(*RUN), "Error: {file}: the folder {folder} cannot be written to", marks=pytest.mark.slow),
        (make, "PermissionError: {file}: this folder cannot be created (Permission denied)"),
        (command("new-plugin", "mine", "--folder", "FILE"), "Error: {file}: "),
    ],
    ids=["save", "run", "make-folder", "new-plugin"],
)
def test_a_read_only_folder_is_named_and_stays_as_it_was(action, error, folders):
    writable, read_only = folders
    if action is save:
        (read_only / "f").write_text("old")
    before = {path.name: path.read_bytes() for path in read_only.iterdir()}
    read_only.chmod(0o555)
    found = as_another_user(action, writable, read_only)
    assert found.startswith(error.format(file=read_only / "f", folder=read_only)), found
    assert "\n" not in found.strip()
    assert {path.name: path.read_bytes() for path in read_only.iterdir()} == before
