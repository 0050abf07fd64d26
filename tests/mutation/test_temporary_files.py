"""Temporary files of mutants are in one folder, which is removed at the end, and after a run that was killed."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from orfit_bench.mutation.processes import temporary_files


def test_those_of_a_killed_run_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / ".orfit-bench-mutants.0.tmp").touch()
    (tmp_path / ".orfit-bench-mutants.0.folder.tmp" / "child").mkdir(parents=True)
    with temporary_files():
        (folder,) = tmp_path.glob("*.folder.tmp")
        assert list(folder.iterdir()) == []
        with tempfile.TemporaryDirectory() as child:
            assert Path(child).parent == folder
            with temporary_files():  # another run, which keeps folders that are in use
                assert Path(child).is_dir()
    assert list(tmp_path.iterdir()) == []
    assert tempfile.gettempdir() == str(tmp_path)
