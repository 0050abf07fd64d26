"""Normalized steps of rows and errors of any size, compared with exact steps; quotients may leave the floats."""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob

CASES, FEATURES, OUTPUTS, BOUND = 100, 3, 2, 8
"""Rows for each setting, entries of a row, outputs, and the allowed error of a step in eps."""
EXPONENTS = {"float64": 300, "float32": 36, "complex128": 300, "complex64": 36}
"""Sizes of rows are powers of ten up to these, and down to their inverses."""
SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("one_step_sgd", {}),
    ("nlms", {"step_size": 1.0, "eps": 0.0}),
    ("nlms", {"step_size": 0.3, "eps": 1e-8}),
    ("nlms", {"step_size": 1e-12, "eps": 1e-30}),
]
each_setting = pytest.mark.parametrize(("method", "settings"), SETTINGS)
each_backend = pytest.mark.parametrize("backend", ["numpy", "numba"])
each_dtype = pytest.mark.parametrize("dtype", ["float64", "float32"])


def as_pairs(a: Any) -> list[tuple[Fraction, Fraction]]:
    """Real and imaginary parts."""
    return [(Fraction(float(z.real)), Fraction(float(z.imag))) for z in a]


def exact_step(x: Any, e: Any, settings: dict[str, Any]) -> list[tuple[Fraction, Fraction]] | None:
    """The parts of step e conj(x) / (eps + |x|^2); None if a nonzero part is not a normal number."""
    info, real = np.finfo(x.dtype), x.real.dtype.type
    step, eps = (Fraction(float(real(settings.get(name, n)))) for name, n in (("step_size", 1), ("eps", 0)))
    row, ((a, b),) = as_pairs(x), as_pairs([e])
    gain = step / (eps + sum(r * r + i * i for r, i in row))
    parts = [(gain * (a * r + b * i), gain * (b * r - a * i)) for r, i in row]
    sizes = [abs(part) for pair in parts for part in pair if part]
    return parts if sizes and Fraction(float(info.tiny)) <= min(sizes) and max(sizes) <= float(info.max) else None


def error_in_eps(found: Any, parts: list[tuple[Fraction, Fraction]]) -> float:
    """The largest error of an entry relative to its size, in eps; infinite if an entry is not finite."""
    if not np.isfinite(found).all():
        return np.inf
    errors = (
        max(abs(a - r), abs(b - i)) / max(abs(r), abs(i)) for (a, b), (r, i) in zip(as_pairs(found), parts, strict=True)
    )
    return float(max(errors)) / float(np.finfo(found.dtype).eps)


def draw(shape: int, dtype: str, rng: np.random.Generator) -> Any:
    """Numbers of size 1, never near 0."""
    z = rng.uniform(0.5, 1, shape) * rng.choice([-1, 1], shape)
    return (z if np.dtype(dtype).kind == "f" else z + 1j * rng.uniform(0.5, 1, shape)).astype(dtype)


def extreme_cases(settings: dict[str, Any], dtype: str, outputs: int) -> tuple[Any, Any, list[list[Any]]]:
    """Rows X (n, d), targets Y (n, outputs) of any size, and the exact steps of each; all entries are normal numbers.

    In one of three rows entries have different sizes. Targets are drawn by the size of the step that they cause; in
    one of ten, the step is near the ends of the range.
    """
    rng, info, most = np.random.default_rng(len(dtype) + outputs), np.finfo(dtype), EXPONENTS[dtype]
    least, largest = np.log10(float(info.tiny)), np.log10(float(info.max))
    eps, X, Y, steps = settings.get("eps", 0.0), [], [], []
    while len(X) < CASES:
        size = rng.uniform(-most, most, FEATURES if rng.random() < 1 / 3 else 1)
        x = draw(FEATURES, dtype, rng) * (10.0**size).astype(info.dtype)
        energy = max(2 * max(size), np.log10(eps) if eps else -np.inf) - np.log10(settings.get("step_size", 1.0))
        wanted = rng.uniform(least, largest, outputs)
        if rng.random() < 0.1:
            wanted = rng.choice([least + 1, largest - 0.5], outputs)
        target = wanted + energy - max(size)
        if not (least < target).all() or not (target < largest).all():
            continue
        y = draw(outputs, dtype, rng) * (10.0**target).astype(info.dtype)
        found = [exact_step(x, one, settings) for one in y]
        if all(found):
            X, Y, steps = [*X, x], [*Y, y], [*steps, found]
    return np.array(X), np.array(Y), steps


def orthogonal(X: Any) -> Any:
    """The rows (n, d) padded with zeros, (n, n d): steps for one row change no prediction for another."""
    n, d = X.shape
    A = np.zeros((n, n, d), X.dtype)
    A[np.arange(n), np.arange(n)] = X
    return A.reshape(n, n * d)


def check_weights(weights: Any, steps: list[list[Any]]) -> None:
    """weights (n, d, outputs) of each row."""
    errors = [
        [error_in_eps(w[:, k], parts) for k, parts in enumerate(found)] for w, found in zip(weights, steps, strict=True)
    ]
    wrong = np.array(errors) > BOUND
    assert not wrong.any(), f"{wrong.sum()} of {wrong.size} steps are wrong by up to {np.max(errors)} eps"


