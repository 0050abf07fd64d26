"""The digits of scikit-learn: plain, by class, and rotated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.streams import BY_NAME, arrays, assert_sound, shared_rows
from hypothesis import given, settings
from hypothesis import strategies as st

from orfit_bench.catalogue.streams import digits, rotated_digits

pytestmark = pytest.mark.filterwarnings("error")


def test_digits_equal_those_of_scikit_learn() -> None:
    theirs = pytest.importorskip("sklearn.datasets").load_digits()
    images, labels = digits.raw()
    assert np.array_equal(images, theirs.images)
    assert np.array_equal(labels, theirs.target)


def test_digits_are_pixels_and_classes() -> None:
    images, labels = digits.raw()
    assert images.shape == (1797, 8, 8)
    known = {(image / 16).tobytes(): label for image, label in zip(images, labels, strict=True)}
    data = BY_NAME["digits"].load()
    for X, y in ((data.X, data.y), data.test, data.validation):  # type: ignore[misc]
        assert [known[row.tobytes()] for row in X] == np.argmax(y, axis=1).tolist()
        assert np.array_equal(np.sort(y, axis=1), np.eye(10)[[9] * len(y)])
    assert len(np.unique(np.concatenate(arrays(data)[::2]), axis=0)) == 1797


@pytest.mark.parametrize("n", [1, 5, 1200])
def test_digits_by_class_have_one_task_per_class(n: int) -> None:
    data = BY_NAME["digits"].load(n=n, order="class")
    labels = np.argmax(data.y, axis=1)
    assert_sound(data)
    assert (np.diff(labels) >= 0).all()
    assert len(data.tasks) - 1 == len(np.unique(labels))
    assert all(len(set(labels[a:b])) == 1 for a, b in zip(data.tasks, data.tasks[1:], strict=False))
    assert shared_rows(data.X, BY_NAME["digits"].load(n=n).X) == n


@pytest.mark.parametrize("n", [1, 30, 1200])
def test_class_digits_are_the_digits_by_class_with_their_labels(n: int) -> None:
    data, twin = BY_NAME["class_digits"].load(n=n, seed=5), BY_NAME["digits"].load(n=n, seed=5, order="class")
    assert data.tasks == twin.tasks
    labelled, numbered = arrays(data), arrays(twin)
    for i in (0, 2, 4):
        assert np.array_equal(labelled[i], numbered[i])
        assert np.array_equal(labelled[i + 1], np.argmax(numbered[i + 1], axis=1))
    assert set(np.unique(data.test[1])) == set(range(10))  # type: ignore[index]


@pytest.mark.parametrize(("n", "tasks"), [(1, 1), (7, 7), (10, 10), (100, 10), (175, 10)])
def test_rotated_digits_are_ordered_by_angle(n: int, tasks: int) -> None:
    data = BY_NAME["rotated_digits"].load(n=n)
    assert_sound(data)
    assert data.X.shape == (n, 784)
    assert data.y.shape == (n,)
    assert (np.diff(data.y) > 0).all()
    assert len(data.tasks) == tasks + 1
    assert len(arrays(data)[2]) + len(arrays(data)[4]) == 177 - n
    for pixels, angles in (arrays(data)[i : i + 2] for i in (0, 2, 4)):
        assert pixels.min() >= 0.0
        assert pixels.max() <= 1.0
        assert angles.min() >= 0.0
        assert angles.max() <= np.pi


def test_angles_cover_half_a_turn() -> None:
    angles = np.concatenate([BY_NAME["rotated_digits"].load(seed=seed).y for seed in range(5)])
    counts = np.histogram(angles, 5, (0, np.pi))[0]
    assert counts.min() > 70
    assert counts.max() < 130


@given(n=st.integers(1, 175), seed=st.integers(0, 99))
@settings(deadline=None)
def test_training_and_test_images_are_disjoint(n: int, seed: int) -> None:
    pieces = rotated_digits.split(np.arange(177), n, np.random.default_rng(seed))
    assert [len(piece) > 0 for piece in pieces] == [True] * 3
    assert len(pieces[0]) == n
    assert np.array_equal(np.sort(np.concatenate(pieces)), np.arange(177))


def flatten(images: Any, angles: Any) -> Any:
    return images.reshape(len(images), -1), angles


def test_digits_at_angle_zero_are_all_different(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotated_digits, "rotate_images", flatten)
    rows = np.concatenate(arrays(BY_NAME["rotated_digits"].load())[::2])
    assert len(np.unique(rows, axis=0)) == 177


@pytest.mark.parametrize(("angle", "quarters"), [(0.0, 0), (np.pi / 2, 1), (np.pi, 2)])
def test_rotation_is_counter_clockwise_in_radians(angle: float, quarters: int) -> None:
    image = np.random.default_rng(0).random((28, 28))
    rows, _ = rotated_digits.rotate_images(image[None], np.array([angle]))
    np.testing.assert_allclose(rows[0].reshape(28, 28), np.rot90(image, quarters), atol=1e-12)


def test_rotation_keeps_all_of_an_enlarged_digit() -> None:
    image = rotated_digits.enlarge(np.ones((1, 8, 8)))
    rows, _ = rotated_digits.rotate_images(image.repeat(9, axis=0), np.linspace(0, np.pi, 9))
    np.testing.assert_allclose(rows.sum(axis=1), image.sum(), rtol=0.01)


def test_every_digit_can_be_rotated() -> None:
    labels = digits.raw()[1]
    for digit in range(10):
        data = BY_NAME["rotated_digits"].load(n=2, digit=digit)
        assert sum(map(len, arrays(data)[::2])) == np.count_nonzero(labels == digit)


def test_too_many_rotated_digits_are_refused() -> None:
    with pytest.raises(ValueError, match="n=176: want at most 175, all but 2 of the 177 images"):
        BY_NAME["rotated_digits"].load(n=176)
