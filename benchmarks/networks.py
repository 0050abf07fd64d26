"""Rows of a network, one per step, in chunks and single rows, compared with the general path and PyTorch.

    python -m benchmarks.networks [--method NAME] [--backend NAME] [--rounds N]

The general path uses a model with the same functions for which the kernel has no rule. PyTorch takes steps of
`torch.optim.SGD` with batches of one row, only for sgd, if it is installed (the extra `torch`). All take turns in one
process on one thread, in float64. The table shows the minimum CPU time per row, in microseconds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import orfit_bench as ob

Array = np.ndarray[Any, Any]
STEP = 1e-3
SINGLE = 100
"""Number of rows that are learned one at a time."""


class Case(NamedTuple):
    """A network with one hidden layer, and the rows that it learns."""

    features: int
    hidden: int
    outputs: int
    rows: int

    @property
    def parameters(self) -> int:
        """The number of parameters of the network."""
        return (self.features + 1) * self.hidden + (self.hidden + 1) * self.outputs

    def draw(self) -> tuple[Array, Array]:
        """Rows and targets."""
        rng = np.random.default_rng(0)
        X = rng.standard_normal((self.rows, self.features))
        Y = np.tanh(X @ rng.standard_normal((self.features, self.outputs)) / self.features**0.5)
        return X, Y[:, 0] if self.outputs == 1 else Y


CASES = Case(16, 32, 1, 1000), Case(64, 32, 10, 1000), Case(64, 1300, 10, 200), Case(784, 256, 10, 200)


def ways(case: Case, method: str, backend: str) -> dict[str, Callable[[], float]]:
    """Functions that learn the rows, each time with a new learner, and return the CPU seconds per row."""
    X, y = case.draw()
    network = ob.MLP((case.hidden,))
    has_step = any(setting.name == "step_size" for setting in ob.methods()[method].settings)
    settings = {"step_size": STEP} if has_step else {}

    def learner(model: Any) -> Any:
        return ob.create(method, backend=backend, model=model, **settings).partial_fit(X[:50], y[:50])

    def in_chunks(model: Any) -> Callable[[], float]:
        return lambda: timed(learner(model).partial_fit, [(X, y)], len(X))

    def one_by_one() -> float:
        return timed(learner(network).learn_one, list(zip(X[:SINGLE], y[:SINGLE], strict=True)), SINGLE)

    found = {
        "chunks": in_chunks(network),
        "learn_one": one_by_one,
        "general path, chunks": in_chunks(replace(network, name="functions of a network")),
    }
    return found | ({"PyTorch": by_torch(case, X, y)} if method == "sgd" and find_spec("torch") else {})


def by_torch(case: Case, X: Array, y: Array) -> Callable[[], float]:
    """A function that takes the same steps with PyTorch."""
    import torch

    torch.set_num_threads(1)
    rows, targets = torch.from_numpy(X[:SINGLE]), torch.from_numpy(y[:SINGLE].reshape(-1, case.outputs))

    def run() -> float:
        first, last = torch.nn.Linear(case.features, case.hidden), torch.nn.Linear(case.hidden, case.outputs)
        network = torch.nn.Sequential(first, torch.nn.Tanh(), last).double()
        optimizer = torch.optim.SGD(network.parameters(), lr=STEP)

        def step(i: int) -> None:
            optimizer.zero_grad()
            (0.5 * ((network(rows[i : i + 1]) - targets[i : i + 1]) ** 2).sum()).backward()
            optimizer.step()

        return timed(step, [(i,) for i in range(SINGLE)], SINGLE)

    return run


def timed(function: Callable[..., Any], calls: list[tuple[Any, ...]], rows: int) -> float:
    """CPU seconds per row."""
    begin = time.process_time()
    for arguments in calls:
        function(*arguments)
    return (time.process_time() - begin) / rows


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", default="sgd")
    parser.add_argument("--backend", default="numba")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with threadpool_limits(1):
        for k, case in enumerate(CASES):
            found = ways(case, given.method, given.backend)
            best = dict.fromkeys(found, float("inf"))
            for _ in range(given.rounds):
                for name, way in found.items():
                    best[name] = min(best[name], way())
            if not k:
                print("| features, hidden units, outputs | parameters | " + " | ".join(found) + " |")
                print("| --- |" + " --: |" * (len(found) + 1))
            cells = [f"{us:.3g}" if us < 100 else f"{us:,.0f}" for us in (1e6 * seconds for seconds in best.values())]
            sizes = f"{case.features}, {case.hidden}, {case.outputs} | {case.parameters:,}"
            print(f"| {sizes} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
