"""Files that cannot be read: one sentence with the name of the file and the problem."""

from __future__ import annotations

import gzip
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import zarr
from click.testing import CliRunner

import orfit_bench as ob
from orfit_bench.cli import main
from orfit_bench.spec import Stream

ENDINGS = (".csv", ".csv.gz", ".tsv", ".parquet", ".pq", ".arrow", ".arrows", ".feather", ".ipc", ".npy")
TEXT = b"a,fare\n1,2\n2,3\n"
TABLE = pd.DataFrame({"a": np.arange(3000.0) / 7, "fare": np.arange(3000.0)})


def refused(path: Path, message: str) -> None:
    """Check that the file is refused in Python and by the command, in one line."""
    with pytest.raises((ValueError, FileNotFoundError), match=message) as info:
        Stream.from_file(path, "fare").load()
    assert str(info.value).startswith(f"{path}: ")
    result = CliRunner().invoke(main, ["run", "--data", str(path), "--target", "fare", "--method", "lms"])
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    assert result.output.count("\n") == 1


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_empty_file_is_named(ending: str, tmp_path: Path) -> None:
    (path := tmp_path / f"rides{ending}").write_bytes(b"")
    refused(path, "the file is empty")


@pytest.mark.parametrize("ending", [*ENDINGS[3:], ".csv.gz"])
def test_a_text_with_the_ending_of_another_format_is_named(ending: str, tmp_path: Path) -> None:
    (path := tmp_path / f"rides{ending}").write_bytes(TEXT)
    refused(path, "by its ending this is .*, but it does not begin as such a file")


def test_other_formats_are_known_by_their_content(tmp_path: Path) -> None:
    TABLE.to_parquet(tmp_path / "rides.csv")
    refused(tmp_path / "rides.csv", "by its ending this is a text file, but it begins as Parquet")
    np.savez(tmp_path / "rides.npz", a=np.ones(3))
    refused((tmp_path / "rides.npz").rename(tmp_path / "rides.npy"), r"begins as a ZIP archive, such as .npz")
    (tmp_path / "packed.csv").write_bytes(gzip.compress(TEXT))
    refused(tmp_path / "packed.csv", "it begins as gzip")
    (tmp_path / "excel.csv").write_text(TEXT.decode(), "utf-16")
    refused(tmp_path / "excel.csv", "text in UTF-16")
    (tmp_path / "umlaut.csv").write_bytes("größe,fare\n1,2\n".encode("latin-1"))
    refused(tmp_path / "umlaut.csv", "the text is not in UTF-8")
    (tmp_path / "rides.xlsx").write_bytes(b"PK\x03\x04")
    refused(tmp_path / "rides.xlsx", r"the format is not known by its ending, want one of .csv")


def test_a_file_that_is_cut_off_is_named(tmp_path: Path) -> None:
    TABLE.to_csv(tmp_path / "rides.csv.gz", index=False)
    TABLE.to_parquet(tmp_path / "rides.parquet")
    TABLE.to_feather(tmp_path / "rides.feather")
    np.save(tmp_path / "rides.npy", TABLE.to_records(index=False))
    for path in tmp_path.iterdir():
        path.write_bytes(path.read_bytes()[: path.stat().st_size * 9 // 10])
        refused(path, "cannot be read: ")


def test_a_long_file_that_is_cut_off_is_named_wherever_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rides.csv.gz"
    path.write_bytes(gzip.compress(b"a,fare\n" + b"1.25,2.5\n" * 400_000, 1)[:-100])
    with pytest.raises(ValueError, match=r"rides.csv.gz: cannot be read: Truncated compressed stream"):
        Stream.from_file(path, "fare").load()


def test_folders_without_data_are_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "the folder holds no parquet files")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "README.txt").write_text("rides")
    refused(tmp_path / "other", "cannot be read: .*README.txt")
    (tmp_path / "empty.zarr").mkdir()
    refused(tmp_path / "empty.zarr", "holds no Zarr array or group")
    zarr.open_group(tmp_path / "group.zarr", mode="w")
    refused(tmp_path / "group.zarr", "the group holds no arrays")
    refused(tmp_path / "nowhere" / "rides.csv", "no such file")


def test_a_header_that_is_missing_is_asked_for(tmp_path: Path) -> None:
    (path := tmp_path / "rides.csv").write_text("1,0,0\n2,3,4\n")
    refused(path, "the first row has to name the columns")


def test_errors_do_not_repeat_the_name(tmp_path: Path) -> None:
    (tmp_path / "ragged.csv").write_bytes(TEXT + b"1\n")
    refused(tmp_path / "ragged.csv", r"cannot be read: CSV parse error: Row #4: Expected 2 columns, got 1: 1$")
    (tmp_path / "blank.csv").write_bytes(b"\n\n")
    refused(tmp_path / "blank.csv", "cannot be read: it has no header and no rows$")


def test_a_target_that_does_not_exist_has_a_near_name(tmp_path: Path) -> None:
    (path := tmp_path / "rides.csv").write_bytes(TEXT)
    result = CliRunner().invoke(main, ["run", "--data", str(path), "--target", "Fair"])
    assert result.exit_code == 2
    assert "no column 'Fair' (target). Did you mean 'fare'? Known: a, fare." in result.output
    for shard in (path, TABLE):
        with pytest.raises(ValueError, match=r"no column 'fair'. Did you mean 'fare'"):
            ob.learn("rls", [shard], target="fair")


def test_a_text_that_is_longer_than_a_block_is_named(tmp_path: Path) -> None:
    (path := tmp_path / "long.csv").write_text(f"a,fare\n1,2\n1,{'0' * 5 * 2**20}\n2,3\n")
    refused(path, "a row is longer than 1 MiB, or a quotation mark is never closed")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_name_that_is_no_text_is_named(ending: str, tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff" + ending.encode())
    TABLE.to_csv(path) if ending == ".csv" else Path(path).write_bytes(b"PAR1")
    with pytest.raises(ValueError, match=r"bad\\udcff.*rename the file"):
        Stream.from_file(path, "fare").load()