def weights_of(learner: Any) -> Any:
    """The weights, with a column for each output."""
    w = learner.state()["w"].values
    return w.reshape(len(w), -1)


@each_backend
@pytest.mark.parametrize(
    ("dtype", "size", "y"),
    [
        ("float32", 1e15, 9e-16),
        ("float32", 1e12, 9e-17),
        ("float64", 1e120, 9e-100),
        ("float64", 1e100, 9e-122),
        ("float64", 1e60, 9e-200),
        ("float64", 1e-98, 9e120),
    ],
)
@pytest.mark.parametrize(("method", "settings"), SETTINGS[:2])
def test_a_row_is_fitted_though_its_quotients_leave_the_floats(
    method: str, settings: dict[str, Any], backend: str, dtype: str, size: float, y: float
) -> None:
    x = (size * np.array([1.0, 2.0, 2.0])).astype(dtype)
    learner = ob.create(method, backend=backend, dtype=dtype, **settings).learn_one(x, y)
    assert learner.predict(x[None])[0] == pytest.approx(y, rel=BOUND * float(np.finfo(dtype).eps), abs=0)


@each_setting
@each_backend
@pytest.mark.parametrize("dtype", EXPONENTS)
@pytest.mark.parametrize("outputs", [1, OUTPUTS])
def test_chunks_take_the_exact_steps(
    method: str, settings: dict[str, Any], backend: str, dtype: str, outputs: int
) -> None:
    if method == "one_step_sgd" and np.dtype(dtype).kind == "c":
        pytest.skip("has no complex form")
    X, Y, steps = extreme_cases(settings, dtype, outputs)
    learner = ob.create(method, backend=backend, dtype=dtype, **settings)
    learner.partial_fit(orthogonal(X), Y if outputs > 1 else Y[:, 0])
    check_weights(weights_of(learner).reshape(*X.shape, outputs), steps)


@each_setting
@each_backend
@each_dtype
def test_single_rows_take_the_exact_steps(method: str, settings: dict[str, Any], backend: str, dtype: str) -> None:
    X, Y, steps = extreme_cases(settings, dtype, 1)
    learner = ob.create(method, backend=backend, dtype=dtype, **settings)
    for x, y in zip(orthogonal(X), Y[:, 0], strict=True):
        learner.learn_one(x, y)
    check_weights(weights_of(learner).reshape(*X.shape, 1), steps)


@pytest.mark.parametrize(("method", "settings"), [case for case in SETTINGS if case[0] == "nlms"])
@each_backend
@each_dtype
@pytest.mark.parametrize("outputs", [1, OUTPUTS])
def test_fleets_take_the_exact_steps(
    method: str, settings: dict[str, Any], backend: str, dtype: str, outputs: int
) -> None:
    X, Y, steps = extreme_cases(settings, dtype, outputs)
    fleet = ob.fleet(method, len(X), backend=backend, dtype=dtype, **settings)
    fleet.partial_fit(X[:, None], Y[:, None] if outputs > 1 else Y)
    check_weights([weights_of(member) for member in fleet], steps)


@each_setting
@each_backend
@each_dtype
@pytest.mark.parametrize("outputs", [1, OUTPUTS])
def test_gradients_of_models_cause_the_exact_steps(
    method: str, settings: dict[str, Any], backend: str, dtype: str, outputs: int
) -> None:
    X, Y, steps = extreme_cases(settings, dtype, outputs)
    kernel = import_module(f"orfit_bench_{backend}.{method}")
    p = SimpleNamespace(step_size=np.array([settings.get("step_size", 1)], dtype), eps=settings.get("eps", 0.0))
    weights = np.zeros((*X.shape, outputs), dtype)
    with np.errstate(all="ignore"):  # as callers of kernels do
        applied = [
            kernel.update(SimpleNamespace(w=w), x[None], y[None], p) for w, x, y in zip(weights, X, Y, strict=True)
        ]
    assert all(applied)
    check_weights(weights, steps)


@each_backend
@pytest.mark.parametrize("outputs", [1, OUTPUTS])
def test_a_row_of_zeros_teaches_nothing(backend: str, outputs: int) -> None:
    for method, settings in SETTINGS:
        for y in (1.0, float(np.finfo(float).max)):
            learner = ob.create(method, backend=backend, **settings)
            learner.partial_fit(np.zeros((2, FEATURES)), np.full((2, outputs), y) if outputs > 1 else np.full(2, y))
            assert not weights_of(learner).any()


@each_backend
@each_dtype
@pytest.mark.parametrize("outputs", [1, OUTPUTS])
def test_a_step_beyond_all_numbers_is_refused(backend: str, dtype: str, outputs: int) -> None:
    largest = float(np.finfo(dtype).max)
    for size in (1e-3, *np.linspace(0.3, 0.99, 10)):
        X, y = np.full((1, 1), size, dtype), np.full((1, outputs), largest, dtype)
        learner = ob.create("one_step_sgd", backend=backend, dtype=dtype)
        learner.partial_fit(np.ones_like(X), np.ones_like(y) if outputs > 1 else np.ones(1, dtype))
        before = weights_of(learner).copy()
        with pytest.raises(ob.DivergedError):
            learner.partial_fit(X, y if outputs > 1 else y[:, 0])
        np.testing.assert_array_equal(weights_of(learner), before)
