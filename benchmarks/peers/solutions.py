"""The end state (learn all rows, predict once), and the NumPy backend compared with ten lines of NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.end_state import learned, plain
from benchmarks.peers.data import (
    CHUNK,
    STEPS,
    SUBSPACES,
    Array,
    Comparison,
    in_chunks,
    peer,
    plain_numpy,
    regression,
)


def incremental_ridge(X: Array, y: Array) -> Callable[[], object]:
    """Ridge regression of scikit-learn-intelex."""
    from sklearnex.linear_model import IncrementalRidge

    def learn() -> Any:
        learner = IncrementalRidge(alpha=1.0, fit_intercept=False)
        for i in range(0, len(X), CHUNK):
            learner.partial_fit(X[i : i + CHUNK], y[i : i + CHUNK])
        return learner.predict(X[:CHUNK])

    return learn


def comparisons() -> Iterator[Comparison]:
    """The cells of both questions, with their targets."""
    for d in (256, 784, 2048):
        X, y = regression(8192, d)
        for backend in ("numba", "numpy"):
            way = learned("ridge", backend)
            for chunk, text in ((CHUNK, "chunks of 256"), (len(X), "one chunk")):
                ours = ("orfit_bench", lambda way=way, X=X, y=y, chunk=chunk: way(X, y, chunk))
                blas = ("dsyrk and a solve", lambda X=X, y=y, chunk=chunk: plain(X, y, chunk))
                yield f"end state, ridge on {backend}, d = {d}, {text}", [ours, blas], 0.9
            intel = peer("IncrementalRidge", lambda X=X, y=y: incremental_ridge(X, y))
            ours = ("orfit_bench", lambda way=way, X=X, y=y: way(X, y, CHUNK))
            yield f"end state, ridge on {backend}, d = {d}, Intel", [ours, intel], 1.3
    for method in ("lms", "nlms", "sgd", "apa", "rls", "kalman", "icl", "orfit", *SUBSPACES):
        for d in (16, 256):
            X, y = regression(512 if method != "icl" else d // 2, d)
            settings = STEPS.get(method, {}) | ({"n_components": 5} if method in SUBSPACES else {})
            settings |= {"apa": {"projection_order": 4}, "orfit": {"memory": 8}}.get(method, {})
            cases = [in_chunks(method, X, y, "numpy", **settings), plain_numpy(method, X, y, **settings)]
            yield f"reference, {method} on numpy, d = {d}", cases, 0.7
