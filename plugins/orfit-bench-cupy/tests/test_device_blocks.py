"""Blocks of rows that the device learns without a wait, compared with the result of the host's kernel."""

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench_cupy import _block_rls
from orfit_bench_cupy._block_kernels import BlockKernels

from .conftest import by_threads, cupy

D, ROWS, BLOCKS = 70, 8, 5  # features: three tiles of shared memory, one of which is not full
N = ROWS * BLOCKS - 3
SETTINGS = [
    ("rls", {"ridge": 0.1}),
    ("rls", {"forgetting_factor": 0.8}),
    ("class_rls", {"forgetting_factor": 0.98}),
    ("kalman", {"observation_noise": 0.1}),
    ("kalman", {"observation_noise": 0.1, "varying": True}),
]
REFUSED = {"none": (), "first": (0,), "middle": (2,), "last": (4,), "two": (1, 3), "neighbours": (1, 2)}
REFUSED["all"] = tuple(range(BLOCKS))


@pytest.fixture
def device(in_place, monkeypatch):
    """The backend, with a lower limit from which features count as many."""
    monkeypatch.setattr(_block_rls, "MIN_FEATURES", 1)
    monkeypatch.setattr(_block_rls, "ROWS", ROWS)
    return in_place


def rows(method, dtype):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((N, D)).astype(dtype), rng.standard_normal((N, 2)).astype(dtype)
    if method == "kalman":
        Y[5::7, 0] = np.nan
        Y[ROWS - 1 : ROWS + 1] = np.nan
    return X, (np.arange(N) % 2 if method == "class_rls" else Y)


def learned(backend, method, settings, dtype, X, y, predicts=True):
    """The state after the rows, the predictions before each of them, and the row that was refused."""
    settings = dict(settings)
    given = {"observation_noise": np.linspace(0.1, 1, N)} if settings.pop("varying", False) else {}
    learner = ob.create(method, backend=backend, dtype=dtype, **settings)
    reported, row = None, None
    try:
        reported = getattr(learner, "prequential" if predicts else "partial_fit")(X, y, **given)
    except ob.DivergedError as error:
        row = error.row
    found = learner.state()
    state = {name: found[name].values for name in found.data_vars}
    return state, learner.backend.asnumpy(reported) if predicts and row is None else None, row


def same(mine, other, dtype):
    (state, reported, row), (want_state, want, want_row) = mine, other
    assert row == want_row
    pairs = [(state[name], a) for name, a in want_state.items()] + ([] if want is None else [(reported, want)])
    for a, b in pairs:
        atol = 3e4 * np.finfo(dtype).eps * abs(np.asarray(b, float)).max(initial=0)
        np.testing.assert_allclose(a, b, rtol=0, atol=atol)


def refuse(monkeypatch, blocks):
    """Refuse these blocks of a chunk, whatever their rows are; returns the sizes of chunks learned by the host."""
    judge, on_host, sizes = BlockKernels.judge_block, _block_rls.learn_on_host, []

    def judge_block(self, found, given, out, verdicts, block, r, limits):
        judge(self, found, given, out, verdicts, block, r, limits)
        if current[block] in blocks:
            verdicts[block] = 0

    def learn(self, parts):
        current[:] = [part.start // ROWS for part in parts]
        return queue_learn(self, parts)

    def learn_on_host(s, X, *more):
        sizes.append(len(X))
        return on_host(s, X, *more)

    current, queue_learn = [], _block_rls.DeviceBlocks.learn
    monkeypatch.setattr(BlockKernels, "judge_block", judge_block)
    monkeypatch.setattr(_block_rls.DeviceBlocks, "learn", learn)
    monkeypatch.setattr(_block_rls, "learn_on_host", learn_on_host)
    return sizes


@pytest.mark.filterwarnings("ignore::orfit_bench.AccuracyWarning")
@pytest.mark.parametrize("predicts", [True, False], ids=["predictions", "no_predictions"])
@pytest.mark.parametrize("refused", REFUSED)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("method", "settings"), SETTINGS, ids=str)
def test_blocks_leave_what_the_host_leaves(device, monkeypatch, method, settings, dtype, refused, predicts):
    X, y = rows(method, dtype)
    want = learned("numba", method, settings, dtype, X, y, predicts)
    sizes = refuse(monkeypatch, REFUSED[refused])
    same(learned(device, method, settings, dtype, X, y, predicts), want, dtype)
    if want[2] is None:
        assert sizes == [min(ROWS, N - ROWS * i) for i in REFUSED[refused]]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("method", ["rls", "kalman"])
@pytest.mark.parametrize("wild", [0, 20, N - 1])
def test_a_row_that_the_host_refuses_ends_the_call(device, method, dtype, wild):
    X, y = rows(method, dtype)
    X[wild] = np.finfo(dtype).max / 8
    mine, want = (learned(backend, method, {}, dtype, X, y) for backend in (device, "numba"))
    assert want[2] == wild
    same(mine, want, dtype)


def test_targets_near_the_largest_number_are_learned_on_the_host(device, monkeypatch):
    """The bound of intermediate weights is exceeded, though no number overflows."""
    X, y = rows("rls", "float64")
    X, y[20], settings = 1e-3 * X, np.finfo(float).max / 200, {"observation_noise": 1e-6}
    want = learned("numba", "kalman", settings, "float64", X, y)
    sizes = refuse(monkeypatch, ())
    same(learned(device, "kalman", settings, "float64", X, y), want, "float64")
    assert want[2] is None
    assert sizes[0] == ROWS


