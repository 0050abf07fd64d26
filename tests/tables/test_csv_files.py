"""CSV files: what separates their columns, and texts that are neither numbers nor UTF-8."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from orfit_bench.spec import Stream


def written(folder: Path, name: str, content: str | bytes) -> Path:
    (path := folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_separators_in_quoted_names_do_not_count(separator: str, tmp_path: Path) -> None:
    lines = [['"height, cm"', "a", "y"], ["1.5", "2", "3"], ["2.5", "4", "5"]]
    path = written(tmp_path, "rides.csv", "".join(separator.join(line) + "\n" for line in lines))
    data = Stream.from_file(path, "y").load()
    assert data.feature_names == ("height, cm", "a")
    np.testing.assert_array_equal(data.X, [[1.5, 2.0], [2.5, 4.0]])


@pytest.mark.parametrize("name", ["rides.tsv", "RIDES.TSV"])
def test_tabs_separate_the_columns_of_tsv_files_whatever_their_names_hold(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, "height, cm\ta;b\ty\n1.5\t2\t3\n2.5\t4\t5\n")
    data = Stream.from_file(path, "y").load()
    assert data.feature_names == ("height, cm", "a;b")
    np.testing.assert_array_equal(data.X, [[1.5, 2.0], [2.5, 4.0]])


def test_the_ending_tsv_alone_makes_no_tabs(tmp_path: Path) -> None:
    assert Stream.from_file(written(tmp_path, "rides.tsv", "a,y\n1,2\n"), "y").load().feature_names == ("a",)
