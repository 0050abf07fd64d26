"""The streams: what they promise about their rows, and what they say when they cannot deliver."""

from __future__ import annotations

import gzip
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orfit_bench.catalogue.streams import STREAMS, DataNotFound, digits, mnist_files, rotated_digits
from orfit_bench.spec.method import KINDS
from orfit_bench.spec.stream import OFFERS, Array, Data, Stream

pytestmark = pytest.mark.filterwarnings("error")

BY_NAME = {stream.name: stream for stream in STREAMS}
SYNTHETIC = ("regression", "drift", "recurring", "ill_conditioned", "delay_line")
SIZES = {
    "n": st.integers(1, 60),
    "d": st.integers(1, 20),
    "outputs": st.integers(1, 3),
    "seed": st.integers(0, 9),
}
SMALL = {"mnist": {"n": 50}, "rotated_mnist": {"n": 5}}
"""What fits the tiny MNIST of these tests."""


def write_idx(path: Path, values: Array) -> None:
    """A gzipped idx file of bytes, as MNIST is published."""
    header = np.array([0x800 + values.ndim, *values.shape], ">i4").tobytes()
    path.write_bytes(gzip.compress(header + values.astype(np.uint8).tobytes()))


def write_part(folder: Path, prefix: str, count: int, seed: int) -> None:
    """Random images, no two alike, with labels 0 to 9 in turn."""
    images = np.random.default_rng(seed).integers(0, 256, (count, 28, 28))
    write_idx(folder / f"{prefix}-images-idx3-ubyte.gz", images)
    write_idx(folder / f"{prefix}-labels-idx1-ubyte.gz", np.arange(count) % 10)


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


def pairs(data: Data) -> list[Any]:
    """X and y of the rows learned, of the test set and of the validation part, where there are these."""
    return [pair for pair in ((data.X, data.y), data.test, data.validation) if pair is not None]


def arrays(data: Data) -> list[Array]:
    """All arrays of the data, each X before its y, if it has one."""
    return [a for pair in pairs(data) for a in pair if a is not None]


def assert_sound(data: Data) -> None:
    """Pairs match, numbers are finite, arrays are float64 in rows, labels integers, tasks cover the rows."""
    for X, y in pairs(data):
        assert len(X) > 0
        assert X.shape[1:] == data.X.shape[1:]
        assert X.dtype == np.float64
        assert (y is None) == (data.y is None)
        if y is not None:
            assert len(X) == len(y)
            assert y.shape[1:] == data.y.shape[1:]  # type: ignore[union-attr]
            assert y.dtype == np.float64 or (y.ndim == 1 and y.dtype == np.int64)
    for a in arrays(data):
        assert a.flags.c_contiguous
        assert np.isfinite(a).all()
    if data.tasks:
        assert data.tasks[0] == 0
        assert data.tasks[-1] == len(data.X)
        assert all(type(row) is int for row in data.tasks)
        assert (np.diff(data.tasks) > 0).all()


def shared_rows(a: Array, b: Array) -> int:
    """How many rows of a are rows of b."""
    known = {row.tobytes() for row in b}
    return sum(row.tobytes() in known for row in a)


# Every stream


def test_what_a_stream_offers_decides_who_learns_it() -> None:
    suiting = {s: {k for k in KINDS if Stream("x", "", Data, offers=s).suits(k)} for s in OFFERS}
    assert suiting["numbers"] == {"regression", "filter", "subspace"}
    assert suiting["labels"] == {"classification", "subspace"}
    assert suiting["rows"] == {"subspace"}
    with pytest.raises(ValueError, match="stream 'x': it offers 'number', want one of numbers, labels, rows"):
        Stream("x", "", Data, offers="number")


def test_rows_alone_are_cut_without_a_y() -> None:
    data = Data(np.arange(6.0).reshape(3, 2))
    assert [(X.tolist(), y) for X, y in data.chunks(2)] == [([[0, 1], [2, 3]], None), ([[4, 5]], None)]


def test_names_are_unique() -> None:
    assert len(BY_NAME) == len(STREAMS)


