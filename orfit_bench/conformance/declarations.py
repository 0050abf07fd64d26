"""Checks of streams, metrics, models and experiments: does what they return match what they declare?"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, get_args

import numpy as np

import orfit_bench as ob
from orfit_bench.conformance.causes import describe
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Data, Experiment, Metric, Model, Record, Stream
from orfit_bench.spec.metric import Direction

ROWS, FEATURES = 40, 3
KINDS_OF_RECORDS = ("rls", "class_rls", "oja")
"""A regression, a classification and a subspace."""
STEP = 1e-6
DEVIATION = 1e-5
"""The relative deviation of a Jacobian from central differences of this step that rounding can explain."""


def check_stream(stream: Stream) -> list[str]:
    """Check a stream with its default settings.

    Parameters
    ----------
    stream : Stream
        Loaded twice. It is not checked if its `probe` gives a reason why it cannot be loaded here.

    Returns
    -------
    list of str
        What is wrong: the data differ between two loads, shapes do not match, values are not finite, or the tasks do
        not cover the rows. Empty if nothing is.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> check_stream(ob.streams()["drift"])
    []
    """
    return [] if stream.probe() else _found("stream", stream.name, _stream_faults, stream)


def check_metric(metric: Metric) -> list[str]:
    """Check a metric on records of the reference backend: a regression, a classification and a subspace.

    Parameters
    ----------
    metric : Metric
        It may be None (not applicable) for some records. If it is None for all, methods of plugins are tried.

    Returns
    -------
    list of str
        What is wrong: the direction, a value that is not finite, or a learner that was changed. Empty if nothing is.

    Examples
    --------
    >>> from orfit_bench.spec import Metric
    >>> rows = Metric("rows", "", "number of rows", "n", "", "sideways", lambda record: float(record.rows_learned))
    >>> check_metric(rows)
    ["metric 'rows': better='sideways', want one of lower, higher"]
    """
    return _found("metric", metric.name, _metric_faults, metric)


def check_model(model: Model) -> list[str]:
    """Check a model: shapes, and its Jacobian against central differences of its predictions.

    Parameters
    ----------
    model : Model
        Checked with three features and one output.

    Returns
    -------
    list of str
        What is wrong; empty if nothing is.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> check_model(ob.MLP(hidden=(4,)))
    []
    """
    return _found("model", model.name, _model_faults, model)


def check_experiment(experiment: Experiment) -> list[str]:
    """Check that the runner of an experiment can be imported; the experiment is not run.

    Parameters
    ----------
    experiment : Experiment
        Names its runner as "package.module:function".

    Returns
    -------
    list of str
        What is wrong; empty if nothing is.

    Examples
    --------
    >>> from orfit_bench.spec import Experiment
    >>> check_experiment(Experiment("figure", "a paper", "a figure", 1, "math:figure"))[0]
    "experiment 'figure': the runner 'math:figure' cannot be imported: module 'math' has no attribute 'figure'"
    """
    return _found("experiment", experiment.name, _experiment_faults, experiment)


class Declared(NamedTuple):
    """A stream, metric, model or experiment of a plugin."""

    plugin: str
    hook: str
    """Of those of CHECKS."""
    name: str


CHECKS: dict[str, Callable[[Any], list[str]]] = {
    "streams": check_stream,
    "metrics": check_metric,
    "models": check_model,
    "experiments": check_experiment,
}


def list_declared(names: Sequence[str] = ()) -> list[Declared]:
    """The streams, metrics, models and experiments to check.

    Only those of the named plugins and distributions, and those that are named themselves; all if nothing is named.
    """
    found = []
    for plugin in registry().plugins:
        is_named = not names or bool({plugin.name, plugin.distribution} & set(names))
        for hook in CHECKS:
            found += [Declared(plugin.name, hook, i.name) for i in _offers(plugin, hook) if is_named or i.name in names]
    return found


def check_declared(declared: Declared) -> list[str]:
    """What is wrong with one of them."""
    plugins = [plugin for plugin in registry().plugins if plugin.name == declared.plugin]
    items = [item for plugin in plugins for item in _offers(plugin, declared.hook) if item.name == declared.name]
    return [fault for item in items for fault in CHECKS[declared.hook](item)]


def check_plugins(names: Sequence[str] = ()) -> tuple[int, list[str]]:
    """The number of streams, metrics, models and experiments, and what is wrong with them: see `list_declared`."""
    found = list_declared(names)
    return len(found), [fault for one in dict.fromkeys(found) for fault in check_declared(one)]


def _offers(plugin: Any, hook: str) -> Sequence[Any]:
    return tuple({**plugin.offers, "models": plugin.models}.get(hook, ()))


def _found(kind: str, name: str, faults: Callable[[Any], Iterator[str]], declared: object) -> list[str]:
    """The faults; an exception is one of them."""
    found: list[str] = []
    try:
        found.extend(faults(declared))
    except (Exception, SystemExit) as error:
        found.append(f"raised {describe(error)}")
    return [f"{kind} {name!r}: {fault}" for fault in found]


def _stream_faults(stream: Stream) -> Iterator[str]:
    first, second = stream.load(), stream.load()
    for part in ("X", "y", "test", "validation", "tasks"):
        a, b = (_arrays(getattr(data, part)) for data in (first, second))
        if len(a) != len(b) or not all(map(_is_equal, a, b)):
            yield f"two loads give different {part}; draw random numbers from a setting `seed`"
    d = np.shape(first.X)[1]
    tests = {"the stream": (first.X, first.y), "test": first.test, "validation": first.validation}
    for what, rows in tests.items():
        if rows is None:
            continue
        X, y = (None if part is None else np.asarray(part) for part in rows)
        if X is None or X.ndim != 2 or X.shape[1] != d:
            yield f"{what} has X of shape {None if X is None else X.shape}, want (rows, {d})"
        elif not np.isfinite(np.asarray(X, float)).all():
            yield f"{what} has values in X that are not finite"
        elif (y is None) != (first.y is None) or (y is not None and len(y) != len(X)):
            yield f"{what} has {len(X)} rows of X and {'no' if y is None else len(y)} targets"
    if (first.y is None) != (stream.offers == "rows"):
        yield f"it declares offers={stream.offers!r}, but y is {'None' if first.y is None else 'not None'}"


def _arrays(part: Any) -> list[Any]:
    parts = part if isinstance(part, tuple) else (part,)
    return [np.asarray(array) for array in parts]


def _is_equal(a: Any, b: Any) -> bool:
    return a.shape == b.shape and bool(np.all((a == b) | ((a != a) & (b != b))))


def _metric_faults(metric: Metric) -> Iterator[str]:
    directions = get_args(Direction)
    if metric.better not in directions:
        yield f"better={metric.better!r}, want one of {', '.join(directions)}"
    values, changed = _measured(metric, KINDS_OF_RECORDS)
    if all(value is None for value in values.values()):
        others = [
            name
            for name in registry().methods
            if not registry().suppliers.get(("methods", name), "").startswith("orfit-bench ")
        ]
        more, changed_more = _measured(metric, others)
        values, changed = values | more, changed + changed_more
    if all(value is None for value in values.values()):
        yield f"it is None for each of {', '.join(values)}, so no table would show it"
    for method, value in values.items():
        if value is not None and not (isinstance(value, (int, float, np.number)) and math.isfinite(value)):
            yield f"it is {value!r} for {method} on the reference backend, want a finite number or None"
    if changed:
        yield f"measure changed record.learner ({', '.join(changed)}): let it work on record.learner.copy()"


def _measured(metric: Metric, methods: Iterable[str]) -> tuple[dict[str, Any], list[str]]:
    """The value of the metric for each of these methods that can learn, and the methods whose learner it changed."""
    values, changed = {}, []
    for record in _records(methods):
        name, before = record.learner.rule.method.name, record.learner.state().copy(deep=True)
        values[name] = metric.measure(record)
        if not record.learner.state().identical(before):
            changed.append(name)
    return values, changed


def _records(methods: Iterable[str]) -> Iterator[Record]:
    """Records of learners of these methods, with two tasks and a test set; methods that cannot learn are left out."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((ROWS, FEATURES)), rng.standard_normal(ROWS)
    for method in methods:
        traits = registry().methods[method].traits
        targets = None if not traits.supervised else (y > 0).astype(int) if traits.labels else y
        learned, held_out = (None, None) if targets is None else (targets[:30], targets[30:])
        data = Data(X[:30], learned, test=(X[30:], held_out), tasks=(0, 15, 30))
        try:
            learner = ob.create(method, backend="numpy").partial_fit(data.X, data.y)
        except Exception:  # the checks of this method say why
            continue
        yield Record(
            data=data,
            learner=learner,
            seconds=0.01,
            rows_learned=30,
            rows=np.array([15, 30]),
            test_error=np.array([0.5, 0.25]),
            task_error=np.array([[0.5, np.nan], [0.4, 0.3]]),
            stream_error=0.4,
            a_priori=np.full(30, 0.5) if method == "rls" else None,
            latency=np.full(10, 1e-4),
            host_bytes=1e4,
            device_bytes=1e4 if method == "rls" else None,
            limit=1e6,
        )


