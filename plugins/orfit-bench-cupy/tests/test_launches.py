"""How often the device is launched, and waited for: a number of times a block, however many rows it has."""

from typing import NamedTuple

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.models import MLP
from orfit_bench_cupy import _blocks, _span

from .conftest import Device

SPAN = [
    ("lms", {"step_size": 1e-4}),
    ("nlms", {}),
    ("one_step_sgd", {}),
    ("sgd", {"step_size": 1e-4, "momentum": 0.5, "averaging": "uniform"}),
    ("sgd", {"step_size": 1e-4, "batch_size": 2}),
    ("apa", {"projection_order": 3}),
    ("icl", {"memory": 30}),
    ("ogd", {"step_size": 1e-4, "memory": 30}),
    ("orfit", {"memory": 5}),
    ("orfit", {"memory": 5, "summary": "latest"}),
    ("oja", {"n_components": 3, "step_size": 1e-4}),
    ("krasulina", {"n_components": 3, "step_size": 1e-4}),
    ("sanger", {"n_components": 3, "step_size": 1e-4}),
    ("implicit_krasulina", {"n_components": 3}),
    ("incremental_pca", {"n_components": 3}),
]
COVARIANCE = [("rls", {}), ("class_rls", {}), ("kalman", {})]
WIDE = 420
CASES = [
    *((method, given, _span.ROWS, 2000, 300) for method, given in SPAN),
    ("rls", {"forgetting_factor": 0.0}, _span.ROWS, 2000, 1000),  # every row stays in its state
    *((method, given, _blocks.ROWS, WIDE, 128) for method, given in COVARIANCE),
]


class Count(NamedTuple):
    operations: int
    waits: int
    numbers: int

    def __sub__(self, other):
        return Count(*(a - b for a, b in zip(self, other, strict=True)))


def now():
    return Count(Device.operations, Device.waits, Device.numbers)


def learning(backend, method, given, n, d):
    """What the second chunk takes, of n rows."""
    learner, X = ob.create(method, backend=backend, **given), np.random.default_rng(0).standard_normal((n + 2, d))
    y = {"subspace": (), "classification": (np.arange(n + 2) % 2,)}.get(learner.method.kind, (X[:, 0],))
    learner.partial_fit(X[:2], *(a[:2] for a in y))  # both classes
    before = now()
    learner.partial_fit(X[2:], *(a[2:] for a in y))
    return now() - before


@pytest.mark.parametrize(("method", "given", "rows", "d", "vectors"), CASES, ids=str)
def test_only_blocks_count(in_place, method, given, rows, d, vectors):
    few, many, *blocks = (learning(in_place, method, given, n, d) for n in (rows // 8, rows // 2, 2 * rows, 3 * rows))
    assert few[:2] == many[:2]
    block = blocks[1] - blocks[0]
    assert block.operations <= (33 if method in dict(COVARIANCE) and vectors == 128 else 12)
    assert block.waits <= 2
    assert block.numbers <= 2 * vectors**2
    assert few.waits <= block.waits + 3


def test_a_state_that_moves_takes_as_much_every_row(in_place):
    few, more, most = (learning(in_place, "kalman", {"transition": 0.9}, n, WIDE) for n in (4, 8, 12))
    assert most - more == more - few
    assert (more - few).waits <= 3 * 4
    assert (more - few).numbers <= 40


def steps(in_place, method, given, act):
    """What each of two steps takes, the second with twice the state."""
    for d in (200, 400):
        learner = ob.create(method, backend=in_place, **given)
        X = np.random.default_rng(0).standard_normal((6, d))
        y = np.arange(6) % 2 if method == "class_rls" else X[:, 0]
        act(learner, X[:3], y[:3])
        before = now()
        act(learner, X[3:], y[3:])
        yield now() - before


def blockwise(learner, X, y):
    learner.step(X, y)


def one_by_one(learner, X, y):
    learner.partial_fit(X, y)


@pytest.mark.parametrize(
    ("method", "given", "act"),
    [
        ("rls", {}, blockwise),
        ("class_rls", {}, blockwise),
        ("kalman", {"transition": 0.9, "process_noise": 0.1}, blockwise),
        ("rls", {"model": MLP((3,))}, one_by_one),
        ("kalman", {"model": MLP((3,)), "process_noise": 0.1}, one_by_one),
        ("owm", {"model": MLP((3,))}, one_by_one),
        ("gp", {"model": MLP((3,))}, one_by_one),
        ("gp", {"model": MLP((3,)), "rank": 2}, one_by_one),
    ],
    ids=["rls", "class_rls", "kalman", "rls_of_a_model", "kalman_of_a_model", "owm", "gp", "gp_of_a_rank"],
)
def test_steps_leave_the_state_on_the_device(in_place, method, given, act):
    small, large = steps(in_place, method, given, act)
    assert large[:2] == small[:2]
    assert large.numbers <= 400  # those of P were 400^2 or more
