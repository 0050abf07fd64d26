"""The verdicts of the device on the rows of a block, compared with those of the host for the same numbers."""

import numpy as np
import pytest

from orfit_bench.kernels.guards import ACCEPTED, DEGRADED, NO_LIMITS, REFUSED, forgetting_limits
from orfit_bench_cupy._block_kernels import BlockKernels
from orfit_bench_cupy._device_blocks import factor
from orfit_bench_cupy._precision_guard import judge_rows

from .conftest import Function, cupy


@pytest.fixture(autouse=True, params=[1, 3], ids="{} threads".format)
def threads(request, monkeypatch):
    """Threads of a block."""
    monkeypatch.setattr(Function, "threads", request.param)


B, TILES, R = 40, 3, 2
D = 32 * TILES - 5
DTYPES = ["float64", "float32"]


def tame(dtype):
    """Results of the triangular solve and the tiles with which all rows of a block are accepted."""
    return {
        "L": np.sqrt(np.full(B, 3)).astype(dtype),
        "size": np.full((TILES, B), 0.5, dtype),
        "widest": np.ones((TILES, B), dtype),
        "highest": np.ones((TILES, B), dtype),
        "bounds": np.ones((TILES, 4), dtype),
        "Z": np.ones((R, B), dtype),
        "noise": np.ones(B, dtype),
        "power": np.ones(B, dtype),
        "gaps": np.zeros(B, bool),
        "fits": np.ones(B, dtype),
        "out": np.zeros((B, R), dtype),
    }


def device_verdict(numbers, limits=NO_LIMITS, before=ACCEPTED, predicts=True):
    """The verdict of `judge_block` on the second block of a call."""
    dtype = numbers["L"].dtype
    width = [numbers[name] for name in ("size", "widest", "highest", "bounds")]
    right = np.concatenate([np.zeros((D, B), dtype), numbers["Z"]])
    found = np.diag(numbers["L"]), numbers["fits"], np.concatenate(width, axis=1), right
    there = [cupy.asarray(a) for a in (*found, *(numbers[name] for name in ("noise", "power", "gaps")))]
    verdicts, out = cupy.asarray(np.array([before, 7])), cupy.asarray(numbers["out"])
    kernels = BlockKernels(cupy, dtype)
    kernels.judge_block(tuple(there[:4]), tuple(there[4:]), out if predicts else None, verdicts, 1, R, limits)
    return verdicts.get()[1]


def host_verdict(numbers, limits):
    """The verdict of the host's functions on the same block."""
    eps, seen, power = np.finfo(numbers["L"].dtype).eps, ~numbers["gaps"], numbers["power"]
    pivot, size = numbers["L"] ** 2, numbers["size"].sum(axis=0)
    found = pivot / power, numbers["noise"], eps * size**2 / pivot, numbers["widest"].max(axis=0) / power
    s, noise, rounded, widest = (a[seen] for a in found)
    high = (numbers["highest"].max(axis=0) / (power * limits.ff))[seen]
    if not (high < limits.max_variance).all():
        return REFUSED
    return judge_rows(s, noise, s / noise, rounded, widest, limits)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("ff", [1.0, 0.9, 1.1])
@pytest.mark.parametrize("dtype", DTYPES)
def test_verdicts_are_those_of_the_host(dtype, ff):
    rng, limits, seen = np.random.default_rng(0), forgetting_limits(ff, np.dtype(dtype)), set()
    span = -np.log10(np.finfo(dtype).eps)
    for trial in range(400):
        numbers = tame(dtype)
        numbers["power"] = (ff ** np.arange(B)).astype(dtype)
        numbers["L"] *= np.sqrt(numbers["power"])
        row, name = rng.integers(B), ("L", "size", "widest", "highest", "noise")[trial % 5]
        numbers[name][..., row] *= 10.0 ** rng.uniform(*((-span, span) if name in ("L", "noise") else (0, span)))
        if name in ("widest", "highest"):
            numbers[name][rng.integers(TILES), row] = np.finfo(dtype).max * 10.0 ** -rng.uniform(0, 3 * span)
        numbers["gaps"][rng.integers(B, size=20)] = True
        want = host_verdict(numbers, limits)
        assert device_verdict(numbers, limits) == want, (trial, name)
        seen.add(want)
    assert seen == {REFUSED, ACCEPTED, DEGRADED}


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("where", ["L", "size", "widest", "highest", "bounds", "Z", "fits", "out"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_number_that_is_not_finite_refuses_the_block(dtype, where, bad):
    numbers = tame(dtype)
    assert device_verdict(numbers, forgetting_limits(0.99, np.dtype(dtype))) == ACCEPTED
    for at in (0, B - 1, 33):
        numbers = tame(dtype)
        flat = numbers[where].reshape(-1)
        flat[min(at, flat.size - 1)] = bad
        want = DEGRADED if where == "widest" and bad == np.inf else REFUSED
        want = ACCEPTED if where == "widest" and bad != np.inf else want  # as on the host, which compares it separately
        assert device_verdict(numbers, forgetting_limits(0.99, np.dtype(dtype))) == want, at


@pytest.mark.parametrize("dtype", DTYPES)
def test_bounds_of_the_block(dtype):
    largest = np.finfo(dtype).max
    for column in (0, 1):  # of the weights, and of their change
        numbers = tame(dtype)
        numbers["bounds"][1, column] = largest / 2
        assert device_verdict(numbers) == ACCEPTED
        numbers["bounds"][2, column] = largest
        assert device_verdict(numbers) == REFUSED
    numbers = tame(dtype)
    numbers["bounds"][2, 3] = 0  # a variance shrank too much
    assert device_verdict(numbers) == REFUSED
    numbers = tame(dtype)
    numbers["Z"][:] = largest / 1e2  # their sum is too large
    assert device_verdict(numbers) == REFUSED
    numbers = tame(dtype)
    numbers["L"][3] *= -1
    assert device_verdict(numbers) == REFUSED
    numbers = tame(dtype)
    numbers["out"][3, 1] = np.nan
    assert device_verdict(numbers, predicts=False) == ACCEPTED  # nobody asked for predictions


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_block_after_one_that_is_refused_is_refused(dtype):
    verdicts = [device_verdict(tame(dtype), before=before) for before in (REFUSED, ACCEPTED, DEGRADED)]
    assert verdicts == [REFUSED, ACCEPTED, ACCEPTED]


def is_factored(K):
    L, fits = factor(cupy.asarray(K), BlockKernels(cupy, K.dtype))
    return bool((fits.get() == 1).all() and (np.diagonal(L.get()) > 0).all())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("b", [1, 2, 70])
def test_a_factor_is_taken_only_where_there_is_one(dtype, b):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((b, b // 2 + 1)).astype(dtype)
    scale = np.diag(10.0 ** rng.uniform(-5, 5, b)).astype(dtype)
    K = scale @ (A @ A.T + 1e-3 * np.eye(b, dtype=dtype)) @ scale
    assert is_factored(K)
    for i in {0, b // 2, b - 1}:
        for value in (-K[i, i] - 1, np.nan, np.inf):
            broken = K.copy()
            broken[i, i] = value
            assert not is_factored(broken), (i, value)
    if b > 1:
        broken = K.copy()
        broken[1, 0] = broken[0, 1] = 1.5 * np.sqrt(K[0, 0] * K[1, 1])  # indefinite, with a positive diagonal
        assert not is_factored(broken)
