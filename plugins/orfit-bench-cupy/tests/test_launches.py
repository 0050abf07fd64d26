"""Numbers of launches and waits: constant for each block, for any number of rows."""

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.models import MLP
from orfit_bench_cupy import _block_rls, _reduced_coordinates
from orfit_bench_cupy._symmetric import downdate

from .conftest import IN_PLACE, cupy

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
BLOCK_LAUNCHES = 15
"""P X', X P X', X w, K, L (three), L L' and its comparison, V and Z, V'Z, a measurement, the verdict, V'V, and P."""
CHUNK_LAUNCHES = 8
"""At most: checks of rows and noise, a search for missing targets, zeros for the verdicts, one array of results."""
CASES = [
    *((method, given, _reduced_coordinates.ROWS, 2000, 300) for method, given in SPAN),
    ("rls", {"forgetting_factor": 0.0}, _reduced_coordinates.ROWS, 2000, 1000),  # every row stays in its state
]


def learning(backend, method, given, n, d):
    """The counts for a second chunk of n rows."""
    learner, X = ob.create(method, backend=backend, **given), np.random.default_rng(0).standard_normal((n + 2, d))
    y = {"subspace": (), "classification": (np.arange(n + 2) % 2,)}.get(learner.method.kind, (X[:, 0],))
    learner.partial_fit(X[:2], *(a[:2] for a in y))  # both classes
    before = cupy.COUNTS.copy()
    learner.partial_fit(X[2:], *(a[2:] for a in y))
    return cupy.COUNTS - before


@pytest.mark.parametrize(("method", "given", "rows", "d", "vectors"), CASES, ids=str)
def test_only_blocks_count(in_place, method, given, rows, d, vectors):
    few, many, *blocks = (learning(in_place, method, given, n, d) for n in (rows // 8, rows // 2, 2 * rows, 3 * rows))
    assert (few.launches, few.waits) == (many.launches, many.waits)
    block = blocks[1] - blocks[0]
    assert block.launches <= 26
    assert block.waits <= 2
    assert block.bytes_back <= 8 * 2 * vectors**2
    assert few.waits <= block.waits + 3


@pytest.mark.parametrize(("method", "given"), COVARIANCE, ids=str)
def test_blocks_of_a_wide_covariance_are_enqueued_without_a_wait(in_place, method, given):
    """The host reads one verdict per block, all together; kalman has read the noise of the rows before."""
    few, two, three = (
        learning(in_place, method, given, n, WIDE) for n in (20, 2 * _block_rls.ROWS, 3 * _block_rls.ROWS)
    )
    assert few.waits == two.waits == three.waits == 1 + (method == "kalman")
    assert (three - two).launches == BLOCK_LAUNCHES
    assert few.launches <= BLOCK_LAUNCHES + CHUNK_LAUNCHES
    assert (three - two).bytes_back == 8
    assert three.uploads == few.uploads


def test_a_state_that_moves_takes_as_much_every_row(in_place):
    few, more, most = (learning(in_place, "kalman", {"transition": 0.9}, n, WIDE) for n in (4, 8, 12))
    assert most - more == more - few
    assert (more - few).waits <= 3 * 4
    assert (more - few).bytes_back <= 8 * 40


def steps(in_place, method, given, act):
    """The counts for each of two steps; in the second the state is twice as large."""
    for d in (200, 400):
        learner = ob.create(method, backend=in_place, **given)
        X = np.random.default_rng(0).standard_normal((6, d))
        y = np.arange(6) % 2 if method in ("class_rls", "softmax") else X[:, 0]
        act(learner, X[:3], y[:3])
        before = cupy.COUNTS.copy()
        act(learner, X[3:], y[3:])
        yield cupy.COUNTS - before


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
    assert (large.launches, large.waits) == (small.launches, small.waits)
    assert large.bytes_back <= 8 * 400  # P has 400^2 numbers or more


@pytest.mark.parametrize(
    ("method", "given"), [("rls", {}), ("rls", {"forgetting_factor": 0.8}), ("kalman", {})], ids=str
)
def test_few_rows_leave_a_wide_covariance_on_the_device(in_place, method, given):
    """Also if the rows are too few for a block on the host, or forgetting allows no more."""
    found = learning(in_place, method, given, 12, WIDE)
    assert max(found.bytes_there, found.bytes_back) < 8 * WIDE**2 / 2


def test_a_state_begins_without_copies_of_matrices(in_place):
    before = cupy.COUNTS.copy()
    ob.create("rls", backend=in_place).partial_fit(np.zeros((0, 300)), np.zeros(0))
    ob.create("kalman", backend=in_place, initial_covariance=np.ones(300)).partial_fit(np.zeros((0, 300)), np.zeros(0))
    assert (cupy.COUNTS - before).bytes_there < 10 * 8 * 300


def test_a_memory_that_grows_is_not_copied_there(in_place):
    learner = ob.create("orfit", backend=in_place, memory=50).partial_fit(np.eye(1, 2000), [1.0])
    before = cupy.COUNTS.copy()
    learner.partial_fit(np.eye(2, 2000), [1.0, 1.0])
    assert (cupy.COUNTS - before).bytes_there < 5 * 8 * 2000


def test_a_covariance_is_updated_in_one_launch_and_stays_symmetric():
    rng = np.random.default_rng(0)
    B, V = rng.standard_normal((30, 30)), rng.standard_normal((4, 30))
    P, there = IN_PLACE.asarray(B @ B.T), IN_PLACE.asarray(V)
    before = cupy.COUNTS.copy()
    downdate(P, there, 0.9)
    assert (cupy.COUNTS - before).launches == 2  # V'V, and the update
    np.testing.assert_array_equal(P.get(), P.get().T)
    np.testing.assert_allclose(P.get(), (B @ B.T - V.T @ V) / 0.9, rtol=1e-13, atol=1e-13)
