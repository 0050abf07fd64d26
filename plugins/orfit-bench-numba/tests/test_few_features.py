"""Single rows and rows of few features, which are learned without blocks, compared with the reference."""

import numpy as np
import pytest
from helpers.wide import alike, learned

import orfit_bench as ob
from orfit_bench_numba import _few_coordinates, _projection, orfit

CASES = [
    ("icl", {}),
    ("icl", {"memory": 5}),
    ("ogd", {"step_size": 0.2}),
    ("ogd", {"step_size": 0.2, "memory": 5}),
    ("ogd", {"step_size": ob.schedules.Power(0.3, 0.5), "memory": 5}),
    ("rls", {"forgetting_factor": 0, "ridge": 0}),
    ("orfit", {}),
    *(("orfit", {"memory": 4, "summary": summary}) for summary in ("ipca", "largest", "latest", "random")),
]

SIZES = [(m, s, d) for m, s in CASES for d in (1, 3, 9, 20, 90) if (s.get("memory") or 1) <= d]


def rows(d, dtype, outputs):
    """Rows of a few directions, some of them zero, repeated, tiny or sums of others."""
    rng = np.random.default_rng(d)
    X = rng.standard_normal((60, 12)) @ rng.standard_normal((12, d)) / np.sqrt(12 * d)
    X[4], X[9], X[20], X[30] = 0, X[2], X[5] * 1e-20, X[1] + X[2]
    y = X @ rng.standard_normal((d, outputs)) + 0.1 * rng.standard_normal((60, outputs))
    return X.astype(dtype), (y if outputs > 1 else y[:, 0]).astype(dtype)


@pytest.mark.filterwarnings("ignore::orfit_bench.AccuracyWarning")
@pytest.mark.parametrize("cuts", [(0, 60), (0, 1, 2, 30, 60), tuple(range(61))], ids=["a chunk", "chunks", "rows"])
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("method", "settings", "d"), SIZES, ids=str)
def test_rows_are_learned_as_by_the_reference(method, settings, d, dtype, outputs, cuts):
    X, y = rows(d, dtype, outputs)
    (mine, predictions), (other, want) = (learned(method, settings, b, dtype, X, y, cuts) for b in ("numba", "numpy"))
    alike(predictions, want, dtype)
    a, b = mine.state(), other.state()
    alike(a["w"].values, b["w"].values, dtype)
    U, V = (
        a["basis"].values if "basis" in a else np.empty((0, d)),
        b["basis"].values if "basis" in b else np.empty((0, d)),
    )
    assert U.shape == V.shape
    alike(U.T @ U, V.T @ V, dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("method", "settings"), CASES, ids=str)
def test_single_rows_are_learned_as_chunks_of_one(method, settings, dtype):
    """The memory grows several times, and both refuse the same row."""
    X, y = (np.ascontiguousarray(a) for a in rows(40, dtype, 1))
    one, other = (ob.create(method, backend="numba", dtype=dtype, **settings) for _ in range(2))
    for i, (x, target) in enumerate(zip(X, y, strict=True)):
        one.learn_one(x, target)
        other.partial_fit(X[i : i + 1], y[i : i + 1])
        assert one.state().identical(other.state())
    huge = np.finfo(dtype).max
    for x, target in ((X[0] * 0 + huge, huge), (X[0] / huge, huge)):
        errors = []
        for act in (lambda x=x, t=target: one.learn_one(x, t), lambda x=x, t=target: other.partial_fit(x[None], [t])):
            try:
                act()
                errors.append("")
            except ob.DivergedError as error:
                errors.append(str(error))
        assert errors[0] == errors[1]
        assert one.state().identical(other.state())
    with pytest.raises(ValueError, match="nan"):
        one.learn_one(X[0] * np.nan, 1.0)
    with pytest.raises(ValueError, match="nan"):
        one.learn_one(X[4], np.nan)
    assert one.state().identical(other.state())


@pytest.mark.parametrize("memory", [None, 4])
def test_rows_and_blocks_agree(memory, monkeypatch):
    X, y = rows(90, "float64", 1)
    found = []
    for most in (0, 10**6):
        monkeypatch.setattr(orfit, "MAX_FEATURES", most)
        monkeypatch.setattr(_projection, "MAX_NUMBERS", most)
        learner = ob.create("orfit", backend="numba", memory=memory)
        found.append((learner.prequential(X, y), learner.array("w")))
    assert any((a != b).any() for a, b in zip(*found, strict=True)), "both took the same way"
    for a, b in zip(*found, strict=True):
        alike(a, b, "float64")


def test_directions_of_many_rows_stay_orthonormal():
    rng = np.random.default_rng(0)
    learner = ob.create("orfit", backend="numba", memory=6)
    learner.partial_fit(rng.standard_normal((20_000, 12)), rng.standard_normal(20_000))
    for x in rng.standard_normal((300, 12)):
        learner.learn_one(x, 1.0)
    U = learner.state()["basis"].values
    np.testing.assert_allclose(U @ U.T, np.eye(6), rtol=0, atol=1e-13)
    assert _few_coordinates.MAX_FEATURES > 12


@pytest.mark.parametrize("method", ["icl", "ogd", "orfit"])
def test_directions_of_nearly_dependent_rows_are_orthonormal(method):
    """A single pass would leave a component of about 1e-10 along the earlier ones."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal(30) + 1e-6 * rng.standard_normal((12, 30))
    learner = ob.create(method, backend="numba").partial_fit(X[:6], np.zeros(6))
    for x in X[6:]:
        learner.learn_one(x, 0.0)
    U = learner.state()["basis"].values
    np.testing.assert_allclose(U @ U.T, np.eye(12), rtol=0, atol=1e-13)