def _experiment_faults(experiment: Experiment) -> Iterator[str]:
    module, _, function = experiment.runner.partition(":")
    try:
        runner = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        yield f"the runner {experiment.runner!r} cannot be imported: {error}"
    else:
        if not callable(runner):
            yield f"the runner {experiment.runner!r} is {type(runner).__name__}, want a function"


def _model_faults(model: Model) -> Iterator[str]:
    rng = np.random.default_rng(0)
    c = 1
    p = model.size(FEATURES, c)
    w, X = 0.5 * rng.standard_normal(p), rng.standard_normal((5, FEATURES))
    start = model.start(rng.standard_normal, FEATURES, c)
    if start is not None and (np.shape(start) != (p,) or not np.isfinite(start).all()):
        yield f"start gives shape {np.shape(start)} or values that are not finite, want ({p},)"
    predictions = np.asarray(model.predict(w, X))
    if predictions.shape != (len(X), c):
        yield f"predict gives shape {predictions.shape} for {len(X)} rows, want {(len(X), c)}"
        return
    for x in X:
        J = np.asarray(model.jacobian(w, x))
        if J.shape != (c, p):
            yield f"jacobian gives shape {J.shape}, want {(c, p)}"
            return
        steps = STEP * np.eye(p)
        moved = [[model.predict(w + sign * step, x[None])[0] for step in steps] for sign in (1, -1)]
        want = ((np.array(moved[0]) - np.array(moved[1])) / (2 * STEP)).T
        if (off := float(abs(J - want).max())) > DEVIATION * (1 + float(abs(want).max())):
            column = abs(J - want).max(0).argmax()
            yield f"jacobian differs by {off:.1e} from the derivative of predict (column {column})"
            return
