"""The real data: where they are, what is read, and which rows are learned and used for tests."""

import numpy as np
import pytest

from orfit_bench.spec import Data
from orfit_bench_papers import data


def test_the_files_of_real_data_are_distinguished(tmp_path, monkeypatch):
    monkeypatch.setenv("ORFIT_BENCH_DATA", str(tmp_path))
    monkeypatch.setattr(data.mnist_files, "_cache", lambda: tmp_path / "none")
    for folder, names in (("mnist", list(data.mnist_files.SHA256)), ("cifar10", data.BATCHES)):
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / name).write_bytes(b"")
    assert [len(data.files(name)) for name in ("digits", "mnist", "cifar10", "its own")] == [0, 4, 6, 0]


def test_cifar_10_is_read_from_the_binary_files(tmp_path, monkeypatch):
    folder = tmp_path / "cifar10"
    folder.mkdir()
    pixels = np.random.default_rng(0).integers(0, 256, (6, 2, data.RECORD), np.uint8)
    for name, batch in zip(data.BATCHES, pixels, strict=True):
        batch.tofile(folder / name)
    monkeypatch.setenv("ORFIT_BENCH_DATA", str(tmp_path))
    assert not data.why_absent("cifar10")
    X = data.centred("cifar10")
    assert X.shape == (12, 3072)
    np.testing.assert_allclose(X[0] - X[1], (pixels[0, 0, 1:].astype(float) - pixels[0, 1, 1:]) / 255, atol=1e-15)
    (folder / "test_batch.bin").write_bytes(b"short")
    with pytest.raises(ValueError, match="is damaged"):
        data.centred("cifar10")


@pytest.mark.parametrize(("here", "part"), [(("test",), "test"), (("train", "test"), "train")])
def test_mnists_training_part_is_learned_where_it_is_at_hand(here, part, monkeypatch):
    found = Data(np.zeros((5, 4)), np.zeros(5), (np.ones((3, 4)), np.ones(3)), (np.ones((2, 4)), np.ones(2)))
    asked = []
    monkeypatch.setattr(data.mnist_files, "why_absent", lambda name: "" if name in here else "it is not here")
    monkeypatch.setattr(data.rotated_digits, "make_mnist", lambda *arguments: asked.append(arguments) or found)
    got = data.rotated("mnist", 5, 7)
    assert asked[0][:4] == (5, 2, part, 7)
    assert got.validation is None
    assert [len(rows) for rows in got.test] == ([3, 3] if part == "train" else [5, 5])
    assert ("as in the thesis" in data.origin("mnist")) == (part == "train")


def test_images_that_nobody_validates_on_are_tested_on():
    kept, complete = data.rotated("digits", 100, 0, validation=True), data.rotated("digits", 100, 0)
    assert (
        len(complete.test[0])
        == len(complete.test[1])
        == len(kept.test[0]) + len(kept.validation[0])
        > len(kept.test[0])
    )
    assert complete.validation is None
    np.testing.assert_array_equal(complete.X, kept.X)
