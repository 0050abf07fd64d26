"""A machine without MNIST, one with a small MNIST, and every stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.streams import write_part

from orfit_bench.catalogue.streams import STREAMS
from orfit_bench.spec.stream import Stream


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without MNIST and without a network; the folder of its cache."""
    import pooch  # type: ignore[import-untyped, unused-ignore]

    def offline(*_: Any, **__: Any) -> str:
        raise ConnectionError("no route to host")

    monkeypatch.delenv("ORFIT_BENCH_DATA", raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / "cache" / project)
    monkeypatch.setattr(pooch, "retrieve", offline)
    return tmp_path / "cache" / "orfit_bench"


@pytest.fixture
def tiny(empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose ORFIT_BENCH_DATA holds a small MNIST; the folder of its files."""
    folder = tmp_path / "data" / "mnist"
    folder.mkdir(parents=True)
    write_part(folder, "train", 200, seed=1)
    write_part(folder, "t10k", 100, seed=2)
    monkeypatch.setenv("ORFIT_BENCH_DATA", str(tmp_path / "data"))
    return folder


@pytest.fixture(params=STREAMS, ids=lambda stream: stream.name)
def stream(request: pytest.FixtureRequest, tiny: Path) -> Stream:
    """Every stream, MNIST being the tiny one."""
    chosen: Stream = request.param
    return chosen
