"""Defects of models: predictions, and derivatives in each form that a model can provide."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.conformance.causes import describe
from orfit_bench.models import model_named
from orfit_bench.spec import LINEAR, Model
from orfit_bench.spec.arrays import host_dtype, spacing

Array = NDArray[Any]
ROWS, FEATURES = 12, 3
SEVERAL = {2: "two", 3: "three"}
"""Numbers of outputs with which models of several outputs are checked."""
STEP = 1e-6
DEVIATION, TRUNCATION = 1e-5, 1e-8
"""The largest deviations of a Jacobian from central differences, relative to the entry and to the largest entry."""
ULPS = 64
"""The largest rounding error of a prediction, in units of its last digit."""
FINE = float(np.finfo(float).eps)
ROUNDING = 1e-9
"""The largest deviation of two ways to compute numbers in float64, relative to the largest."""


class _DefectError(Exception):
    """A function of the model changed its arguments, or did not return real numbers."""


def find_model_defects(model: Model) -> Iterator[str]:
    """Yield the defects: the name, shapes, derivatives that do not match the predictions, changed arguments.

    Models that support several outputs are also checked with two and three, if there is no defect with one.
    """
    if defect := _find_wrong_name(model):
        yield defect
    found = False
    for defect in _find_defects(model, 1):
        found = True
        yield defect
    for outputs, name in SEVERAL.items():
        if found or not _takes_outputs(model, outputs):
            return
        try:
            defects = list(_find_defects(model, outputs))
        except Exception as error:
            defects = [f"raised {describe(error)}"]
        found = bool(defects)
        remedy = "a model of fewer outputs raises ValueError in `parameters` for others"
        yield from (f"with {name} outputs: {defect} ({remedy})" for defect in defects)


def _find_defects(model: Model, outputs: int) -> Iterator[str]:
    """Yield the defects with this number of outputs: at most one in addition to that of the first weights."""
    rng = np.random.default_rng(0)
    if defect := _find_wrong_start(model, outputs):
        yield defect
    X = rng.standard_normal((ROWS, FEATURES))
    w = _choose_weights(model, rng.standard_normal(model.size(FEATURES, outputs)), X, outputs)
    checks: list[Callable[[Model, Array, Array, int], str]] = [_find_wrong_predictions, _find_wrong_jacobian]
    checks += [_find_wrong_jacobians] if model.jacobians else []
    checks += [_find_wrong_vjp] if model.vjp else []
    checks += [_find_wrong_layers] if model.layers or model.shapes else []
    checks += [_find_wrong_outputs] if model.with_outputs else []
    for check in checks:
        try:
            defect = check(model, w, X, outputs)
        except _DefectError as error:
            defect = str(error)
        if defect:
            yield defect
            return


def _takes_outputs(model: Model, outputs: int) -> bool:
    """Whether the model has weights for these outputs and predicts a number of each for a row with them."""
    X = np.ones((ROWS, FEATURES))
    try:
        w = _choose_weights(model, np.ones(model.size(FEATURES, outputs)), X, outputs)
        return np.shape(model.predict(w, X)) == (len(X), outputs)
    except Exception:  # a model can refuse other numbers of outputs in its own way
        return False


def _find_wrong_name(model: Model) -> str:
    """The defect of the name; empty if there is none."""
    if model.name == LINEAR.name and model is not LINEAR:
        return f"the name {model.name!r} is that of the linear model, want another name"
    if model_named(model.name) not in (None, model):
        return f"the name {model.name!r} is that of an orfit_bench.MLP(...), want another name"
    return ""


def _call(function: Callable[..., Any], name: str, *arguments: Array) -> Array:
    """A copy of the numbers that a function of the model returns."""
    return _numbers(_result(function, name, *arguments), name)


def _result(function: Callable[..., Any], name: str, *arguments: Array) -> Any:
    """The return value of a function of the model, which must not write to its arguments."""
    before = [a.copy() for a in arguments]
    result = function(*arguments)
    if not all(map(np.array_equal, arguments, before)):
        raise _DefectError(f"{name} writes to its arguments: let it work on copies")
    return result


def _numbers(result: Any, name: str) -> Array:
    """A copy of real numbers; learners only accept arrays of real numbers."""
    if isinstance(result, np.ma.MaskedArray):
        raise _DefectError(f"{name} gives a masked array, want plain numbers: fill what is masked")
    if not (hasattr(result, "dtype") and hasattr(result, "shape")):
        raise _DefectError(f"{name} gives {type(result).__name__}, want an array")
    if host_dtype(result).kind not in "biuf":
        raise _DefectError(f"{name} gives dtype {result.dtype}, want real numbers")
    return np.array(result)


def _is_close(a: Array, b: Array, *sources: Array) -> bool:
    """Whether arrays agree to rounding, relative to the largest number of b; NaN agrees with nothing.

    Their precision is that of the coarsest array or source from which they were computed.
    """
    eps = max(spacing(one) for one in (a, b, *sources))
    tolerance = max(ROUNDING, eps**0.5 if eps > FINE else 0.0)
    return bool(abs(a - b).max(initial=0.0) <= tolerance * abs(b).max(initial=0.0))


def _find_wrong_start(model: Model, outputs: int) -> str:
    """The defect of the first weights; empty if there is none."""
    p = model.size(FEATURES, outputs)
    starts = [model.start(np.random.default_rng(0).standard_normal, FEATURES, outputs) for _ in range(2)]
    if starts[0] is None:
        return ""
    start, again = map(np.asarray, starts)
    if start.shape != (p,) or start.dtype.kind not in "iuf" or not np.isfinite(start).all():
        return f"start gives shape {start.shape} or values that are not finite, want ({p},)"
    return "" if np.array_equal(start, again) else "start gives other weights for the same numbers of draw"


def _choose_weights(model: Model, normal: Array, X: Array, outputs: int) -> Array:
    """Weights with finite predictions, if there are any: some models are defined only for positive weights."""
    start = model.start(np.random.default_rng(0).standard_normal, FEATURES, outputs)
    choices: list[Array] = [0.5 * normal, abs(normal)] + ([] if start is None else [np.array(start)])
    for w in choices:
        with np.errstate(all="ignore"):
            predictions = np.asarray(model.predict(w.copy(), X.copy()))
        if predictions.dtype.kind in "biuf" and np.isfinite(predictions).all():
            return w
    return choices[0]


def _find_wrong_predictions(model: Model, w: Array, X: Array, outputs: int) -> str:
    """The defect of the predictions; empty if there is none."""
    predictions = _call(model.predict, "predict", w, X)
    if predictions.shape != (len(X), outputs):
        return f"predict gives shape {predictions.shape} for {len(X)} rows, want {(len(X), outputs)}"
    if not np.isfinite(predictions).all():
        return "predict gives numbers that are not finite, for random weights and rows"
    if not np.array_equal(_call(model.predict, "predict", w, X), predictions):
        return "predict gives other numbers for the same arguments"
    alone = np.concatenate([_call(model.predict, "predict", w, X[i : i + 1]) for i in range(len(X))])
    return "" if _is_close(alone, predictions) else "predict gives a row other numbers beside other rows than alone"


def _jacobian(model: Model, w: Array, x: Array) -> Array:
    return _call(model.jacobian, "jacobian", w, x)


def _find_wrong_jacobian(model: Model, w: Array, X: Array, outputs: int) -> str:
    """The defect of the Jacobian, compared with central differences; empty if there is none."""
    p, predictions = len(w), _call(model.predict, "predict", w, X)
    eps = spacing(predictions)
    size = STEP if eps <= FINE else eps ** (1 / 3)  # a smaller step would show rounding
    wanted, others = (np.array([_differentiate(model, w, x, step) for x in X]) for step in (size, 2 * size))
    # rounding errors of predictions, and of terms that cancel in them, which differ between the steps
    rounding = ULPS * eps * float(abs(predictions).max()) / size + 4 * float(abs(wanted - others).max())
    relative, of_largest = (DEVIATION, TRUNCATION) if eps <= FINE else (10 * size**2, 10 * size**2)
    for x, want in zip(X, wanted, strict=True):
        J = _jacobian(model, w, x)
        if J.shape != (outputs, p):
            return f"jacobian gives shape {J.shape}, want {(outputs, p)}"
        allowed = relative * abs(want) + of_largest * abs(want).max() + rounding
        off = np.where(abs(J - want) <= allowed, 0.0, abs(J - want)).max(0)
        if off.any():
            return f"jacobian differs by {off.max():.1e} from the derivative of predict (column {off.argmax()})"
    return ""


def _differentiate(model: Model, w: Array, x: Array, size: float) -> Array:
    """The derivative (c, p) of the predictions for a row, by central differences with steps of this size."""
    steps = size * np.eye(len(w))
    moved = [[np.asarray(model.predict(w + sign * step, x[None]))[0] for step in steps] for sign in (1, -1)]
    found: Array = ((np.array(moved[0]) - np.array(moved[1])) / (2 * size)).T
    return found


def _find_wrong_jacobians(model: Model, w: Array, X: Array, outputs: int) -> str:
    """The defect of the Jacobians of several rows; empty if there is none."""
    assert model.jacobians is not None
    J, want = _call(model.jacobians, "jacobians", w, X), np.stack([_jacobian(model, w, x) for x in X])
    if J.shape != want.shape:
        return f"jacobians gives shape {J.shape}, want {want.shape}"
    return "" if _is_close(J, want) else f"jacobians differs by {abs(J - want).max():.1e} from jacobian"


def _find_wrong_vjp(model: Model, w: Array, X: Array, outputs: int) -> str:
    """The defect of the sum of gradients; empty if there is none."""
    assert model.vjp is not None
    E = np.linspace(-1.0, 2.0, len(X) * outputs).reshape(len(X), outputs)
    g = _call(model.vjp, "vjp", w, X, E)
    if g.shape != w.shape:
        return f"vjp gives shape {g.shape}, want {w.shape}"
    jacobians = [_jacobian(model, w, x) for x in X]
    want = np.sum([J.T @ e for J, e in zip(jacobians, E, strict=True)], axis=0)
    if _is_close(g, want, *jacobians):
        return ""
    return f"vjp differs by {abs(g - want).max():.1e} from the sum of J's rows by E"


def _find_wrong_layers(model: Model, w: Array, X: Array, outputs: int) -> str:
    """The defect of the layers: shapes, or a gradient that is not a product with the layer's input; else empty."""
    if not (model.layers and model.shapes):
        return "it declares one of shapes and layers: want both, or none"
    given, end = model.shapes(FEATURES, outputs), 0
    try:
        shapes = [(index(n), index(m)) for n, m in given]
    except (TypeError, ValueError):
        return f"shapes gives {given!r}, want a pair of integers (inputs, outputs) a layer"
    if any(min(shape) < 1 for shape in shapes):
        return f"shapes gives {shapes}, want integers of at least 1"
    if sum(n * m for n, m in shapes) != len(w):
        return f"shapes gives matrices of {sum(n * m for n, m in shapes)} entries, want those of w, {len(w)}"
    found, J = _result(model.layers, "layers", w.copy(), X[0].copy()), _jacobian(model, w, X[0])
    if not isinstance(found, (tuple, list)):
        return f"layers gives {type(found).__name__}, want a tuple of arrays"
    inputs = [_numbers(a, f"layers, as the input of layer {i},") for i, a in enumerate(found, 1)]
    if [np.shape(a) for a in inputs] != [(n,) for n, _ in shapes]:
        return f"layers gives shapes {[np.shape(a) for a in inputs]}, want {[(n,) for n, _ in shapes]} as shapes says"
    for i, (a, (n, m)) in enumerate(zip(inputs, shapes, strict=True)):
        G, end = J[:, end : end + n * m].reshape(-1, n, m), end + n * m
        product = a[:, None] * ((a @ G) / max(a @ a, np.finfo(float).tiny))[:, None, :]
        if not _is_close(product, G, a):
            return f"layers gives an input of layer {i + 1}, but the gradient of its matrix is not a multiple of it"
    return ""


def _find_wrong_outputs(model: Model, w: Array, X: Array, outputs: int) -> str:
    """The defect after adding an output before the first one and removing it again; empty if there is none."""
    assert model.with_outputs is not None
    before = _call(model.predict, "predict", w, X)
    more = np.asarray(model.with_outputs(w.copy(), FEATURES, (-1, *range(outputs))))
    size = model.size(FEATURES, outputs + 1)
    if more.shape != (size,):
        return (
            f"with_outputs gives shape {more.shape} for {('two', 'three', 'four')[outputs - 1]} outputs, want {(size,)}"
        )
    if not _is_close(_call(model.predict, "predict", more, X), np.hstack([0 * before[:, :1], before])):
        return "with_outputs changes what an output predicts, or a new output is not zero"
    back = np.asarray(model.with_outputs(more.copy(), FEATURES, tuple(range(1, outputs + 1))))
    if back.shape != w.shape or not _is_close(_call(model.predict, "predict", back, X), before):
        return "with_outputs changes what an output predicts when another is taken away"
    return ""
