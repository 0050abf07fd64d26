"""Checks of streams, metrics and models find faults."""

import itertools
import random
import re
import sys
from dataclasses import replace

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.conformance import check_experiment, check_metric, check_model, check_stream, conform
from orfit_bench.conformance.declarations import check_plugins
from orfit_bench.spec import Data, Experiment, Integer, Metric, Setting, Stream

X, Y = np.ones((6, 2)), np.arange(6.0)
KEPT = np.ones((6, 2))
"""An array that streams change and return each time."""
COUNT = itertools.count()
METRIC = Metric("m", "", "", "", "", "lower", lambda record: 1.0)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (lambda: Data(X, Y, tasks=(0, 2, 6)), None),
        (lambda: Data(X + next(COUNT), Y), "two loads give different X"),
        (lambda: Data(X, Y, tasks=(0, 3)), "from 0, and the end, 6"),
        (lambda: Data(X, Y, tasks=(0, 4, 2, 6)), "want increasing row numbers"),
        (lambda: Data(X, Y[:5]), "got 5 targets, want 6"),
        (lambda: Data(X, Y, test=(np.ones((3, 4)), Y[:3])), "test has X of shape"),
        (lambda: Data(X * np.nan, Y), "not finite"),
        (lambda: Data(X), "y is None"),
        (lambda: 1 / 0, "ZeroDivisionError"),
        (lambda: sys.exit(0), "raised SystemExit: 0"),
        (lambda: None, "<lambda> (test_declarations.py:"),
        (lambda: (X, Y), "returned tuple, want Data(X, y, ...)"),
        (lambda: Data(np.add(X, 1, out=KEPT), Y * next(COUNT), tasks=np.array([0, 6])), "two loads give different y"),
        (lambda: Data(np.add(KEPT, 1, out=KEPT), Y), "two loads give different X"),
        (lambda: Data(X, Y, feature_names=("a", "b")), None),
        (lambda: Data(X, Y, feature_names=np.array(["a", "b"]), tasks=None), None),
        (lambda: Data(X, Y, feature_names=("a", "b", "c")), "feature_names: got 3 names, want 2"),
        (lambda: Data(X.astype(str), Y), "X of dtype <U32, want real numbers"),
        (lambda: Data(X + 1j, Y), "X of dtype complex128, want real numbers"),
        (lambda: Data(np.ma.masked_less(X, 1), Y), "X: got a masked array"),
        (lambda: Data(X[:, :1], Y, test=(X[:, :1], Y * np.nan)), None),
        (lambda: Data(X, Y * np.nan), "refuses the stream: y[0] is nan"),
        (lambda: Data(X, Y, test=(X, Y + np.inf)), "refuses test: y[0] is inf"),
        (lambda: Data(X, Y, test=(X, Y.astype(str))), "regression refuses test: y: got ndarray of dtype <U32"),
        (lambda: Data(X, np.ones((6, 2, 2))), "y: got shape (6, 2, 2), want (n,) or (n, outputs)"),
    ],
)
def test_streams(data, found):
    faults = check_stream(Stream("s", "", data))
    assert (found in faults[0]) if found else (faults == [])


@pytest.mark.parametrize(
    ("offers", "y", "test", "found"),
    [
        ("labels", Y.astype(int), Y.astype(int), None),
        ("labels", Y, Y, "offers 'labels', but a method of classification refuses the stream"),
        ("labels", Y.astype(int), Y.astype(str), "labels of several types: int, str"),
        ("integers", Y, Y, "offers 'integers', but a method of classification refuses the stream"),
        ("gaps", np.where(Y > 2, np.nan, Y), Y, None),
        ("gaps", np.where(Y > 2, np.inf, Y), Y, "offers 'gaps', but a method of filter refuses the stream"),
    ],
)
def test_streams_hold_what_they_offer(offers, y, test, found):
    faults = check_stream(Stream("s", "", lambda: Data(X, y, test=(X, test)), offers=offers))
    assert (found in faults[0]) if found else (faults == [])


