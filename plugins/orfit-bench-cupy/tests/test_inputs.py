"""Rows that are on the device already: they are checked there, and stay there."""

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.learners.filtering.dynamics import GivenWithRows
from orfit_bench.learners.targets import with_numbers
from orfit_bench.learners.validation import check_finite

from .conftest import IN_PLACE, cupy

rng = np.random.default_rng(0)
X, y = rng.standard_normal((40, 30)), rng.standard_normal(40)


class Foreign:
    """An array of another library on the same device, which only supports DLPack."""

    def __init__(self, a):
        self.a = IN_PLACE.asarray(a)

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **more):
        return self.a.__dlpack__(**more)


def on_device(a):
    return IN_PLACE.asarray(np.asarray(a))


def copies():
    """Counts of waits for the device, and of uploads."""
    return cupy.COUNTS.waits, cupy.COUNTS.uploads


def since(before):
    return tuple(now - then for now, then in zip(copies(), before, strict=True))


def test_chunks_on_the_device_go_neither_way(in_place):
    learner = ob.create("lms", backend=in_place, step_size=0.01).partial_fit(X[:1], y[:1])
    there, targets = on_device(X), on_device(y)
    before = copies()
    with_numbers(learner.rule, learner.live_state, there, targets)
    assert since(before) == (2, 0)  # whether all is finite in X, and in y
    asked = learner.predict(there)
    assert since(before) == (3, 0)
    assert isinstance(asked, cupy.ndarray)


def test_rows_of_a_filter_are_copied_once_whatever_comes_with_them(in_place):
    learner = ob.create("kalman", backend=in_place).partial_fit(X[:1], y[:1])
    before = copies()
    rows = with_numbers(learner.rule, learner.live_state, X, y)
    learner.rule.step_inputs(rows.sizes, GivenWithRows(observation_noise=np.ones(40)), 40)
    assert since(before)[1] == 3  # X, y, and what came with them


@pytest.mark.parametrize("method", ["lms", "rls", "class_rls", "kalman", "oja"])
@pytest.mark.parametrize("as_given", [on_device, lambda a: on_device(np.repeat(a, 2, axis=0))[::2], Foreign])
def test_rows_from_anywhere_are_the_same(in_place, method, as_given):
    target = {"class_rls": (np.arange(40) % 3,), "oja": ()}.get(method, (y,))
    mine, other = (ob.create(method, backend=backend) for backend in (in_place, "numpy"))
    mine.partial_fit(as_given(X), *map(as_given, target))
    other.partial_fit(X, *target)
    ours, theirs = mine.state(), other.state()
    for name in theirs.data_vars:
        np.testing.assert_allclose(ours[name].values, theirs[name].values, atol=1e-9)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_a_backend_of_the_host_brings_them_over_once(backend):
    learner, there, targets = ob.create("lms", backend=backend), on_device(X), on_device(y)
    before = copies()
    learner.partial_fit(there, targets)
    assert since(before)[0] == 2
    np.testing.assert_array_equal(learner.array("w"), ob.create("lms", backend=backend).partial_fit(X, y).array("w"))


@pytest.mark.parametrize("kind", [bool, np.int8, np.float32])
def test_other_dtypes_are_converted_there(in_place, kind):
    given = (X > 0).astype(kind)
    there, before = on_device(given), copies()
    learner = ob.create("lms", backend=in_place)
    assert with_numbers(learner.rule, None, there, y).X.dtype == np.float64
    assert since(before)[1] == 1  # only y
    assert (with_numbers(learner.rule, None, there, y).X.get() == given).all()


def test_bad_rows_are_named_as_ever(in_place):
    learner = ob.create("lms", backend=in_place)
    bad = X.copy()
    bad[4, 1] = np.nan
    with pytest.raises(ValueError, match=r"X\[4, 1\] is nan \(row 4, column 1; 1 such"):
        learner.partial_fit(on_device(bad), on_device(y))
    with pytest.raises(TypeError, match="want real numbers"):
        learner.partial_fit(on_device(X + 0j), on_device(y))
    with pytest.raises(ValueError, match=r"X\[0, 0\] = 1e\+300 overflows float32"):
        ob.create("lms", backend=in_place, dtype="float32").partial_fit(on_device(X * 0 + 1e300), y)
    assert learner.n_samples_seen_ == 0


class Pinned:
    """Rows in pinned host memory, which DLPack distinguishes from other host memory."""

    def __init__(self, a):
        self.a = a

    def __dlpack_device__(self):
        return 3, 0

    def __dlpack__(self, **more):
        return self.a.__dlpack__(**more)


@pytest.mark.parametrize("backend", ["numpy", None])
def test_pinned_rows_are_the_hosts(in_place, backend):
    learner = ob.create("lms", backend=backend or in_place).partial_fit(Pinned(X), Pinned(y))
    want = ob.create("lms").partial_fit(X, y).array("w")
    np.testing.assert_allclose(learner.array("w"), want, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("rows", [0, 1, 1000])
def test_rows_are_validated_without_a_copy(rows):
    there = on_device(np.ones((rows, 50)))
    IN_PLACE.memory()
    before = cupy.get_default_memory_pool().used_bytes()
    check_finite(there, "X")
    assert IN_PLACE.memory() <= before + 3 * 512


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_bad_entry_is_seen(bad):
    there = on_device(np.where(np.arange(20).reshape(4, 5) == 7, bad, 1e308))
    with pytest.raises(ValueError, match=r"X\[1, 2\] is "):
        check_finite(there, "X")
    check_finite(on_device([[1e308, -1e308]]), "X")  # the entries are numbers, but not their difference


def test_many_numbers_are_checked_on_the_device(in_place):
    many = np.ones((600, 4000))
    for bad in (np.nan, -np.inf):
        many[599, 3] = bad
        learner = ob.create("lms", backend=in_place)
        with pytest.raises(ValueError, match=rf"X\[599, 3\] is {bad} \(row 599, column 3; 1 such in all\)"):
            learner.partial_fit(many, np.zeros(600))
        assert learner.n_samples_seen_ == 0
    many[599, 3] = 1
    before = cupy.COUNTS.copy()
    with_numbers(learner.rule, None, many, np.zeros(600))
    assert (cupy.COUNTS - before).waits == 1  # whether they are finite
