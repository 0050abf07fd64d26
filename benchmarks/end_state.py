"""The end state: the time to learn all rows and predict a chunk once, compared with plain BLAS.

    python -m benchmarks.end_state [--rows N] [--features D ...]

Plain BLAS is `dsyrk` into one triangle, `X.T @ y`, a Cholesky factorization, one solve and one product. All take turns
in one process, on one thread; a share above 1 is faster than plain BLAS.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dsyrk
from threadpoolctl import threadpool_limits

import orfit_bench as ob

CHUNK = 256


def plain(X: np.ndarray[Any, Any], y: np.ndarray[Any, Any], chunk: int) -> np.ndarray[Any, Any]:
    """The predictions of the first rows after all rows were learned by BLAS, chunk by chunk."""
    d = X.shape[1]
    L, m = np.eye(d, order="F"), np.zeros(d)
    for i in range(0, len(X), chunk):
        L = dsyrk(1.0, X[i : i + chunk].T, beta=1.0, c=L, overwrite_c=1)
        m += X[i : i + chunk].T @ y[i : i + chunk]
    w = cho_solve(cho_factor(L, overwrite_a=True, check_finite=False), m, check_finite=False)
    return np.asarray(X[:CHUNK] @ w)


def learned(method: str, backend: str) -> Callable[[Any, Any, int], Any]:
    """The predictions of the first rows after a learner has learned all rows, chunk by chunk."""

    def run(X: Any, y: Any, chunk: int) -> Any:
        learner = ob.create(method, backend=backend)
        for i in range(0, len(X), chunk):
            learner.partial_fit(X[i : i + chunk], y[i : i + chunk])
        return learner.predict(X[:CHUNK])

    return run


def measure(d: int, n: int, chunk: int, rounds: int) -> dict[str, float]:
    """CPU seconds of every implementation, the median of interleaved rounds."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = X @ rng.standard_normal(d) + rng.standard_normal(n)
    ways = {"plain BLAS": plain, "ridge, numpy": learned("ridge", "numpy"), "ridge, numba": learned("ridge", "numba")}
    want = plain(X, y, chunk)
    for name, way in ways.items():  # compiles, and compares
        error = abs(way(X, y, chunk) - want).max() / abs(want).max()
        if not error < 1e-8:
            raise AssertionError(f"{name} deviates by {error:.1e}")
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            begin = time.process_time()
            way(X, y, chunk)
            times[name].append(time.process_time() - begin)
    return {name: median(found) for name, found in times.items()}


def main() -> None:
    """Print one line for each number of features and length of chunk."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=int, nargs="+", default=[256, 784, 2048])
    parser.add_argument("--rows", type=int, default=8192)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    print(f"{'features':>8} {'chunk':>6}   rows a second, and share of plain BLAS")
    with threadpool_limits(1):
        for d in given.features:
            for chunk in (CHUNK, given.rows):
                found = measure(d, given.rows, chunk, given.rounds)
                cells = [f"{k} {given.rows / t:9,.0f} {found['plain BLAS'] / t:5.2f}" for k, t in found.items()]
                print(f"{d:8} {chunk:6}   {'   '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