@pytest.mark.parametrize(
    ("probe", "found"),
    [
        (lambda: "no network", None),
        (lambda: 1 / 0, "raised ZeroDivisionError"),
        (lambda: sys.exit(3), "raised SystemExit: 3"),
        (lambda: 5, "probe() returned int, want a string"),
    ],
)
def test_a_probe_that_fails_is_a_fault(probe, found):
    faults = check_stream(Stream("s", "", lambda: 1 / 0, probe=probe))
    assert (found in faults[0]) if found else (faults == [])


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda n: Data(np.ones((n, 1)), np.ones(n)), None),
        (lambda n: Data(np.ones((40, 1)), np.ones(40)), "n=20 gives 40 rows, as without it"),
        (lambda n: Data(np.ones((n, 1)), np.ones(n)) if n == 40 else 1 / (n > 40), "raised ZeroDivisionError"),
        (lambda n: Data(np.ones((max(n, 30), 1)), np.ones(max(n, 30))), None),
        (lambda n: Data(np.ones((n + 1, 1)), np.ones(n + 1)), "n=40, the default, gives 41 rows, want at most 40"),
    ],
)
def test_streams_use_their_number_of_rows(make, found):
    faults = check_stream(Stream("s", "", make, settings=(Setting("n", Integer(1), 40, "number of rows"),)))
    assert (found in faults[0]) if found else (faults == [])


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda: Data(X, Y), r"cannot be called with its settings \(n\): got an unexpected keyword argument 'n'"),
        (lambda n, d: Data(X, Y), "missing a required argument: 'd'"),
    ],
)
def test_streams_take_their_settings(make, found):
    faults = check_stream(Stream("s", "", make, settings=(Setting("n", Integer(1), 40, "number of rows"),)))
    assert len(faults) == 1
    assert re.search(found, faults[0])


@pytest.mark.parametrize(("module", "name"), [(np.random, "NumPy"), (random, "Python")])
def test_streams_draw_from_generators_of_their_own(module, name):
    def make():
        module.seed(3)
        return Data(X * module.random(), Y)

    faults = check_stream(Stream("s", "", make))
    assert len(faults) == 1
    assert f"a load changes the random generator of {name}: draw from" in faults[0]


def test_streams_may_refuse_few_rows():
    rows = Setting("n", Integer(30), 40, "number of rows")
    assert check_stream(Stream("s", "", lambda n: Data(np.ones((n, 1)), np.ones(n)), settings=(rows,))) == []


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, None),
        ({"better": "sideways"}, "want one of lower, higher"),
        ({"measure": lambda record: float("nan")}, "want a finite number"),
        ({"measure": lambda record: "good"}, "want a finite number"),
        ({"measure": lambda record: None}, "None for each of rls, class_rls, oja"),
        ({"measure": lambda record: 1 / 0}, "ZeroDivisionError"),
        ({"measure": lambda record: sys.exit(3)}, "raised SystemExit: 3"),
        ({"measure": lambda record: len(record.data.test[0])}, "raised TypeError"),
        (
            {"measure": lambda record: record.test_error[-1]},
            "is np.float64(nan) for rls on a stream without a test set",
        ),
        ({"measure": lambda r: float(r.learner.copy().partial_fit(r.data.X, r.data.y).n_samples_seen_)}, None),
        (
            {"measure": lambda r: float(r.learner.partial_fit(r.data.X, r.data.y).n_samples_seen_)},
            "measure changed record.learner (rls, class_rls, oja)",
        ),
        ({"measure": lambda record: np.float32(1)}, None),
        ({"measure": lambda record: np.complex128(1)}, "want a finite number"),
        ({"measure": lambda record: record.data.X.sort() or 1.0}, "read-only"),
        ({"measure": lambda record: record.test_error.sort() or 1.0}, "read-only"),
        ({"measure": lambda r: 1.0 if np.asarray(r.data.y).dtype.kind == "U" else None}, None),
        ({"measure": lambda r: 1.0 if np.ndim(r.data.y) == 2 else None}, None),
        ({"memory": lambda record: 8.0}, None),
        ({"memory": lambda record: "8"}, "memory returned '8' for rls, want a number of bytes"),
        ({"memory": lambda record: -1}, "memory returned -1 for rls"),
        ({"memory": lambda record: 1 / 0}, "ZeroDivisionError"),
    ],
)
def test_metrics(change, found):
    faults = check_metric(replace(METRIC, **change))
    assert (found in faults[0]) if found else (faults == [])


