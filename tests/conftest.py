"""Fixtures shared by the tests of the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

import orfit_bench as ob

pytest_plugins = ["pytester"]  # runs pytest inside pytest
settings.register_profile("tests", deadline=None)  # a busy machine is not a failure
settings.load_profile("tests")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give the tests a separate folder for files that the package caches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_terminal() -> Iterator[None]:
    """Remove COLUMNS, the width of a terminal, which the library readline may have set."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COLUMNS", raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def numpy_by_default() -> Iterator[None]:
    """Use NumPy for learners that do not name a backend."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("orfit_bench.learners.automatic.COMPILED", "numpy")
        yield


def assert_same_state(got: ob.Learner, want: ob.Learner) -> None:
    """Assert that arrays, dimensions, counters and settings are bitwise equal."""
    a, b = got.state(), want.state()
    assert a.identical(b), f"{a}\ndiffers from\n{b}"


@pytest.fixture(scope="session")
def same_state() -> Callable[[ob.Learner, ob.Learner], None]:
    """The assertion that two learners will continue identically."""
    return assert_same_state


def make_rows(n: int, d: int = 3, outputs: int | None = None, seed: int = 0) -> tuple[Any, Any]:
    """Read-only X (n, d) and y (n,) or (n, outputs)."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n if outputs is None else (n, outputs))
    X.flags.writeable = y.flags.writeable = False
    return X, y


@pytest.fixture(scope="session")
def rows() -> Callable[..., tuple[Any, Any]]:
    """A maker of read-only rows."""
    return make_rows


def make_cubic() -> ob.Model:
    """f(x; w) = z + z^3 / 10 with z = W'x, W (d, c), flattened to p = d c parameters."""

    def predict(w: Any, X: Any) -> Any:
        Z = X @ w.reshape(X.shape[1], -1)
        return Z + 0.1 * Z**3

    def jacobian(w: Any, x: Any) -> Any:
        slope = 1 + 0.3 * (x @ w.reshape(len(x), -1)) ** 2  # (c,)
        return np.einsum("k,d,jk->jdk", slope, x, np.eye(len(slope))).reshape(len(slope), -1)

    return ob.Model("cubic", predict, jacobian, lambda d, c: d * c, lambda draw, d, c: 0.1 * draw(d * c))


@pytest.fixture(scope="session")
def cubic() -> ob.Model:
    """A user's model: two functions, a size, a start."""
    return make_cubic()
