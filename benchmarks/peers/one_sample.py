"""One sample per call: `learn_one` compared with packages that accept single rows, and with plain NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import orfit_bench as ob
from benchmarks.peers.data import STEPS, SUBSPACES, Array, Comparison, absent, peer, plain_numpy, regression
from benchmarks.peers.timing import Case


def ours(method: str, X: Array, y: Array, **settings: Any) -> Case:
    """Our learner, which continues to learn the same rows."""
    targets, learner = y.tolist(), ob.create(method, backend="numba", **settings)

    def learn() -> None:
        if method in SUBSPACES:
            for x in X:
                learner.learn_one(x)
        else:
            for x, target in zip(X, targets, strict=True):
                learner.learn_one(x, target)

    return "orfit_bench", learn


def padasip(name: str, X: Array, y: Array, **settings: Any) -> Callable[[], object]:
    """A filter of padasip."""
    from padasip import filters

    targets = y.tolist()

    def learn() -> None:
        learner = getattr(filters, name)(n=X.shape[1], w="zeros", **settings)
        for x, target in zip(X, targets, strict=True):
            learner.adapt(target, x)

    return learn


def pyroomacoustics(X: Array, y: Array) -> Callable[[], object]:
    """RLS of pyroomacoustics, which accepts the newest entry of a delay line: the same work, for other rows."""
    from pyroomacoustics.adaptive import RLS

    def learn() -> None:
        learner = RLS(X.shape[1], lmbd=1.0, delta=1.0, dtype="float64")
        for x, target in zip(X, y, strict=True):
            learner.update(x[0], target)

    return learn


def river(X: Array, y: Array) -> Callable[[], object]:
    """Bayesian linear regression of River, whose rows are dictionaries, built beforehand."""
    from river.linear_model import BayesianLinearRegression

    rows = [dict(enumerate(x)) for x in X.tolist()]
    targets = y.tolist()

    def learn() -> None:
        learner = BayesianLinearRegression()
        for x, target in zip(rows, targets, strict=True):
            learner.learn_one(x, target)

    return learn


def vowpal_wabbit(X: Array, y: Array) -> Callable[[], object]:
    """Vowpal Wabbit with examples that were parsed beforehand; float32."""
    from vowpalwabbit import Workspace

    machine = Workspace("--quiet --sgd --noconstant -l 0.1 --power_t 0")
    lines = (f"{t} | " + " ".join(f"{i}:{v}" for i, v in enumerate(x)) for x, t in zip(X, y, strict=True))
    examples = [machine.parse(line) for line in lines]

    def learn() -> None:
        for example in examples:
            machine.learn(example)

    return learn


def comparisons() -> Iterator[Comparison]:
    """The cells of the question, with their targets."""
    for d in (16, 128, 784):
        X, y = regression(2048, d)
        for method, name in (("lms", "FilterLMS"), ("nlms", "FilterNLMS")):
            step = STEPS[method]["step_size"]
            other = peer("padasip", lambda X=X, y=y, name=name, step=step: padasip(name, X, y, mu=step))
            yield f"one sample, {method}, d = {d}", [ours(method, X, y, **STEPS[method]), other], 2.0
        wabbit = peer("Vowpal Wabbit", lambda X=X, y=y: vowpal_wabbit(X, y))
        yield f"one sample, sgd, d = {d}", [ours("sgd", X, y, **STEPS["sgd"]), wabbit], 1.2
    for d in (16, 128, 784):
        X, y = regression(1024 if d < 500 else 40, d)
        others = [peer("pyroomacoustics", lambda X=X, y=y: pyroomacoustics(X, y))]
        if d < 500:
            others.append(peer("padasip", lambda X=X, y=y: padasip("FilterRLS", X, y, mu=1.0)))
        others.append(peer("River", lambda X=X, y=y: river(X, y)))
        yield f"one sample, rls, d = {d}", [ours("rls", X, y), *others], 5.0
    X, y = regression(256, 784)
    authors = absent("the authors' code", "a repository without a licence, no package")
    for method in SUBSPACES:
        for k in (5, 20, 50):
            settings = {"n_components": k, **STEPS[method]}
            cases = [ours(method, X, y, **settings), plain_numpy(method, X, y, **settings), authors]
            yield f"one sample, {method}, d = 784, k = {k}", cases, 2.0