def test_metrics_that_draw_random_numbers_are_found():
    ticks = itertools.count()
    faults = check_metric(replace(METRIC, measure=lambda record: float(next(ticks))))
    assert "two calls of measure for the same record of rls give 0.0 and 1.0" in faults[0]


@pytest.mark.parametrize("change", [{"tolerated": "a tenth"}, {"tolerated": -0.1}, {"floor": float("nan")}])
def test_limits_of_metrics_that_cannot_be_compared_are_refused(change):
    with pytest.raises(ValueError, match="want a number of at least 0"):
        replace(METRIC, **change)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, None),
        ({"jacobian": lambda w, x: 1.01 * MODEL.jacobian(w, x)}, "from the derivative of predict"),
        ({"jacobian": lambda w, x: MODEL.jacobian(w, x)[0]}, "jacobian gives shape"),
        ({"predict": lambda w, X: MODEL.predict(w, np.multiply(X, 2, out=X))}, "predict writes to its arguments"),
        ({"jacobian": lambda w, x: MODEL.jacobian(np.multiply(w, 2, out=w), x)}, "jacobian writes to its arguments"),
        ({"predict": lambda w, X: MODEL.predict(w, X)[:, 0]}, "predict gives shape"),
        ({"start": lambda draw, d, c: draw(2)}, "start gives shape"),
        ({"start": lambda draw, d, c: "zero"}, "start gives shape"),
        ({"start": lambda draw, d, c: np.full(21, next(COUNT))}, "start gives other weights"),
        ({"predict": lambda w, X: np.nan * MODEL.predict(w, X)}, "not finite"),
        ({"predict": lambda w, X: MODEL.predict(w, X).astype(str)}, "dtype <U32, want real numbers"),
        ({"predict": lambda w, X: 1j + MODEL.predict(w, X)}, "dtype complex128, want real numbers"),
        ({"predict": lambda w, X: next(COUNT) + MODEL.predict(w, X)}, "other numbers for the same arguments"),
        ({"predict": lambda w, X: MODEL.predict(w, X) + len(X)}, "beside other rows"),
        ({"predict": lambda w, X: iter(()).throw(GeneratorExit)}, "raised"),
        ({"jacobian": lambda w, x: np.nan * MODEL.jacobian(w, x)}, "differs by nan"),
        ({"jacobians": lambda w, X: 2 * MODEL.jacobians(w, X)}, "jacobians differs by"),
        ({"jacobians": lambda w, X: MODEL.jacobians(w, X)[0]}, "jacobians gives shape (1, 21), want (12, 1, 21)"),
        ({"vjp": lambda w, X, E: 2 * MODEL.vjp(w, X, E)}, "vjp differs by"),
        ({"vjp": lambda w, X, E: MODEL.vjp(w, X, E)[:2]}, "vjp gives shape (2,), want (21,)"),
        ({"vjp": lambda w, X, E: MODEL.vjp(w, X, np.multiply(E, 2, out=E))}, "vjp writes"),
        ({"layers": lambda w, x: [2 * a for a in MODEL.layers(w, x)]}, None),  # the same span
        ({"layers": lambda w, x: [a + 1 for a in MODEL.layers(w, x)]}, "input of layer 1"),
        ({"layers": lambda w, x: MODEL.layers(w, x)[:1]}, "layers gives shapes [(4,)], want [(4,), (5,)]"),
        ({"layers": None}, "want both, or none"),
        ({"shapes": lambda d, c: ((d, 4), (4, c))}, "shapes gives matrices of 16 entries, want those of w, 21"),
        ({"predict": lambda w, X: MODEL.predict(w, X).tolist()}, "predict gives list, want an array"),
        ({"predict": lambda w, X: np.ma.masked_array(MODEL.predict(w, X))}, "predict gives a masked array"),
        ({"predict": lambda w, X: MODEL.predict(w, X).view(np.matrix)}, None),
        ({"jacobian": lambda w, x: MODEL.jacobian(w, x).tolist()}, "jacobian gives list, want an array"),
        ({"jacobian": lambda w, x: MODEL.jacobian(w, x) + 0j}, "jacobian gives dtype complex128, want real numbers"),
        ({"jacobian": lambda w, x: MODEL.jacobian(w, x).astype(object)}, "jacobian gives dtype object, want real"),
        ({"jacobians": lambda w, X: MODEL.jacobians(w, X) + 0j}, "jacobians gives dtype complex128"),
        ({"jacobians": lambda w, X: [MODEL.jacobian(w, x) for x in X]}, "jacobians gives list, want an array"),
        ({"vjp": lambda w, X, E: MODEL.vjp(w, X, E).tolist()}, "vjp gives list, want an array"),
        ({"vjp": lambda w, X, E: None}, "vjp gives NoneType, want an array"),
        ({"layers": lambda w, x: [a.tolist() for a in MODEL.layers(w, x)]}, "layer 1, gives list, want an array"),
        ({"layers": lambda w, x: [a + 0j for a in MODEL.layers(w, x)]}, "layer 1, gives dtype complex128, want real"),
        ({"layers": lambda w, x: (a for a in MODEL.layers(w, x))}, "layers gives generator, want a tuple"),
        ({"layers": lambda w, x: MODEL.layers(w, np.multiply(x, 2, out=x))}, "layers writes to its arguments"),
        ({"shapes": lambda d, c: ((-4, -4), (5, c))}, "shapes gives [(-4, -4), (5, 1)], want integers of at least 1"),
        ({"shapes": lambda d, c: ((),)}, "shapes gives ((),), want a pair of integers (inputs, outputs) a layer"),
        ({"shapes": lambda d, c: ((4.0, 4), (5, c))}, "want a pair of integers (inputs, outputs) a layer"),
        ({"name": "linear"}, "the name 'linear' is that of the linear model, want another name"),
        ({"name": "mlp(3; tanh)"}, "the name 'mlp(3; tanh)' is that of an orfit_bench.MLP(...), want another name"),
        ({"with_outputs": lambda w, d, source: MODEL.with_outputs(w, d, source).tolist()}, None),
        ({"with_outputs": lambda w, d, source: w}, "with_outputs gives shape (21,) for two outputs, want (26,)"),
        ({"with_outputs": lambda w, d, source: MODEL.with_outputs(w, d, [0] * len(source))}, "is not zero"),
        ({"with_outputs": lambda w, d, source: MODEL.with_outputs(w, d, source[::-1])}, "is not zero"),
    ],
)
def test_models(change, found):
    faults = check_model(replace(MODEL, **{"name": "own"} | change))
    assert (found in faults[0]) if found else (faults == [])