@pytest.mark.filterwarnings("ignore::orfit_bench.AccuracyWarning")
@pytest.mark.parametrize("block", [0, 2, 4])
def test_lost_digits_of_a_block_are_reported(device, monkeypatch, block):
    X, y = rows("rls", "float64")
    X[block * ROWS] *= 3e6  # its variance shrinks by more than eps^(-1/3)
    states = [
        learned(backend, "rls", {}, "float64", X[: (block + 1) * ROWS], y[: (block + 1) * ROWS])[0]
        for backend in (device, "numba")
    ]
    assert [state["precision_lost"] for state in states] == [1, 1]
    monkeypatch.setattr(_block_rls, "learn_on_host", None)
    assert learned(device, "rls", {}, "float64", X, y)[0]["precision_lost"] == 1


def test_rows_in_another_order_of_memory(device):
    X, y = rows("rls", "float64")
    there = cupy.asarray(np.asfortranarray(X))
    assert not there.flags.c_contiguous
    mine, want = learned(device, "rls", {}, "float64", there, y), learned("numba", "rls", {}, "float64", X, y)
    same(mine, want, "float64")


@pytest.mark.parametrize(
    ("d", "ff", "rows"),
    [(1023, 1.0, 128), (1024, 1.0, 256), (2048, 1.0, 512), (5000, 1.0, 512), (5000, 0.99, 229), (5000, 0.0001, 1)],
)
def test_rows_of_a_block(d, ff, rows):
    """Forgetting costs at most one digit within a block."""
    assert _block_rls.block_size(d, ff) == rows


def test_blocks_of_many_rows(in_place, monkeypatch):
    monkeypatch.setattr(_block_rls, "FEATURES", D // _block_rls.MOST)
    monkeypatch.setattr(_block_rls, "MIN_FEATURES", 1)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((600, D)), rng.standard_normal(600)
    sizes = []
    monkeypatch.setattr(_block_rls, "learn_on_host", None)
    judge = BlockKernels.judge_block
    monkeypatch.setattr(BlockKernels, "judge_block", lambda *given: (sizes.append(len(given[1][0])), judge(*given)))
    mine, want = (learned(backend, "rls", {}, "float64", X, y) for backend in (in_place, "numba"))
    assert sizes == [512, 88]
    same(mine, want, "float64")


def test_after_a_refusal_no_more_blocks_are_enqueued_than_are_learned(device, monkeypatch):
    """1, 2, 4, ... together, so that many refused blocks cost about twice as much as enqueueing single blocks."""
    X, y = rows("rls", "float64")
    refuse(monkeypatch, (0, 1))
    enqueued, learn = [], _block_rls.DeviceBlocks.learn
    monkeypatch.setattr(
        _block_rls.DeviceBlocks, "learn", lambda s, parts: (enqueued.append(len(parts)), learn(s, parts))[1]
    )
    learned(device, "rls", {}, "float64", X, y)
    assert enqueued == [BLOCKS, 1, 1, 2]


@pytest.mark.parametrize("refused", ["none", "middle"])
@pytest.mark.parametrize(("method", "settings"), SETTINGS, ids=str)
def test_several_threads_of_a_block_leave_the_same_bits(device, monkeypatch, method, settings, refused):
    """They run separately after each barrier, so that they read old numbers if one is missing."""
    X, y = rows(method, "float64")
    for block in REFUSED[refused]:
        X[ROWS * block + 3] *= 1e200
    (state, reported, row), *rest = by_threads(monkeypatch, lambda: learned(device, method, settings, "float64", X, y))
    for other, others, other_row in rest:
        assert row == other_row
        assert (reported is None and others is None) or np.array_equal(reported, others)
        for name, a in state.items():
            assert np.array_equal(a, other[name], equal_nan=True), name


def test_several_threads_measure_many_rows_alike(monkeypatch):
    """Two tiles of rows, the second of which overwrites the first."""
    rng = np.random.default_rng(1)
    X, P, w, right, move = (
        cupy.asarray(rng.standard_normal(shape)) for shape in ((40, D), (D, D), (D, 2), (D, 40), (D, 2))
    )
    kernels = BlockKernels(cupy, np.dtype("float64"))
    one, *others = by_threads(monkeypatch, lambda: kernels.measure_features(X, P, w, right, move).get())
    assert np.isfinite(one).all()
    assert all(np.array_equal(one, other) for other in others)


@pytest.mark.parametrize(
    ("method", "settings", "field"),
    [("rls", {"ridge": 1e-8}, "P"), ("kalman", {"initial_covariance": 1e8}, "covariance")],
)
def test_rows_of_a_block_that_shrink_a_variance(device, method, settings, field):
    """The second row takes all digits of the difference P - V'V; row by row, only the last of them."""
    X = np.zeros((ROWS, D))
    X[:, 0] = 1
    X[1, 0] = 3e4
    y = np.arange(ROWS) % 2
    P = ob.create(method, backend=device, **settings).partial_fit(X, y).array(field)
    np.testing.assert_allclose(P[0, 0], 1 / (X[:, 0] @ X[:, 0] + 1e-8), rtol=1e-6)
