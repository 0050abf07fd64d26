"""Affine projection compared with padasip, on correlated rows in chunks and on single rows.

python -m benchmarks.peers.apa
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from padasip.filters import FilterAP
from scipy.signal import lfilter

import orfit_bench as ob
from benchmarks.peers.timing import Case, print_ratios

Array = np.ndarray[Any, Any]
CHUNK = 256
SETTINGS = {"step_size": 0.5, "eps": 1e-6}
SAMPLE_RATE = 8000.0
"""In hertz."""
FORMANTS = ((500, 60), (1500, 90), (2500, 120), (3300, 170), (3900, 250))
"""Frequency and bandwidth in hertz of the resonances of a neutral vowel."""


def signal(name: str, n: int, seed: int = 0) -> Array:
    """An input signal of standard deviation 1: "ar0.99", "ar0.999", "speech" or "noise"."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal(n + 500)
    if name == "speech":
        u = vocal_tract(excitation(noise))
    elif name.startswith("ar"):
        u = lfilter([1.0], [1.0, -float(name[2:])], noise)
    else:
        u = noise
    u = u[500:]
    return np.asarray(u / u.std())


def excitation(noise: Array) -> Array:
    """Voiced parts, a pulse every 80 samples (100 Hz), and unvoiced ones, noise, for 2,000 samples each."""
    t = np.arange(len(noise))
    pulses = np.where(t % 80 == 0, 8.0, 0.0) + 0.01 * noise
    return np.where(t // 2000 % 2 == 0, pulses, noise)


def vocal_tract(u: Array) -> Array:
    """An all-pole filter of order 10 with the resonances of a vowel."""
    poles = [np.exp((-np.pi * b + 2j * np.pi * f) / SAMPLE_RATE) for f, b in FORMANTS]
    a = np.real(np.poly([*poles, *np.conj(poles)]))
    return np.asarray(lfilter([1.0], a, u))


def delay_line(u: Array, taps: int) -> Array:
    """Rows of the last `taps` samples, the newest first."""
    return np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(u, taps)[:, ::-1])


def rows_of(name: str, n: int, taps: int) -> tuple[Array, Array]:
    """A delay line of a signal, and the noisy output of an unknown system."""
    X = delay_line(signal(name, n + taps - 1), taps)
    rng = np.random.default_rng(1)
    return X, X @ (rng.standard_normal(taps) / np.sqrt(taps)) + 0.01 * rng.standard_normal(n)


def in_chunks(X: Array, y: Array, order: int, backend: str = "numba") -> list[Case]:
    """All rows in chunks of 256, with the prediction before each step."""

    def ours() -> Any:
        learner = ob.create("apa", projection_order=order, backend=backend, **SETTINGS)
        return [learner.prequential(X[i : i + CHUNK], y[i : i + CHUNK]) for i in range(0, len(X), CHUNK)]

    def padasip() -> Any:
        peer = FilterAP(n=X.shape[1], order=order, mu=SETTINGS["step_size"], ifc=SETTINGS["eps"], w="zeros")
        return [peer.run(y[i : i + CHUNK], X[i : i + CHUNK]) for i in range(0, len(X), CHUNK)]

    return [("orfit_bench", ours), ("padasip", padasip)]


def one_row_per_call(X: Array, y: Array, order: int, backend: str = "numba") -> list[Case]:
    """Every row predicted and learned by itself."""
    targets = y.tolist()

    def ours() -> Any:
        learner = ob.create("apa", projection_order=order, backend=backend, **SETTINGS)
        for x, target in zip(X, targets, strict=True):
            learner.learn_one(x, target)

    def padasip() -> Any:
        peer = FilterAP(n=X.shape[1], order=order, mu=SETTINGS["step_size"], ifc=SETTINGS["eps"], w="zeros")
        for x, target in zip(X, targets, strict=True):
            peer.adapt(target, x)

    return [("orfit_bench", ours), ("padasip", padasip)]


def comparisons() -> Iterator[tuple[str, list[Case], float]]:
    """The question, the cases with ours first, and the target for the ratio of the fastest other one to ours."""
    for name in ("ar0.99", "ar0.999", "speech"):
        for order in (2, 4, 8):
            yield f"apa {name}, 128 taps, order {order}, chunks", in_chunks(*rows_of(name, 4096, 128), order), 10.0
    for d in (16, 128, 784):
        for order in (4, 16):
            rows = rows_of("noise", 1024, d)
            yield f"apa d={d}, order {order}, one row per call", one_row_per_call(*rows, order), 5.0


if __name__ == "__main__":
    print_ratios(comparisons())
