"""MNIST: its parts, where its files are searched, and damaged files."""

from __future__ import annotations

import gzip
import hashlib
import logging
import os
from pathlib import Path

import numpy as np
import pytest
from helpers.streams import BY_NAME, arrays, assert_sound, shared_rows, write_idx, write_part

from orfit_bench.catalogue.streams import DataNotFound, mnist_files, rotated_digits
from orfit_bench.spec.data import Array

pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.parametrize(("part", "most", "tested"), [("test", 80, 10), ("train", 180, 100)])
def test_parts_of_mnist_are_disjoint(tiny: Path, part: str, most: int, tested: int) -> None:
    data = BY_NAME["mnist"].load(n=most, part=part)
    assert_sound(data)
    assert data.X.shape == (most, 784)
    assert data.y.shape == (most, 10)
    assert [len(a) for a in arrays(data)[2::2]] == [tested, most // 8 if part == "test" else 20]
    assert len(np.unique(np.concatenate(arrays(data)[::2]), axis=0)) == (100 if part == "test" else 300)
    known = dict(zip((i.tobytes() for i in mnist_files.read(part)[0] / 255), np.arange(200) % 10, strict=False))
    assert [known[row.tobytes()] for row in data.X] == np.argmax(data.y, axis=1).tolist()
    with pytest.raises(ValueError, match=f"n={most + 1}: want at most {most}, for part '{part}'"):
        BY_NAME["mnist"].load(n=most + 1, part=part)


def test_mnist_by_class_has_one_task_per_class(tiny: Path) -> None:
    data = BY_NAME["mnist"].load(n=80, order="class")
    assert (np.diff(np.argmax(data.y, axis=1)) >= 0).all()
    assert len(data.tasks) == 11


@pytest.mark.parametrize(("part", "tested"), [("test", 6), ("train", 10)])
def test_rotated_mnist_shows_the_digit_of_the_setting(tiny: Path, part: str, tested: int) -> None:
    data = rotated_digits.make_mnist(2, 7, part, 0, lambda images, angles: (images.reshape(len(images), -1), angles))
    assert_sound(data)
    assert len(arrays(data)[2]) == tested
    images = mnist_files.read("train")[0], mnist_files.read("test")[0]
    sevens = np.concatenate([part[7::10].reshape(-1, 784) / 255 for part in images])
    for rows in arrays(data)[::2]:
        assert shared_rows(rows, sevens) == len(rows)
    assert shared_rows(arrays(data)[2], data.X) == 0


def test_too_many_rotated_mnist_are_refused(tiny: Path) -> None:
    with pytest.raises(ValueError, match="n=9: want at most 8, all but 2 of the 10"):
        BY_NAME["rotated_mnist"].load(n=9)


@pytest.mark.parametrize("name", ["mnist", "rotated_mnist"])
def test_message_about_missing_mnist_names_both_remedies(empty: Path, name: str) -> None:
    stated = "MNIST is not on this machine: ORFIT_BENCH_DATA may name a folder that holds mnist/t10k-images"
    probed = BY_NAME[name].probe()
    assert probed.startswith(stated)
    assert probed.endswith("a run that names the stream fetches it once when online")
    with pytest.raises(DataNotFound, match=rf"{stated}.*could not be fetched \(ConnectionError\): go online once"):
        BY_NAME[name].load()


def test_folder_without_mnist_is_named(empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORFIT_BENCH_DATA", str(tmp_path))
    stated = f"the folder in ORFIT_BENCH_DATA, {tmp_path}, lacks mnist/t10k-images-idx3-ubyte.gz; "
    assert BY_NAME["mnist"].probe() == stated + "a run that names the stream fetches it once when online"
    with pytest.raises(DataNotFound) as caught:
        BY_NAME["mnist"].load()
    assert str(caught.value).startswith(stated + "it could not be fetched")


def test_folder_without_the_needed_part_is_refused(tiny: Path) -> None:
    (tiny / "train-images-idx3-ubyte.gz").unlink()
    assert BY_NAME["mnist"].probe() == ""
    with pytest.raises(DataNotFound, match=r"lacks mnist/train-images-idx3-ubyte\.gz"):
        BY_NAME["mnist"].load(part="train")


def test_cache_is_used_before_the_network(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (empty / "mnist").mkdir(parents=True)
    write_part(empty / "mnist", "t10k", 100, seed=2)
    assert BY_NAME["mnist"].probe() == ""
    with pytest.raises(ValueError, match=r"is damaged \(its SHA-256 does not fit\): delete it"):
        BY_NAME["mnist"].load(n=20)
    for path in (empty / "mnist").iterdir():
        monkeypatch.setitem(mnist_files.SHA256, path.name, hashlib.sha256(path.read_bytes()).hexdigest())
    assert_sound(BY_NAME["mnist"].load(n=20))


def test_missing_files_are_downloaded_to_the_cache_with_checksums(
    empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def retrieve(url: str, known_hash: str, fname: str, path: Path) -> str:
        asked.append((url.removesuffix(fname), known_hash, path))
        assert not pooch.get_logger().isEnabledFor(logging.INFO), "its lines would stand amid ours"
        return str(tmp_path / fname)

    import pooch

    asked: list[tuple[str, str, Path]] = []
    pooch.get_logger().setLevel("INFO")
    write_part(tmp_path, "t10k", 100, seed=2)
    monkeypatch.setattr("pooch.retrieve", retrieve)
    BY_NAME["mnist"].load(n=20)
    hashes = [mnist_files.SHA256[f"t10k-{kind}-ubyte.gz"] for kind in ("images-idx3", "labels-idx1")]
    assert asked == [(mnist_files.URL, known, empty / "mnist") for known in hashes]


@pytest.mark.parametrize("where", ["archive", "too short", "too long", "header", "not gzip", "empty"])
def test_damaged_file_is_named(tiny: Path, where: str) -> None:
    path = tiny / "t10k-images-idx3-ubyte.gz"
    packed = path.read_bytes()
    idx = gzip.decompress(packed)
    path.write_bytes(
        {
            "archive": packed[:-1000],
            "too short": gzip.compress(idx[:-1]),
            "too long": gzip.compress(idx + b"\0"),
            "header": gzip.compress(b"\0\0\x0d" + idx[3:]),
            "not gzip": idx,
            "empty": b"",
        }[where]
    )
    with pytest.raises(ValueError, match=r"t10k-images-idx3-ubyte\.gz is damaged .*replace it"):
        BY_NAME["mnist"].load(n=20)


@pytest.mark.parametrize("labels", [np.zeros(99), np.full(100, 10)])
def test_labels_and_images_of_different_number_are_refused(tiny: Path, labels: Array) -> None:
    write_idx(tiny / "t10k-labels-idx1-ubyte.gz", labels)
    with pytest.raises(ValueError, match="does not hold one label from 0 to 9 for each image"):
        BY_NAME["mnist"].load(n=20)


@pytest.mark.skipif(not os.environ.get("ORFIT_BENCH_DATA"), reason="ORFIT_BENCH_DATA names no folder with MNIST")
def test_real_mnist() -> None:
    images, labels = mnist_files.read("test")
    assert images.shape == (10000, 28, 28)
    assert np.bincount(labels)[2] == 1032
    assert_sound(BY_NAME["mnist"].load(n=8000))
    data = BY_NAME["rotated_mnist"].load()
    assert_sound(data)
    assert data.X.max() <= 1.0
