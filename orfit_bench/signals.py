"""Rows made of a signal: the contents of a tapped delay line, for a whole signal or one sample at a time."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import ArrayLike, DTypeLike, NDArray

from orfit_bench.counts import positive_integer
from orfit_bench.tables.integers import refuse_rounded, refuse_rounded_integer
from orfit_bench.tables.plain_values import refuse_masked

Array = NDArray[Any]


def delay_line(u: ArrayLike, taps: int, *, before: ArrayLike | None = None) -> Array:
    """Rows that hold the last samples of a signal, the newest first.

    Parameters
    ----------
    u : array_like, shape (n,) or (n, m)
        A signal, real or complex, of one or m channels.
    taps : int
        Number of samples of each channel in a row, the present one included.
    before : array_like, shape (k,) or (k, m), optional
        The samples before u, oldest first, of which the last taps - 1 are used. Default: zeros.

    Returns
    -------
    ndarray, shape (n, taps) or (n, taps * m)
        Row t is (u[t], u[t-1], ..., u[t-taps+1]), all channels of a time side by side, so that it belongs to the t-th
        target. A read-only view of n + taps - 1 samples: no row is copied.

    Raises
    ------
    TypeError
        If u holds anything but numbers or is masked, or taps is not an integer.
    ValueError
        If u has another shape, or taps is less than 1.

    Notes
    -----
    A learner copies the rows that it is given in one call, n * taps numbers. For a long signal, pass a part of the rows
    per call, for example `X[:1000]`: the result is the same.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> ob.delay_line([1.0, 2.0, 3.0, 4.0], taps=3)
    array([[1., 0., 0.],
           [2., 1., 0.],
           [3., 2., 1.],
           [4., 3., 2.]])
    """
    taps, signal = positive_integer("taps", taps), _read_signal(u, "u")
    earlier = signal[:0] if before is None else _read_signal(before, "before")
    n, channels = len(signal), signal.shape[1:]
    if earlier.shape[1:] != channels:
        want = f"(k, {channels[0]})" if channels else "(k,)"
        raise ValueError(f"before: got shape {earlier.shape}, want {want} as u has shape {signal.shape}")
    earlier = earlier[max(0, len(earlier) - taps + 1) :]
    line = np.zeros((n + taps - 1, *channels), np.result_type(signal, earlier))  # the newest sample first
    line[:n] = signal[::-1]
    line[n : n + len(earlier)] = earlier[::-1]
    item, width = line.itemsize, int(np.prod(channels))
    newest = line.reshape(-1)[max(0, n - 1) * width :]
    return as_strided(newest, (n, taps * width), (-width * item, item), writeable=False)


class DelayLine:
    """A tapped delay line that accepts one sample at a time and returns the row for it without a copy.

    Parameters
    ----------
    taps : int
        Number of samples of each channel in the row.
    channels : int, default 1
        Number of channels, the numbers in a sample.
    dtype : dtype, default "float64"
        Dtype of the row; with the learner's dtype, `learn_one` needs no conversion.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> line, learner = ob.DelayLine(taps=2), ob.create("nlms", backend="numpy", step_size=1.0)
    >>> for u, y in [(1.0, 2.0), (2.0, 5.0), (3.0, 8.0)]:
    ...     learner = learner.learn_one(line.push(u), y)
    >>> learner.predict_one(line.push(4.0)).round(1)
    np.float64(10.8)
    """

    def __init__(self, taps: int, channels: int = 1, dtype: DTypeLike = "float64") -> None:
        taps, self._width = positive_integer("taps", taps), positive_integer("channels", channels)
        self._length = taps * self._width
        self._buffer = np.zeros(max(4 * taps, 1024) * self._width, dtype)  # filled from its end to its start
        if self._buffer.dtype.kind not in "fc":
            raise ValueError(f"dtype={dtype!r}: want a real or complex floating dtype")
        self._largest = float(np.finfo(self._buffer.dtype).max)
        real = (int, float, np.integer, np.floating)
        self._numbers = real if self._buffer.dtype.kind == "f" else (*real, complex, np.complexfloating)
        self._rows = self._buffer.view()
        self._rows.flags.writeable = False
        self._start = len(self._buffer) - self._length + self._width

    def __getstate__(self) -> dict[str, Any]:
        """The size of the line and the samples in it, the newest first, for `copy` and pickle."""
        held = self._buffer[self._start :][: self._length].copy()  # taps - 1 zeros before the first sample
        return {"taps": self._length // self._width, "channels": self._width, "dtype": self._buffer.dtype, "held": held}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a line with its own copy of these samples."""
        self.__init__(state["taps"], state["channels"], state["dtype"])  # type: ignore[misc]
        held = state["held"]
        self._start = len(self._buffer) - self._length
        self._buffer[self._start : self._start + len(held)] = held

    def __repr__(self) -> str:
        taps, dtype = self._length // self._width, str(self._buffer.dtype)
        return f"DelayLine({taps=}, channels={self._width}, {dtype=})"

    def copy(self) -> DelayLine:
        """Return an independent line that holds the same samples.

        Returns
        -------
        DelayLine
            A line with the same samples. Samples pushed to one of the two do not change the other.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> line = ob.DelayLine(taps=2)
        >>> _ = line.push(1.0)
        >>> line.copy().push(2.0)
        array([2., 1.])
        """
        return copy.copy(self)

    def push(self, sample: ArrayLike) -> Array:
        """Take the next sample.

        Parameters
        ----------
        sample : number, or array_like of shape (channels,)
            The sample.

        Returns
        -------
        ndarray, shape (taps * channels,)
            The newest samples, the newest first: a row of `delay_line`. A read-only view, valid until the next call.

        Raises
        ------
        TypeError, ValueError
            If the sample is not finite or not of this shape; the line is unchanged.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> line = ob.DelayLine(taps=3)
        >>> [line.push(u).tolist() for u in (1.0, 2.0)]
        [[1.0, 0.0, 0.0], [2.0, 1.0, 0.0]]
        """
        width, start = self._width, self._start - self._width
        self._check(sample)
        if start < 0:  # the samples that are still needed move to the end
            kept = self._length - width
            start = len(self._buffer) - self._length
            self._buffer[start + width :] = self._buffer[:kept].copy()
        self._buffer[start : start + width] = sample
        self._start = start
        return self._rows[start : start + self._length]

    def _check(self, sample: Any) -> None:
        """Refuse anything but a finite sample."""
        if self._width == 1 and isinstance(sample, self._numbers) and not isinstance(sample, np.timedelta64):
            number: Any = sample.item() if isinstance(sample, np.generic) else sample  # its type may not hold the limit
            if not (abs(number.real) <= self._largest and abs(number.imag) <= self._largest):  # refuses NaN too
                raise ValueError(f"sample: got {sample}, want a number that is finite in {self._buffer.dtype}")
            if isinstance(number, int) and abs(number) < 2**63:
                refuse_rounded(np.array([number]), "sample", dtype=self._buffer.dtype)
            elif isinstance(number, int):
                refuse_rounded_integer(number, "sample", self._buffer.real.dtype)
            return
        refuse_masked(sample, "sample")
        values = np.asarray(sample)
        wanted = "fiub" if self._buffer.dtype.kind == "f" else "fiubc"
        if values.dtype.kind not in wanted:
            hint = ": make the line with dtype='complex128'" if values.dtype.kind == "c" else ""
            raise TypeError(f"sample: got dtype {values.dtype}, want numbers that {self._buffer.dtype} holds{hint}")
        if values.shape != (self._width,) and not (self._width == 1 and values.shape == ()):
            raise ValueError(f"sample: got shape {values.shape}, want ({self._width},), one number per channel")
        if values.dtype.kind in "iu":
            refuse_rounded(values.reshape(-1), "sample", dtype=self._buffer.dtype)
        sizes = np.maximum(np.abs(values.real), np.abs(values.imag))  # |z| may overflow where both parts are finite
        if not (sizes.astype(np.promote_types(sizes.dtype, float)) <= self._largest).all():
            raise ValueError(f"sample: got {sample}, want numbers that are finite in {self._buffer.dtype}")


def _read_signal(u: ArrayLike, name: str) -> Array:
    """A signal (n,) or (n, m) of floating or complex numbers."""
    refuse_masked(u, name)
    try:
        signal = np.asarray(u)
    except ValueError as error:
        raise ValueError(f"{name}: samples of unequal length: {error}") from None
    if signal.dtype.kind not in "buifc":
        raise TypeError(f"{name}: got {type(u).__name__} of dtype {signal.dtype}, want real or complex numbers")
    if signal.ndim not in (1, 2) or 0 in signal.shape[1:]:
        raise ValueError(f"{name}: got shape {signal.shape}, want (n,) or (n, channels)")
    if signal.dtype.kind in "fc":
        return signal
    for channel in signal.reshape(len(signal), -1).T:
        refuse_rounded(channel, name)
    return signal.astype(float)
