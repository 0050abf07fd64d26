"""The Numba backend compared with plain NumPy and with the limit of the machine: the table of docs/performance.md.

`python3 dev.py speed` measures all cases and writes the page. Words after it select cases that contain them; the
results are then printed, not written. Baseline and backend take turns, on the same rows from the same state. The
fastest turn of each counts, since other programs can only slow it down. The limit is measured between the cases.
"""

import platform
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from benchmarks import baselines
from benchmarks.limits import LIMITS
from benchmarks.pages import fill
from orfit_bench import create
from orfit_bench.bench import roofline
from orfit_bench.jobs.provenance import machine, versions

PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
CHUNK, TURNS, SECONDS = 256, 7, 0.25


class Case(NamedTuple):
    """A measurement and its targets: the ratio to the baseline, and the share of the limit."""

    limit: str
    letters: dict[str, int]
    settings: dict[str, Any]
    baseline: Callable[..., None]
    ratio: float
    share: float | None
    how: str = "chunks"
    """In chunks of 256 rows, or one row per call, or `smooth`; "fresh": the given number of rows from the start."""
    rows: int = 0
    """Number of rows in a turn; 0: up to 256 rows, repeatedly, for a quarter of a second."""

    @property
    def method(self) -> str:
        """The name of the method."""
        return self.limit.partition(",")[0]

    @property
    def label(self) -> str:
        """The name in the table."""
        sizes = ", ".join(f"{k} = {v}" for k, v in self.letters.items() if k != "c")
        return f"{self.limit}, {sizes}"


def moving(d: int) -> dict[str, Any]:
    """Settings of a filter with a state that rotates, shrinks and has process noise."""
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((d, d)))[0]
    return {"transition": 0.95 * turn, "process_noise": 0.05 * np.eye(d), "observation_noise": 0.1}


def pca(method: str, d: int, k: int, ratio: float, share: float, **settings: Any) -> Case:
    """A case for a subspace method."""
    plain = getattr(baselines, method)
    return Case(method, {"d": d, "k": k}, {"n_components": k, **settings}, plain, ratio, share)


ONE = {"c": 1}
CASES = [
    Case("lms", {"d": 784} | ONE, {"step_size": 1e-4}, baselines.lms, 15, 0.5),
    Case("sgd", {"d": 784} | ONE, {"step_size": 1e-4}, baselines.lms, 15, 0.5),
    Case("nlms", {"d": 784} | ONE, {"step_size": 0.5}, baselines.nlms, 15, 0.35),
    Case("apa", {"d": 784, "b": 4} | ONE, {"projection_order": 4, "step_size": 0.5}, baselines.apa, 10, None),
    Case("apa", {"d": 784, "b": 16} | ONE, {"projection_order": 16, "step_size": 0.5}, baselines.apa, 9, None),
    Case("rls", {"d": 16} | ONE, {}, baselines.rls, 60, None),
    Case("rls", {"d": 128} | ONE, {}, baselines.rls, 13, None),
    Case("rls", {"d": 784} | ONE, {}, baselines.rls, 19, 0.75),
    Case("rls", {"d": 2048} | ONE, {}, baselines.rls, 40, 0.75),
    Case("rls, one row per call", {"d": 784} | ONE, {}, baselines.rls, 8, 0.45, "row"),
    Case("kalman", {"d": 784} | ONE, {"observation_noise": 0.1}, baselines.kalman, 12, 0.6),
    Case("kalman, transition", {"d": 784} | ONE, moving(784), baselines.kalman, 1.3, 0.9, rows=4),
    Case("kalman, smooth", {"d": 128} | ONE, moving(128), baselines.smooth, 2.2, 0.9, "smooth", rows=100),
    Case("orfit", {"d": 10_000, "m": 50} | ONE, {"memory": 50}, baselines.orfit, 9, 0.35),
    Case("orfit", {"d": 100_000, "m": 50} | ONE, {"memory": 50}, baselines.orfit, 13, 0.6),
    Case("orfit, unlimited", {"d": 10_000, "m": 250} | ONE, {}, baselines.icl, 8, None, "fresh", rows=500),
    Case("icl", {"d": 10_000, "m": 250} | ONE, {}, baselines.icl, 8, None, "fresh", rows=500),
    pca("implicit_krasulina", 784, 20, 9, 0.35, step_size=0.01),
    pca("sanger", 784, 20, 9, 0.35, step_size=1e-6),
    pca("implicit_krasulina", 3072, 50, 10, 0.4, step_size=0.01),
    pca("oja", 784, 20, 40, 0.25, step_size=1e-4),
    pca("krasulina", 784, 20, 6, 0.25, step_size=1e-5),
    pca("incremental_pca", 784, 20, 7, 0.15),
]


class Side:
    """One of the two sides that take turns: a function that learns rows, and the best time per row so far."""

    def __init__(self, learn: Callable[[Any, Any], None], X: Any, y: Any, rows: int) -> None:
        self.learn = learn
        begin = time.perf_counter()
        learn(X[: rows or 64], y[: rows or 64])
        each = (time.perf_counter() - begin) / (rows or 64)
        rows = rows or int(np.clip(SECONDS / each, 64, len(X)))
        self.X, self.y, self.passes = X[:rows], y[:rows], max(1, int(SECONDS / each / rows))
        self.best = np.inf

    def turn(self) -> None:
        """Learn the rows once more."""
        begin = time.perf_counter()
        for _ in range(self.passes):
            self.learn(self.X, self.y)
        self.best = min(self.best, (time.perf_counter() - begin) / self.passes / len(self.X))


