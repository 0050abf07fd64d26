"""Methods of other authors without a reference: faulty learners fail, and correct ones pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench import spec
from orfit_bench.conformance import Report, conform

Array = Any
Step = Callable[[Array, Array, Array, Array, Array], Array]
"""The weights after a row, from those before it, the change by LMS, the row, its targets and its errors."""


def unrolled(create: Any, rows: Any) -> spec.Measured:
    """The errors before each step solve a triangular system."""
    X, y = rows.X, rows.y
    step = float(0.1 / (X**2).sum(axis=1).max())
    L = np.eye(len(X)) + step * np.tril(X @ X.T, -1)
    want = step * X.T @ np.linalg.solve(L, y)
    w = create(step_size=step).partial_fit(X, y).array("w")[:, 0]
    return spec.Measured(spec.deviation(w, want), len(X), float(np.linalg.cond(L)))


METHOD = spec.Method(
    name="own_lms",
    summary="LMS, as another author would write it",
    formulas="w <- w + step e x",
    source="a textbook",
    settings=(spec.Setting("step_size", spec.NumberOrSchedule(0, closed="neither"), 0.02, "step size"),),
    state=spec.StateSpec((spec.Field("w", ("parameter", "output"), "weights"),)),
    theory=spec.Theory(
        laws=(spec.Law(unrolled, "a textbook", exponent=1),),
        cost=spec.Cost(
            flops=lambda s, z: 6 * z["parameter"] * z["output"], floats=lambda s, z: 3 * z["parameter"] * z["output"]
        ),
    ),
)


def kernel(step: Step = lambda w, change, x, y, e: w + change) -> SimpleNamespace:
    def learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
        for i, x in enumerate(X):
            f = x @ s.w
            if out is not None:
                out[i] = f
            with np.errstate(all="ignore"):
                w = step(s.w, p.step_size[i] * np.outer(x, Y[i] - f), x, Y[i], Y[i] - f)
            if not np.isfinite(w).all():
                return i
            s.w[...] = w
        return len(X)

    return SimpleNamespace(learn=learn)


def torn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
    """Change one weight after another, until one would be infinite."""
    for i, x in enumerate(X):
        f = x @ s.w
        if out is not None:
            out[i] = f
        for j in range(len(x)):
            with np.errstate(all="ignore"):
                w = s.w[j] + p.step_size[i] * x[j] * (Y[i] - f)
            if not np.isfinite(w).all():
                return i
            s.w[j] = w
    return len(X)


def draw_basis(settings: Any, sizes: Any, draw: Any) -> Array:
    return np.linalg.qr(draw((sizes["feature"], sizes["n_components"])))[0]


SUBSPACE = replace(
    METHOD,
    name="own_pca",
    summary="Oja's rule, as another author would write it",
    formulas="C <- QR(C + step x x'C)",
    kind="subspace",
    settings=(
        spec.Setting("n_components", spec.Integer(1), 2, "dimension of the subspace"),
        spec.Setting("step_size", spec.NumberOrSchedule(0, closed="neither"), 0.1, "step size"),
    ),
    state=spec.StateSpec(
        (spec.Field("basis", ("feature", "n_components"), "an orthonormal basis", start=draw_basis, compared="span"),)
    ),
    theory=spec.Theory(cost=spec.Cost(flops=lambda s, z: 4 * z["parameter"], floats=lambda s, z: 3 * z["parameter"])),
)


def one_component(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
    """Only the first component; the second stays zero."""
    s.basis[:, 1:] = 0
    for i, x in enumerate(X):
        c = s.basis[:, 0] + p.step_size[i] * x * (x @ s.basis[:, 0])
        if not np.isfinite(c @ c):
            return i
        s.basis[:, 0] = c / np.sqrt(c @ c)
    return len(X)


CLASSES = replace(
    METHOD,
    name="own_classes",
    summary="LMS of each class, as another author would write it",
    kind="classification",
    theory=replace(METHOD.theory, laws=()),
)


@pytest.fixture
def judge() -> Iterator[Callable[..., Report]]:
    """Run the kit on a method and a kernel."""

    class Plugin:
        SPEC_VERSION = (1, 0)

        @ob.hookimpl
        def methods(self) -> tuple[Any, ...]:
            return (self.method,)

        @ob.hookimpl
        def kernels(self) -> dict[tuple[str, str], Any]:
            return {("numpy", self.method.name): self.kernel}

    plugin: Any = Plugin()

    def run(method: spec.Method, own: Any, **options: Any) -> Report:
        plugin.method, plugin.kernel = method, own
        ob.register(plugin)
        return conform(method.name, **options)

    yield run
    ob.unregister("Plugin")


COMPLEX = replace(METHOD, kernel=spec.KernelSpec(has_complex_form=lambda s: True))
SPARSE = replace(METHOD, kernel=spec.KernelSpec(needs_dense_rows=lambda s: ""))
FAULTY: dict[str, tuple[spec.Method, Any, str]] = {
    "errors of the first output": (
        METHOD,
        kernel(lambda w, g, x, y, e: w + np.repeat(g[:, :1], g.shape[1], axis=1)),
        "output_of_zeros_changes_nothing",
    ),
    "a torn update": (METHOD, SimpleNamespace(learn=torn), "refused_rows_leave_no_trace"),
    "no conjugate": (
        COMPLEX,
        SimpleNamespace(learn=kernel().learn, COMPLEX=True),
        "features_may_be_permuted",
    ),
    "leaking weights of sparse rows": (
        SPARSE,
        kernel(lambda w, g, x, y, e: 0.999 * w + g),
        "sparse_rows_are_learned_like_dense_rows",
    ),
    "half steps of many features": (
        METHOD,
        kernel(lambda w, g, x, y, e: w + (g / 2 if len(x) > 40 else g)),
        "features_of_zeros_change_nothing",
    ),
    "rows with a target of zero are skipped": (
        METHOD,
        kernel(lambda w, g, x, y, e: w + g if y.any() else w),
        "targets_of_zero_are_learned",
    ),
    "a component of zeros": (SUBSPACE, SimpleNamespace(learn=one_component), "no_component_stays_zero"),
    "half steps of a third class": (
        CLASSES,
        kernel(lambda w, g, x, y, e: w + np.where(np.arange(g.shape[1]) < 2, g, g / 2)),
        "outputs_may_be_permuted",
    ),
}


@pytest.mark.parametrize("fault", FAULTY)
def test_faulty_learners_fail(fault: str, judge: Callable[..., Report]) -> None:
    method, own, name = FAULTY[fault]
    dtypes = ["complex128"] if fault == "no conjugate" else ["float64"]
    report = judge(method, own, dtypes=dtypes, only=[name])
    assert [r.status for r in report.results if r.check == name] == ["failed"], str(report)


def signs_only(settings: Any, steps: int, X: Array, Y: Array, is_step: bool, linear: bool) -> None:
    if not np.isin(np.asarray(Y), (-1, 1)).all():
        raise ValueError("y: want -1 or 1")


def perceptron(create: Any, rows: Any) -> spec.Measured:
    """The perceptron rule: a recursion on signs."""
    X, y = rows.X[:60], np.where(rows.y[:60] > 0, 1.0, -1.0)
    w = np.zeros(X.shape[1])
    for x, target in zip(X, y, strict=True):
        w = w + (target * x if target * (x @ w) <= 0 else 0)
    return spec.Measured(spec.deviation(create().partial_fit(X, y).array("w")[:, 0], w), 60, 1.0)


PERCEPTRON = replace(
    METHOD,
    settings=(),
    kernel=spec.KernelSpec(validate_rows=signs_only),
    theory=replace(METHOD.theory, laws=(spec.Law(perceptron, "a textbook", exponent=1),)),
)


def learn_signs(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
    for i, x in enumerate(X):
        f = x @ s.w
        if out is not None:
            out[i] = f
        with np.errstate(all="ignore"):
            w = s.w + np.outer(x, np.where(Y[i] * f <= 0, Y[i], 0))
        if not (np.isfinite(w).all() and np.isfinite(f).all()):
            return i
        s.w[...] = w
    return len(X)


COUNTED = replace(
    METHOD,
    state=spec.StateSpec((*METHOD.state.fields, spec.Field("large", (), "rows with a large error"))),
    combine=spec.Combine(averages=("w",)),
)


def learn_and_count(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
    for i in range(len(X)):
        row = slice(i, i + 1)
        f = X[row] @ s.w
        if kernel().learn(s, X[row], Y[row], p.at(i), None if out is None else out[row]) == 0:
            return i
        s.large[...] += np.abs(Y[row] - f).max() > 0.5
    return len(X)


@pytest.mark.parametrize(
    ("method", "learn"),
    [(METHOD, kernel().learn), (PERCEPTRON, learn_signs), (COUNTED, learn_and_count)],
    ids=["lms", "perceptron", "counted"],
)
@pytest.mark.integration
def test_right_learners_conform(method: spec.Method, learn: Any, judge: Callable[..., Report]) -> None:
    report = judge(method, SimpleNamespace(learn=learn))
    assert report.passed, str(report)


class BrokenBackend:
    """A plugin with a correct kernel of lms, on a backend with these functions."""

    SPEC_VERSION = (1, 0)

    def __init__(self, **functions: Any) -> None:
        self.backend = spec.Backend("broken", "", **{"namespace": lambda: np} | functions)

    @ob.hookimpl
    def backends(self) -> Any:
        return (self.backend,)

    @ob.hookimpl
    def kernels(self) -> Any:
        return {("broken", "lms"): "orfit_bench_numpy.lms"}


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ({"synchronize": lambda: 1 / 0}, "backend 'broken': its synchronize raised ZeroDivisionError"),
        ({"device_info": lambda: 3}, "backend 'broken': its device_info failed: AttributeError"),
        ({"probe": lambda: 3}, "its probe returned 3, want a string"),
        ({"namespace": lambda: 1 / 0}, "lms on broken cannot be checked: ZeroDivisionError"),
    ],
)
def test_functions_of_a_backend_that_fail_are_named(functions: Any, message: str) -> None:
    ob.register(BrokenBackend(**functions), "broken")
    try:
        checks = ["one_row", "flops_grow_as_declared"]
        report = conform("lms", backends=["broken", "numpy"], dtypes=["float64"], only=checks)
    finally:
        ob.unregister("broken")
    assert not report.passed
    assert any(message in line for line in report.problems), report.problems
    assert any(result.backend == "numpy" and result.status == "passed" for result in report.results)
