"""What the tests of the host share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

import orfit_bench as ob

pytest_plugins = ["pytester"]  # runs pytest inside pytest
settings.register_profile("tests", deadline=None)  # a busy machine is no failure
settings.load_profile("tests")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What the package keeps on the disk is the tests' own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_terminal() -> Iterator[None]:
    """The output of the tests goes to no terminal, also where the library readline has set the width of one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COLUMNS", raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def numpy_by_default() -> Iterator[None]:
    """Learners of the tests are on NumPy unless they name a backend."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("orfit_bench.learners.automatic.COMPILED", "numpy")
        yield


def assert_same_state(got: ob.Learner, want: ob.Learner) -> None:
    """Bit for bit: arrays, dimensions, counters, settings."""
    a, b = got.state(), want.state()
    assert a.identical(b), f"{a}\ndiffers from\n{b}"


@pytest.fixture(scope="session")
def same_state() -> Callable[[ob.Learner, ob.Learner], None]:
    """The check that two learners will go on alike."""
    return assert_same_state


def make_rows(n: int, d: int = 3, outputs: int | None = None, seed: int = 0) -> tuple[Any, Any]:
    """X (n, d) and y (n,) or (n, outputs), which nobody may write to."""
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
    """A model of one's own: two functions, a size, a start."""
    return make_cubic()
