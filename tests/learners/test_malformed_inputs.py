"""Random malformed inputs: every one is refused with TypeError or ValueError, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import orfit_bench as ob

D, ROWS = 3, 6
METHODS = sorted(ob.methods())
BACKENDS = [name for name in ("numpy", "numba") if name in ob.backends() and ob.backends()[name].available]
REFUSED = (TypeError, ValueError)
SLOW = pytest.param(12_500, marks=pytest.mark.slow)
"""Number of calls for each method, backend and dtype: more than a million in total."""
Draw = np.random.Generator
NUMBERS: dict[str, Callable[[Draw, Any], Any]] = {
    "NaN": lambda draw, a: _with(draw, a, np.nan),
    "infinite": lambda draw, a: _with(draw, a, draw.choice([np.inf, -np.inf])),
    "text": lambda draw, a: a.astype(str),
    "one text": lambda draw, a: _with(draw, a.astype(object), "1.5"),
    "one None": lambda draw, a: _with(draw, a.astype(object), None),
    "an object": lambda draw, a: _with(draw, a.astype(object), object()),
    "complex": lambda draw, a: a + 1j,
    "dates": lambda draw, a: a.astype("timedelta64[s]"),
    "bytes": lambda draw, a: a.astype("S8"),
    "records": lambda draw, a: np.zeros(a.shape, [("a", float), ("b", float)]),
    "masked": lambda draw, a: np.ma.masked_array(a, draw.permutation(np.arange(a.size) == 0).reshape(a.shape)),
    "large integers": lambda draw, a: _with(draw, np.zeros(a.shape, np.int64), 2**53 + 1),
    "larger integers": lambda draw, a: _with(draw, np.zeros(a.shape, object), 10**400),
    "too large": lambda draw, a: _with(draw, a.astype(np.longdouble), np.longdouble("1e4000")),
    "scalar": lambda draw, a: float(a.flat[0]),
    "deep": lambda draw, a: a[None, None],
    "dict": lambda draw, a: dict(enumerate(a)),
    "set": lambda draw, a: {1.0, 2.0},
    "function": lambda draw, a: len,
    "word": lambda draw, a: "rows",
    "generator": lambda draw, a: (row for row in a),
}
"""Numbers that are always invalid, which replace valid ones."""
ENTRIES: dict[str, Callable[[Draw, int], Any]] = {
    "NaN": lambda draw, n: _with(draw, np.ones(n), np.nan),
    "negative": lambda draw, n: _with(draw, np.ones(n), -1.0),
    "infinite": lambda draw, n: _with(draw, np.ones(n), np.inf),
    "too many": lambda draw, n: np.ones(n + 1),
    "too deep": lambda draw, n: np.ones((n, 1, 1, 1, 1)),
    "not square": lambda draw, n: np.ones((n, D, D + 1)),
    "not symmetric": lambda draw, n: np.tile(np.arange(D * D).reshape(D, D), (n, 1, 1)),
    "text": lambda draw, n: np.full(n, "x"),
    "complex": lambda draw, n: np.full(n, 1j),
    "ragged": lambda draw, n: [[1.0], [1.0, 2.0]] * n,
    "word": lambda draw, n: "much",
}
"""Invalid noises or weights, with an entry for each row."""
RIGHT = {("learn_one", "dict"), ("predict_one", "dict")}
"""Valid inputs: a row as a dictionary."""
ROWS_ONLY: dict[str, Callable[[Draw, Any], Any]] = {
    "a feature more": lambda draw, X: np.hstack([X, X[:, :1]]),
    "a feature less": lambda draw, X: X[:, 1:],
    "no features": lambda draw, X: X[:, :0],
    "one dimension": lambda draw, X: X[0],
    "ragged": lambda draw, X: [list(row[: draw.integers(1, D)]) if i % 2 else list(row) for i, row in enumerate(X)],
    "None": lambda draw, X: None,
    "sparse of bad numbers": lambda draw, X: sparse.csr_array(_with(draw, X, np.nan)),
}


def _with(draw: Draw, a: Any, value: Any) -> Any:
    """A copy with this value at a random position."""
    changed = np.array(a)
    changed[tuple(draw.integers(n) for n in changed.shape)] = value
    return changed


def trained(method: str, backend: str, dtype: str, d: int = D) -> tuple[Any, Any, Any]:
    """A learner, and further rows for it."""
    declared, draw = ob.methods()[method], np.random.default_rng(1)
    X, y = draw.standard_normal((2 * ROWS, d)) / 4, draw.choice([-1.0, 1.0], 2 * ROWS)
    settings = {"n_components": 2} if declared.kind == "subspace" else {}
    learner = ob.create(
        method, backend=backend, dtype=dtype, **({"model": ob.MLP((3,))} if declared.state.layered else {}), **settings
    )
    targets: Any = np.where(y > 0, "a", "b") if declared.traits.labels else y
    learner.partial_fit(X[:ROWS], targets[:ROWS]) if declared.traits.supervised else learner.partial_fit(X[:ROWS])
    return learner, X[ROWS:], targets[ROWS:]


@cache
def _foreign(method: str) -> Any:
    return trained("greedy" if method != "greedy" else "lms", "numpy", "float64")[0]


def foreign(learner: Any) -> Any:
    """A learner of another method."""
    return _foreign(learner.method.name)


@cache
def _wide(method: str, backend: str, dtype: str) -> Any:
    return trained(method, backend, dtype, D + 1)[0]


def wide(learner: Any) -> Any:
    """A learner of the same method with another number of features."""
    return _wide(learner.method.name, learner.backend.name, str(learner.dtype))


def malformed_call(learner: Any, X: Any, y: Any, draw: Draw) -> tuple[str, Callable[[], Any]]:
    """The description of a random call with a wrong argument, and the call."""
    supervised, labels = learner.method.traits.supervised, learner.method.traits.labels
    verbs = ["partial_fit", "learn_one", "merge"]
    verbs += ["prequential", "predict", "predict_one"] if supervised else ["transform"]
    verb = str(draw.choice(verbs))
    if verb == "merge":
        other = draw.choice(["None", "word", "rows", "another method", "other features"])
        wrong = {
            "None": None,
            "word": "lms",
            "rows": X,
            "another method": foreign(learner),
            "other features": wide(learner),
        }
        return f"merge with {other}", lambda: learner.merge(wrong[str(other)])
    if (
        learner.method.traits.gaps
        or labels
        or not supervised
        or draw.random() < 0.6
        or verb.startswith(("predict", "tr"))
    ):
        kinds = NUMBERS if "one" in verb else NUMBERS | ROWS_ONLY
        name = str(draw.choice([kind for kind in kinds if (verb, kind) not in RIGHT]))
        bad = kinds[name](draw, X[0] if "one" in verb else X)
        rest = (
            () if verb in ("predict", "predict_one", "transform") or not supervised else (y[0] if "one" in verb else y,)
        )
        return f"{verb} with X: {name}", lambda: getattr(learner, verb)(bad, *rest)
    name = str(draw.choice([k for k in NUMBERS if k != "scalar"]))
    bad = NUMBERS[name](draw, y[:1] if verb == "learn_one" else y)
    if verb == "learn_one":
        return f"learn_one with y: {name}", lambda: learner.learn_one(X[0], bad)
    return f"{verb} with y: {name}", lambda: getattr(learner, verb)(X, bad)


@pytest.mark.parametrize("count", [60, SLOW])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("method", METHODS)
def test_malformed_inputs_are_refused_and_change_nothing(method: str, backend: str, dtype: str, count: int) -> None:
    learner, X, y = trained(method, backend, dtype)
    draw, before = np.random.default_rng(count), learner.to_bytes()
    for i in range(count):
        what, call = malformed_call(learner, X, y, draw)
        try:
            call()
        except REFUSED as error:
            if "unexpected keyword" in str(error):
                pytest.fail(f"call {i}, {what}: this test calls it wrongly")
        except Exception as error:
            pytest.fail(f"call {i}, {what}: {type(error).__name__}: {error}")
        else:
            pytest.fail(f"call {i}, {what}: accepted")
        assert learner.to_bytes() == before, f"call {i}, {what}: the learner has changed"
