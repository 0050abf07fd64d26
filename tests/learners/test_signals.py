"""Delay lines: rows of a signal, computed together or by samples, equal those of a shifted buffer."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob

MASKED = np.ma.masked_array([1.0, 2.0], [False, True])


def shifted(u: Any, taps: int) -> Any:
    """The same rows by shifting a buffer."""
    width, rows = u[0].size, []
    buffer = np.zeros(taps * width, u.dtype)
    for sample in u:
        buffer = np.concatenate([np.atleast_1d(sample), buffer[:-width]])
        rows.append(buffer)
    return np.array(rows)


@pytest.mark.parametrize("taps", [1, 2, 5, 300])
@pytest.mark.parametrize("channels", [(), (1,), (3,)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_rows_of_a_signal(taps: int, channels: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(0)
    u = (rng.standard_normal((40, *channels)) * (1 + (1j if dtype[0] == "c" else 0))).astype(dtype)
    want, X = shifted(u, taps), ob.delay_line(u, taps)
    np.testing.assert_array_equal(X, want)
    assert X.dtype == u.dtype
    assert not X.flags.writeable
    parts = [ob.delay_line(u[i : i + 7], taps, before=u[:i]) for i in range(0, 40, 7)]
    np.testing.assert_array_equal(np.concatenate(parts), want)
    line = ob.DelayLine(taps, channels=channels[0] if channels else 1, dtype=dtype)
    for sample, row in zip(u, want, strict=True):
        np.testing.assert_array_equal(line.push(sample), row)


def test_a_line_continues_beyond_its_buffer() -> None:
    u = np.arange(5000.0)
    line = ob.DelayLine(3)
    rows = np.array([line.push(float(sample)).copy() for sample in u])
    np.testing.assert_array_equal(rows, ob.delay_line(u, 3))


def test_rows_are_no_copies() -> None:
    u = np.zeros(100_000)
    X = ob.delay_line(u, 1000)
    assert X.shape == (100_000, 1000)
    assert X.base is not None
    assert X.strides == (-8, 8)
    line = ob.DelayLine(1000)
    row = line.push(1.0)
    assert np.shares_memory(row, line.push(2.0))
    assert not row.flags.writeable


def test_the_signal_may_be_integers_and_may_be_empty() -> None:
    assert ob.delay_line([1, 2], 2).tolist() == [[1.0, 0.0], [2.0, 1.0]]
    assert ob.delay_line(np.empty((0, 2)), 3).shape == (0, 6)
    u = np.ones(4)
    X = ob.delay_line(u, 2)
    u[:] = 5
    assert X.max() == 1  # what the caller does to the signal later has no effect


def test_the_rows_fit_the_targets() -> None:
    rng = np.random.default_rng(1)
    u, h = rng.standard_normal(400), rng.standard_normal(8)
    y = np.convolve(u, h)[:400]
    np.testing.assert_allclose(ob.delay_line(u, 8) @ h, y, atol=1e-12)
    rls = ob.create("rls", ridge=1e-9).partial_fit(ob.delay_line(u, 8), y)
    np.testing.assert_allclose(rls.array("w")[:, 0], h, atol=1e-8)


@pytest.mark.parametrize(
    ("u", "taps", "more", "error", "text"),
    [
        (["a"], 2, {}, TypeError, "u: got list of dtype"),
        ([[1.0], [1.0, 2.0]], 2, {}, ValueError, "unequal length"),
        (np.zeros((2, 2, 2)), 2, {}, ValueError, r"u: got shape \(2, 2, 2\), want \(n,\) or \(n, channels\)"),
        (1.0, 2, {}, ValueError, r"got shape \(\)"),
        (np.zeros((3, 0)), 2, {}, ValueError, r"got shape \(3, 0\)"),
        (np.zeros(3), 0, {}, ValueError, "taps=0: want an integer >= 1"),
        (np.zeros(3), 2.0, {}, TypeError, "taps=2.0: want an integer"),
        (np.zeros(3), True, {}, ValueError, "taps=True"),
        (MASKED, 2, {}, TypeError, "u: got a masked array, want plain values"),
        ([MASKED, MASKED], 2, {}, TypeError, "u: got masked values in a list"),
        (np.zeros(3), 2, {"before": MASKED}, TypeError, "before: got a masked array, want plain values"),
        (np.zeros(3), 2, {"before": np.zeros((1, 2))}, ValueError, r"before: got shape \(1, 2\), want \(k,\)"),
    ],
)
def test_refused_signals(u: Any, taps: Any, more: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        ob.delay_line(u, taps, **more)


@pytest.mark.parametrize(
    ("channels", "dtype", "sample", "error"),
    [
        (1, "float64", float("nan"), ValueError),
        (1, "float64", 10**400, ValueError),
        (1, "float32", 1e300, ValueError),
        (2, "float32", [1.0, 1e300], ValueError),
        (1, "float64", 1j, TypeError),
        (1, "complex128", complex("inf"), ValueError),
        (1, "float64", "1", TypeError),
        (1, "float64", None, TypeError),
        (1, "float64", [1.0, 2.0], ValueError),
        (2, "float64", [1.0], ValueError),
        (2, "float64", 1.0, ValueError),
        (2, "float64", [1.0, np.inf], ValueError),
        (2, "float64", [1j, 1.0], TypeError),
        (1, "float64", np.ma.masked, TypeError),
        (1, "float64", np.ma.masked_array(3.0, mask=True), TypeError),
        (2, "float64", MASKED, TypeError),
        (2, "float64", [np.ma.masked, 1.0], TypeError),
    ],
)
def test_refused_samples_change_nothing(channels: int, dtype: str, sample: Any, error: type[Exception]) -> None:
    line = ob.DelayLine(2, channels, dtype)
    good = np.ones(channels)
    line.push(good)
    with pytest.raises(error, match="sample"):
        line.push(sample)
    np.testing.assert_array_equal(line.push(2 * good), np.concatenate([2 * good, good]))


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize(
    ("sample", "line"), [("float16", "float64"), ("float32", "float64"), ("complex64", "complex128")]
)
def test_samples_of_narrower_dtypes_cause_no_warning(sample: str, line: str, channels: int) -> None:
    held = ob.DelayLine(taps=2, channels=channels, dtype=line)
    one = np.dtype(sample).type(0.5)
    assert held.push(one if channels == 1 else np.full(2, one)).tolist() == [0.5] * channels + [0.0] * channels


@pytest.mark.parametrize("given", [{"taps": 0}, {"taps": 2, "channels": 0}, {"taps": 2, "dtype": "int64"}])
def test_refused_lines(given: Any) -> None:
    with pytest.raises(ValueError, match="want"):
        ob.DelayLine(**given)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_sgd_is_leaky_lms_and_sign_error_lms(backend: str) -> None:
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((50, 4)), rng.standard_normal(50)
    step, leakage = 0.05, 0.3
    leaky, sign = np.zeros(4), np.zeros(4)
    for x, target in zip(X, y, strict=True):
        leaky = (1 - step * leakage) * leaky + step * (target - x @ leaky) * x
        sign = sign + step * np.sign(target - x @ sign) * x
    for want, settings in ((leaky, {"ridge": leakage}), (sign, {"loss": "absolute"})):
        learner = ob.create("sgd", backend=backend, step_size=step, **settings).partial_fit(X, y)
        np.testing.assert_allclose(learner.array("w")[:, 0], want, rtol=1e-12)


@pytest.mark.parametrize("carry", ["copy", "shallow", "deep", "pickle"])
@pytest.mark.parametrize("pushed", [0, 1, 3, 1023, 2000])
@pytest.mark.parametrize(("channels", "dtype"), [(1, "float64"), (1, "complex64"), (3, "float32")])
def test_a_copied_line_goes_on_by_itself(carry: str, pushed: int, channels: int, dtype: str) -> None:
    carried: dict[str, Any] = {
        "copy": lambda line: line.copy(),
        "shallow": copy.copy,
        "deep": copy.deepcopy,
        "pickle": lambda line: pickle.loads(pickle.dumps(line)),
    }
    u = np.random.default_rng(3).standard_normal((pushed + 1200, channels)).astype(dtype)
    line, want = ob.DelayLine(4, channels, dtype), ob.delay_line(u, 4)
    for sample in u[:pushed]:
        line.push(sample)
    again = carried[carry](line)
    for t in range(pushed, len(u)):  # further than the buffer is long
        np.testing.assert_array_equal(again.push(u[t]), want[t])
    assert not again.push(u[0]).flags.writeable
    for t in range(pushed, len(u)):
        row = line.push(u[t])
        np.testing.assert_array_equal(row, want[t])
        assert row.dtype == dtype


def test_a_complex_sample_in_a_real_line_is_answered_with_the_dtype() -> None:
    with pytest.raises(TypeError, match="want numbers that float64 holds: make the line with dtype='complex128'"):
        ob.DelayLine(3).push(1 + 1j)


def test_a_line_shows_what_makes_another_one():
    line = ob.DelayLine(3, channels=2, dtype="complex128")
    assert repr(line) == "DelayLine(taps=3, channels=2, dtype='complex128')"


def test_integers_that_would_be_rounded_are_refused() -> None:
    large = 2**53 + 1
    for call in (
        lambda: ob.delay_line(np.array([1, large]), 2),
        lambda: ob.DelayLine(2).push(large),
        lambda: ob.DelayLine(2, channels=2).push(np.array([1, large])),
    ):
        with pytest.raises(ValueError, match=f"{large} in row ., which would be rounded"):
            call()
    assert ob.delay_line(np.array([1, 2**60]), 1)[1] == 2**60


@pytest.mark.parametrize(
    ("sample", "dtype", "error"),
    [
        (2**64 + 1, "float64", "would be rounded"),
        (np.timedelta64(3, "s"), "float64", "got dtype timedelta64"),
        (complex(1.0, np.nan), "complex128", "finite in complex128"),
        (complex(-np.inf, 1.0), "complex128", "finite in complex128"),
    ],
)
def test_samples_that_the_line_does_not_hold_are_refused(sample: Any, dtype: Any, error: str) -> None:
    with pytest.raises((TypeError, ValueError), match=error):
        ob.DelayLine(2, dtype=dtype).push(sample)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("sample", [np.int8(-128), complex(1.5e308, -1.5e308)])
def test_samples_whose_size_their_type_does_not_hold_are_pushed(sample: Any) -> None:
    assert ob.DelayLine(2, dtype="complex128").push(sample)[0] == complex(sample)