def test_data_are_sound(stream: Stream) -> None:
    data = stream.load(**SMALL.get(stream.name, {}))
    assert_sound(data)
    assert getattr(data.y, "dtype", None) == {"numbers": float, "labels": int, "rows": None}[stream.offers]
    for held_out in (data.test, data.validation):
        assert (held_out is None) == (stream.name == "state_space")
        assert held_out is None or shared_rows(held_out[0], data.X) == 0


def test_the_same_settings_give_the_same_bits(stream: Stream) -> None:
    chosen = SMALL.get(stream.name, {})
    first, again, other = (stream.load(**chosen, seed=seed) for seed in (3, 3, 4))
    assert [a.tobytes() for a in arrays(first)] == [a.tobytes() for a in arrays(again)]
    assert first.tasks == again.tasks
    assert first.X.tobytes() != other.X.tobytes()


def test_the_global_generator_is_untouched(stream: Stream) -> None:
    before = repr(np.random.get_state())  # noqa: NPY002
    stream.load(**SMALL.get(stream.name, {}))
    assert repr(np.random.get_state()) == before  # noqa: NPY002


def test_chunks_are_the_stream_in_order(stream: Stream) -> None:
    data = stream.load(**SMALL.get(stream.name, {"n": 50}))
    X, y = zip(*data.chunks(7), strict=True)
    assert np.array_equal(np.concatenate(X), data.X)
    assert set(y) == {None} if data.y is None else np.array_equal(np.concatenate(y), data.y)
    assert [len(X) for X, _ in data.chunks(7)] == [7] * (len(data.X) // 7) + [len(data.X) % 7]


def test_defaults_lie_in_their_ranges(stream: Stream) -> None:
    for setting in stream.settings:
        assert setting.check(setting.default) == setting.default


@pytest.mark.parametrize("bad", [{"n": 0}, {"n": 2.5}, {"seed": -1}, {"n": "many"}])
def test_a_bad_setting_is_named_with_what_is_wanted(stream: Stream, bad: dict[str, Any]) -> None:
    (name,) = bad
    with pytest.raises((ValueError, TypeError), match=rf"{name}=.*want an integer in"):
        stream.load(**bad)


def test_an_unknown_setting_is_refused(stream: Stream) -> None:
    with pytest.raises(TypeError, match=r"no setting 'rows'\. Known: "):
        stream.load(rows=5)


def test_importing_the_streams_is_light() -> None:
    heavy = "{'scipy', 'pooch', 'sklearn'}"
    code = (
        f"import sys, orfit_bench.catalogue.streams; assert not {heavy} & set(sys.modules), {heavy} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


# Synthetic streams


@pytest.mark.parametrize("name", SYNTHETIC)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_any_size_will_do(name: str, data: st.DataObject) -> None:
    chosen = {setting: data.draw(values, setting) for setting, values in SIZES.items()}
    made = BY_NAME[name].load(**chosen)
    assert_sound(made)
    assert made.X.shape == (chosen["n"], chosen["d"])
    assert made.y.shape == ((chosen["n"],) if chosen["outputs"] == 1 else (chosen["n"], chosen["outputs"]))


@pytest.mark.parametrize("name", ["regression", "delay_line"])
def test_without_noise_one_model_explains_all_rows(name: str) -> None:
    data = BY_NAME[name].load(n=60, d=7, outputs=2, noise=0.0)
    W = np.linalg.lstsq(data.X, data.y)[0]
    for X, y in ((data.X, data.y), data.test, data.validation):  # type: ignore[misc]
        np.testing.assert_allclose(X @ W, y, atol=1e-12)


@pytest.mark.parametrize("name", ["regression", "drift", "ill_conditioned", "delay_line"])
def test_noise_has_the_standard_deviation_asked_for(name: str) -> None:
    quiet, noisy = (BY_NAME[name].load(n=4000, noise=noise) for noise in (0.0, 2.0))
    assert np.array_equal(quiet.X, noisy.X)
    assert np.std(noisy.y - quiet.y) == pytest.approx(2.0, rel=0.05)
    assert [a.tobytes() for a in arrays(quiet)[2:]] == [a.tobytes() for a in arrays(noisy)[2:]]


def test_drift_is_tested_on_the_last_weights() -> None:
    data = BY_NAME["drift"].load(n=3000, d=4, drift=0.1, noise=0.0)
    assert data.test is not None
    W = np.linalg.lstsq(*data.test)[0]
    misfit = (data.X @ W - data.y) ** 2
    assert misfit[-1] == pytest.approx(0.0, abs=1e-24)
    assert misfit[-30:].mean() < 0.1 * misfit[:300].mean()
    assert data.tasks == tuple(range(0, 3001, 300))


def test_drift_walks_at_the_pace_asked_for() -> None:
    data = BY_NAME["drift"].load(n=4000, d=1, drift=0.5, noise=0.0)
    steps = np.diff(data.y / data.X[:, 0])
    assert np.std(steps) == pytest.approx(0.5, rel=0.05)


def test_without_drift_the_weights_stay() -> None:
    data = BY_NAME["drift"].load(n=50, d=5, drift=0.0, noise=0.0)
    W = np.linalg.lstsq(*data.test)[0]  # type: ignore[misc]
    np.testing.assert_allclose(data.X @ W, data.y, atol=1e-12)


@given(n=st.integers(1, 80), d=st.integers(1, 20), period=st.integers(1, 30))
@settings(deadline=None)
def test_recurring_rows_come_again_after_a_period(n: int, d: int, period: int) -> None:
    data = BY_NAME["recurring"].load(n=n, d=d, period=period)
    np.testing.assert_allclose(np.linalg.norm(data.X, axis=1), 1.0, rtol=1e-14)
    assert np.array_equal(data.X[period:], data.X[:-period])
    assert np.array_equal(data.y[period:], data.y[:-period])
    assert data.tasks == (*range(0, n, period), n)
    if d > 1:
        assert len(np.unique(data.X, axis=0)) == min(n, period)


def test_recurring_tests_within_the_span_of_its_rows() -> None:
    data = BY_NAME["recurring"].load(n=12, d=30, period=4)
    least = np.linalg.pinv(data.X) @ data.y
    for X, y in (data.test, data.validation):  # type: ignore[misc]
        np.testing.assert_allclose(X @ least, y, atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0, rtol=1e-14)


@given(n=st.integers(2, 60), d=st.integers(2, 40), power=st.floats(0, 8), seed=st.integers(0, 99))
@settings(deadline=None)
def test_the_condition_number_is_the_one_asked_for(n: int, d: int, power: float, seed: int) -> None:
    data = BY_NAME["ill_conditioned"].load(n=n, d=d, condition=10**power, seed=seed)
    s = np.linalg.svd(data.X, compute_uv=False)
    assert s[0] == pytest.approx(np.sqrt(n), rel=1e-12)
    assert s[0] / s[-1] == pytest.approx(10**power, rel=1e-13 * 10**power)  # the SVD's error in s[-1] is eps s[0]
    np.testing.assert_allclose(np.diff(np.log10(s)), -power / (len(s) - 1), atol=1e-13 * 10**power)


def test_ill_conditioned_is_tested_under_the_law_it_learns() -> None:
    data = BY_NAME["ill_conditioned"].load(n=200, d=3, condition=10.0)
    assert data.test is not None
    learned, tested = (X.T @ X / len(X) for X in (data.X, data.test[0]))
    np.testing.assert_allclose(tested, learned, atol=0.15)


@given(n=st.integers(1, 60), d=st.integers(1, 40))
@settings(deadline=None)
def test_a_delay_line_shifts_by_one_each_row(n: int, d: int) -> None:
    data = BY_NAME["delay_line"].load(n=n, d=d)
    for X in (data.X, data.test[0], data.validation[0]):  # type: ignore[index]
        assert np.array_equal(X[1:, 1:], X[:-1, :-1])
        assert len(np.unique(X)) == len(X) + d - 1


@given(n=st.integers(1, 30), d=st.integers(1, 5), outputs=st.integers(1, 3), F=st.sampled_from([-1.0, 0.0, 0.5, 1.0]))
@settings(deadline=None)
def test_without_noise_a_state_moves_by_its_transition(n: int, d: int, outputs: int, F: float) -> None:
    still = {"n": n, "d": d, "outputs": outputs, "process_noise": 0.0, "observation_noise": 0.0}
    data = BY_NAME["state_space"].load(**still, transition=F)
    at_rest = BY_NAME["state_space"].load(**still, transition=1.0)
    y = at_rest.y * (F ** np.arange(n)).reshape(-1, *[1] * (data.y.ndim - 1))  # type: ignore[operator, union-attr]
    np.testing.assert_allclose(data.y, y, atol=1e-12)
    W = np.linalg.lstsq(data.X, at_rest.y)[0]
    np.testing.assert_allclose(data.X @ W, at_rest.y, atol=1e-10)


@pytest.mark.parametrize("settings", [{}, {"transition": 0.5, "process_noise": 0.75}, {"transition": 1.0}])
def test_the_filter_of_a_state_space_has_white_innovations_of_the_variance_it_foretells(
    settings: dict[str, float],
) -> None:
    """Only the filter that knows the truth has that: e^2 / s is chi-squared, mean 1, and e_t e_(t-1) has mean 0."""
    known = {s.name: s.default for s in BY_NAME["state_space"].settings} | settings
    F, Q, R = (known[name] for name in ("transition", "process_noise", "observation_noise"))
    data = BY_NAME["state_space"].load(n=4000, d=3, **settings)
    m, P, found = np.zeros(3), np.eye(3), []
    for t, (x, y) in enumerate(zip(data.X, data.y, strict=True)):  # type: ignore[arg-type]
        if t:
            m, P = F * m, F * F * P + Q * np.eye(3)
        s = x @ P @ x + R
        found.append((y - x @ m) / np.sqrt(s))
        m, P = m + P @ x * (y - x @ m) / s, P - np.outer(P @ x, P @ x) / s
    e = np.array(found)
    four = 4 / np.sqrt(len(e))  # standard deviations of the means below, whose terms have variance 2 and 1
    assert np.mean(e**2) == pytest.approx(1, abs=four * np.sqrt(2))
    assert np.mean(e[1:] * e[:-1]) == pytest.approx(0, abs=four)


def test_a_state_that_starts_in_balance_stays_there() -> None:
    """With the default settings Q is 1 - F^2 to half a percent, so each entry of the state has variance 1."""
    data = BY_NAME["state_space"].load(n=3000, d=2, outputs=200, observation_noise=0.0)
    assert np.var(data.y[-500:]) == pytest.approx(2.0, rel=0.1)  # type: ignore[index]
    assert np.var(data.y[:500]) == pytest.approx(2.0, rel=0.1)  # type: ignore[index]


# Digits


def test_digits_are_the_ones_scikit_learn_has() -> None:
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
def test_digits_by_class_have_one_task_a_class(n: int) -> None:
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
def test_rotated_digits_come_by_growing_angles(n: int, tasks: int) -> None:
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


def test_angles_fill_the_half_turn() -> None:
    angles = np.concatenate([BY_NAME["rotated_digits"].load(seed=seed).y for seed in range(5)])
    counts = np.histogram(angles, 5, (0, np.pi))[0]
    assert counts.min() > 70
    assert counts.max() < 130


@given(n=st.integers(1, 175), seed=st.integers(0, 99))
@settings(deadline=None)
def test_no_image_is_both_learned_and_held_out(n: int, seed: int) -> None:
    pieces = rotated_digits.split(np.arange(177), n, np.random.default_rng(seed))
    assert [len(piece) > 0 for piece in pieces] == [True] * 3
    assert len(pieces[0]) == n
    assert np.array_equal(np.sort(np.concatenate(pieces)), np.arange(177))


def test_unturned_rotated_digits_are_all_different(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotated_digits, "turned", lambda images, angles: (images.reshape(len(images), -1), angles))
    rows = np.concatenate(arrays(BY_NAME["rotated_digits"].load())[::2])
    assert len(np.unique(rows, axis=0)) == 177


@pytest.mark.parametrize(("angle", "quarters"), [(0.0, 0), (np.pi / 2, 1), (np.pi, 2)])
def test_turning_is_counter_clockwise_in_radians(angle: float, quarters: int) -> None:
    image = np.random.default_rng(0).random((28, 28))
    rows, _ = rotated_digits.turned(image[None], np.array([angle]))
    np.testing.assert_allclose(rows[0].reshape(28, 28), np.rot90(image, quarters), atol=1e-12)


def test_turning_cuts_nothing_off_an_enlarged_digit() -> None:
    image = rotated_digits.enlarged(np.ones((1, 8, 8)))
    rows, _ = rotated_digits.turned(image.repeat(9, axis=0), np.linspace(0, np.pi, 9))
    np.testing.assert_allclose(rows.sum(axis=1), image.sum(), rtol=0.01)


def test_every_digit_can_be_rotated() -> None:
    labels = digits.raw()[1]
    for digit in range(10):
        data = BY_NAME["rotated_digits"].load(n=2, digit=digit)
        assert sum(map(len, arrays(data)[::2])) == np.count_nonzero(labels == digit)


def test_too_many_rotated_digits_are_refused() -> None:
    with pytest.raises(ValueError, match="n=176: want at most 175, all but 2 of the 177 images"):
        BY_NAME["rotated_digits"].load(n=176)


# MNIST


@pytest.mark.parametrize(("part", "most", "tested"), [("test", 80, 10), ("train", 180, 100)])
def test_mnist_keeps_its_parts_apart(tiny: Path, part: str, most: int, tested: int) -> None:
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


def test_mnist_by_class_has_one_task_a_class(tiny: Path) -> None:
    data = BY_NAME["mnist"].load(n=80, order="class")
    assert (np.diff(np.argmax(data.y, axis=1)) >= 0).all()
    assert len(data.tasks) == 11


@pytest.mark.parametrize(("part", "tested"), [("test", 6), ("train", 10)])
def test_rotated_mnist_is_the_digit_asked_for(tiny: Path, part: str, tested: int) -> None:
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
def test_absent_mnist_says_both_ways_to_get_it(empty: Path, name: str) -> None:
    said = "MNIST is not on this machine: ORFIT_BENCH_DATA may name a folder that holds mnist/t10k-images"
    probed = BY_NAME[name].probe()
    assert probed.startswith(said)
    assert probed.endswith("a run that names the stream fetches it once when online")
    with pytest.raises(DataNotFound, match=rf"{said}.*could not be fetched \(ConnectionError\): go online once"):
        BY_NAME[name].load()


def test_a_folder_that_lacks_mnist_is_named(empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORFIT_BENCH_DATA", str(tmp_path))
    said = f"the folder in ORFIT_BENCH_DATA, {tmp_path}, lacks mnist/t10k-images-idx3-ubyte.gz; "
    assert BY_NAME["mnist"].probe() == said + "a run that names the stream fetches it once when online"
    with pytest.raises(DataNotFound) as caught:
        BY_NAME["mnist"].load()
    assert str(caught.value).startswith(said + "it could not be fetched")


def test_a_folder_without_the_part_is_not_enough(tiny: Path) -> None:
    (tiny / "train-images-idx3-ubyte.gz").unlink()
    assert BY_NAME["mnist"].probe() == ""
    with pytest.raises(DataNotFound, match=r"lacks mnist/train-images-idx3-ubyte\.gz"):
        BY_NAME["mnist"].load(part="train")


def test_the_cache_is_used_before_the_network(empty: Path) -> None:
    (empty / "mnist").mkdir(parents=True)
    write_part(empty / "mnist", "t10k", 100, seed=2)
    assert BY_NAME["mnist"].probe() == ""
    assert_sound(BY_NAME["mnist"].load(n=20))


def test_what_is_absent_is_fetched_by_checksum_into_the_cache(
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
def test_a_damaged_file_is_named(tiny: Path, where: str) -> None:
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
def test_labels_must_fit_the_images(tiny: Path, labels: Array) -> None:
    write_idx(tiny / "t10k-labels-idx1-ubyte.gz", labels)
    with pytest.raises(ValueError, match="does not hold one label from 0 to 9 for each image"):
        BY_NAME["mnist"].load(n=20)


@pytest.mark.skipif(not os.environ.get("ORFIT_BENCH_DATA"), reason="ORFIT_BENCH_DATA names no folder with MNIST")
def test_the_real_mnist() -> None:
    images, labels = mnist_files.read("test")
    assert images.shape == (10000, 28, 28)
    assert np.bincount(labels)[2] == 1032
    assert_sound(BY_NAME["mnist"].load(n=8000))
    data = BY_NAME["rotated_mnist"].load()
    assert_sound(data)
    assert data.X.max() <= 1.0