def coarse(result):
    """The result of a function of a model, in float32."""
    return tuple(map(coarse, result)) if isinstance(result, tuple) else result.astype(np.float32)


@pytest.mark.parametrize("name", ["predict", "jacobian", "jacobians", "vjp", "layers"])
def test_functions_in_float32_are_right_to_their_digits(name):
    def computed(*arguments, factor=1):
        result = getattr(MODEL, name)(*arguments)
        return coarse(tuple(factor * a for a in result) if isinstance(result, tuple) else factor * result)

    assert check_model(replace(MODEL, **{"name": "own", name: computed})) == []
    if name != "layers":  # only the direction matters
        wrong = replace(MODEL, **{"name": "own", name: lambda *arguments: computed(*arguments, factor=1.01)})
        assert len(check_model(wrong)) >= 1


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("slope_of_intercept", [1.0, 0.95, -1.0])
def test_derivatives_of_any_size_are_compared(scale, slope_of_intercept):
    scaled = ob.Model(
        "scaled",
        predict=lambda w, X: (scale * (X @ w[:-1]) + w[-1])[:, None],
        jacobian=lambda w, x: np.append(scale * x, slope_of_intercept)[None, :],
        parameters=lambda d, c: d + 1,
    )
    assert (check_model(scaled) == []) == (slope_of_intercept == 1)
    small = replace(scaled, predict=lambda w, X: 1e-6 * scaled.predict(w, X))
    assert "jacobian differs" in check_model(replace(small, jacobian=lambda w, x: 0 * scaled.jacobian(w, x)))[0]


@pytest.mark.parametrize("offset", [5e4, 2e5])
def test_rounding_errors_of_terms_that_cancel_are_no_defect(offset):
    model = ob.Model(
        "cancelling",
        predict=lambda w, X: ((offset + X @ w) - offset)[:, None],
        jacobian=lambda w, x: x[None, :],
        parameters=lambda d, c: d,
    )
    assert check_model(model) == []
    assert "jacobian differs" in check_model(replace(model, jacobian=lambda w, x: 1.01 * x[None, :]))[0]