def measured(case: Case) -> tuple[Side, Side, Any]:
    """The baseline and the backend after their turns, and the learner."""
    d, rng = case.letters["d"], np.random.default_rng(0)
    n = max(case.rows, CHUNK)  # learned repeatedly, so that they are in a cache
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    learner = create(case.method, backend="numba", **case.settings)
    learner.partial_fit(X[:CHUNK], y[:CHUNK])  # compiles, and fills a memory
    s, p = started(learner), SimpleNamespace(**{k: plain(v) for k, v in learner.settings.items()})
    slow = Side(
        lambda X, y: case.baseline(s, X, y, p) if case.how != "fresh" else fresh(case, X, y, p), X, y, case.rows
    )
    fast = Side(lambda X, y: WAYS[case.how](learner, case, X, y), X, y, case.rows)
    for _ in range(TURNS):
        slow.turn()
        fast.turn()
    return slow, fast, learner


def started(learner: Any) -> Any:
    """The arrays of the learner's state, from which a baseline with one output continues."""
    arrays = {name: np.array(a.values) for name, a in learner.state().data_vars.items()}
    return SimpleNamespace(**{k: a[:, 0] if k in ("w", "mean", "targets") else a for k, a in arrays.items()})


def plain(setting: Any) -> Any:
    """The number of a constant schedule; any other setting unchanged."""
    return getattr(setting, "value", setting)


def fresh(case: Case, X: Any, y: Any, p: Any) -> None:
    """Run the baseline from its initial state."""
    case.baseline(SimpleNamespace(w=np.zeros(X.shape[1]), basis=np.empty((0, X.shape[1]))), X, y, p)


def in_chunks(learner: Any, case: Case, X: Any, y: Any) -> None:
    """Learn 256 rows per call."""
    for i in range(0, len(X), CHUNK):
        learner.partial_fit(X[i : i + CHUNK], y[i : i + CHUNK])


def by_row(learner: Any, case: Case, X: Any, y: Any) -> None:
    """Learn one row per call."""
    for i in range(len(X)):
        learner.partial_fit(X[i : i + 1], y[i : i + 1])


WAYS = {
    "chunks": in_chunks,
    "row": by_row,
    "smooth": lambda learner, case, X, y: learner.smooth(X, y),
    "fresh": lambda learner, case, X, y: in_chunks(create(case.method, backend="numba", **case.settings), case, X, y),
}


def line(case: Case, rates: roofline.Roofline, slow: Side, fast: Side, learner: Any) -> str:
    """A row of the table, with targets in brackets and missed targets in bold."""
    flops, floats = LIMITS[case.limit](**case.letters)
    share = rates.seconds(flops, 8 * floats, learner.state_bytes, "float64") / fast.best
    ratio = slow.best / fast.best
    cells = [case.label, f"{1 / fast.best:,.0f}", f"{1 / slow.best:,.0f}", against(f"{ratio:.1f}", ratio >= case.ratio)]
    cells[-1] += f" ({case.ratio:g})"
    reached = case.share is None or share >= case.share
    cells.append(against(f"{share:.0%}", reached) + ("" if case.share is None else f" ({case.share:.0%})"))
    return f"| {' | '.join(cells)} |"


def against(text: str, reached: bool) -> str:
    """The string, in bold if its target is missed."""
    return text if reached else f"**{text}**"


def best_of(a: roofline.Roofline, b: roofline.Roofline) -> roofline.Roofline:
    """The larger value of every rate."""
    pairs = zip((a.bandwidth, a.matrix_product), (b.bandwidth, b.matrix_product), strict=True)
    return roofline.Roofline(*({k: max(x[k], y[k]) for k in x} for x, y in pairs))


HEAD = (
    "| method, size | samples/s | plain NumPy, samples/s | times plain NumPy | share of the limit |\n"
    "|---|--:|--:|--:|--:|"
)


def main(*words: str) -> None:
    """Measure and print; write the page if everything was measured."""
    rates, found = roofline.measure(), []
    for case in (c for c in CASES if not words or any(w in c.label for w in words)):
        found.append((case, *measured(case)))
        rates = best_of(rates, roofline.measure())
        print(line(case, rates, *found[-1][1:]), flush=True)
    lines = [line(case, rates, *rest) for case, *rest in found]  # all lines with the best rates
    if not words:
        fill(PAGE, where(rates) + "\n".join([HEAD, *lines, ""]))


def where(rates: roofline.Roofline) -> str:
    """Date, machine, versions, and the limits of the machine."""
    here, reported = machine(), ", ".join(f"{k} {v}" for k, v in versions().items())
    near, far = max(rates.bandwidth.values()) / 1e9, min(rates.bandwidth.values()) / 1e9
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {here['cpu']} ({here['cores']} cores, one thread), {platform.system()}; "
        f"{reported}. {near:.0f} GB/s in the first cache, {far:.0f} GB/s in main memory, "
        f"{rates.matrix_product['float64'] / 1e9:.0f} GFLOP/s in matrix products.\n\n"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
