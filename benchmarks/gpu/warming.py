"""Learn a few rows with every method, so that CuPy compiles its kernels once rather than in many processes."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.gpu.workers import Tell
from orfit_bench import backends, create, methods
from orfit_bench.models import MLP

WIDTHS = (20, 500)
"""Numbers of features; a covariance of few features is computed on the host."""


def warm(tell: Tell, backend: str, method: str, dtype: str, small: bool) -> None:
    """Run one method in one dtype: chunks of several lengths, predictions, and a copy of the learner."""
    kind = methods()[method]
    for d in WIDTHS[: 1 if small else None]:
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((300, d)).astype(dtype), rng.standard_normal(300).astype(dtype)
        targets = () if kind.kind == "subspace" else (y if kind.kind != "classification" else np.arange(300) % 3,)
        learner = create(method, backend=backend, dtype=dtype, **settings(kind, d))
        for begin, end in ((0, 1), (1, 3), (3, 20), (20, 40 if small else 300)):
            rows = X[begin:end]
            learner.partial_fit(rows if begin else backends()[backend].asarray(rows), *(y[begin:end] for y in targets))
        learner.transform(X[:5]) if kind.kind == "subspace" else learner.predict(X[:5])
        learner.copy()
        tell(rows=learner.n_samples_seen_, d=d)


def settings(kind: Any, d: int) -> dict[str, Any]:
    """Settings that a method needs in addition to its defaults."""
    return {"model": MLP((d, d))} if kind.state.layered else {}