def test_metrics_of_times_may_differ_between_calls():
    ticks = itertools.count()
    assert check_metric(replace(METRIC, tolerated=0.5, measure=lambda record: float(next(ticks)))) == []


def test_a_model_that_is_defined_for_positive_weights_only():
    exponent = ob.Model("exponent", predict=lambda w, X: abs(X[:, :1]) ** np.sqrt(w[0]), jacobian=slope, parameters=1)
    assert check_model(exponent) == []
    assert "jacobian differs" in check_model(replace(exponent, jacobian=lambda w, x: 2 * slope(w, x)))[0]


def hyperbolic(**functions):
    """tanh(x W) with W (d, c); functions replace its own."""
    known = {"predict": lambda w, X: np.tanh(X @ w.reshape(3, -1)), "parameters": lambda d, c: d * c}
    return ob.Model("hyperbolic", **known | {"jacobian": tangents} | functions)


def tangents(w, x):
    slopes = 1 - np.tanh(x @ w.reshape(3, -1)) ** 2
    return np.einsum("i,kj->kij", x, np.diag(slopes)).reshape(len(slopes), -1)


def first_alone(w, x):
    J = tangents(w, x).reshape(-1, 3, len(w) // 3)
    J[..., 1:] = 0
    return J.reshape(len(J), -1)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, None),
        ({"jacobian": first_alone}, "with two outputs: jacobian differs by"),
        ({"jacobian": lambda w, x: tangents(w, x)[::-1]}, "with two outputs: jacobian differs by"),
        (
            {"jacobian": lambda w, x: 1 / (6 - len(w)) * tangents(w, x) * 3},
            "with two outputs: raised ZeroDivisionError",
        ),
        (
            {"vjp": lambda w, X, E: sum(e[0] * tangents(w, x)[0] for x, e in zip(X, E, strict=True))},
            "two outputs: vjp differs",
        ),
        ({"start": lambda draw, d, c: np.ones(d * c) if c == 1 else None}, None),
        (
            {"jacobian": lambda w, x: tangents(w, x) if len(w) < 9 else tangents(w, x)[::-1]},
            "with three outputs: jacobian differs by",
        ),
    ],
)
def test_models_of_two_outputs(change, found):
    faults = check_model(hyperbolic(**change))
    assert (found in faults[0]) if found else (faults == [])


@pytest.mark.parametrize(
    "change",
    [
        {"parameters": 3},
        {"parameters": lambda d, c: {1: d}[c]},
        {"predict": lambda w, X: np.tanh(X @ w.reshape(3, 1))},
    ],
)
def test_models_of_one_output_are_not_asked_for_two(change):
    assert check_model(hyperbolic(**change)) == []


def slope(w, x):
    return np.array([[np.log(abs(x[0])) * abs(x[0]) ** np.sqrt(w[0]) / (2 * np.sqrt(w[0]))]])


MODEL = ob.MLP(hidden=(4,))


@pytest.mark.parametrize(
    ("runner", "found"),
    [
        ("math:sin", None),
        ("math:figure", "cannot be imported"),
        ("maths:sin", "cannot be imported"),
        ("math:pi", "float"),
    ],
)
def test_experiments(runner, found):
    faults = check_experiment(Experiment("figure", "a paper", "a figure", 1, runner))
    assert (found in faults[0]) if found else (faults == [])


def test_a_stream_or_metric_is_checked_by_its_name():
    report = conform("drift", "test_error")
    assert (report.verdict, report.n_declared, report.results) == ("conforms", 2, [])


def test_what_is_declared_is_checked_with_everything_else():
    count, faults = check_plugins()
    assert count > len(ob.streams())
    assert faults == []


@pytest.mark.parametrize("check", [check_stream, check_metric, check_model, check_experiment])
def test_what_is_no_declaration_is_refused(check):
    kind = check.__name__.removeprefix("check_")
    with pytest.raises(TypeError, match=f"{check.__name__}: got 3, want a {kind.capitalize()}"):
        check(3)
