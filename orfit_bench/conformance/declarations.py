"""Checks that the return values of streams, metrics, models and experiments match their declarations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from orfit_bench.conformance.causes import describe
from orfit_bench.conformance.declaration_defects import (
    find_experiment_defects,
    find_metric_defects,
)
from orfit_bench.conformance.model_defects import find_model_defects
from orfit_bench.conformance.stream_defects import find_stream_defects
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Experiment, Metric, Model, Stream


def check_stream(stream: Stream) -> list[str]:
    """Check a stream with its default settings.

    Parameters
    ----------
    stream : Stream
        The stream, which is loaded twice, once with half of its rows, and with another seed. It is not checked if its
        `probe` gives a reason why it cannot be loaded here.

    Returns
    -------
    list of str
        The defects: the data differ between two loads, the setting n or seed is ignored, shapes do not match, values
        are not finite, the tasks do not cover the rows, or methods that learn what the stream offers would refuse its
        rows. Empty if there are none.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> check_stream(ob.streams()["drift"])
    []
    """
    return _found(Stream, find_stream_defects, stream)


def check_metric(metric: Metric) -> list[str]:
    """Check a metric on records of the reference backend: a regression, a classification and a subspace.

    The records come with a test set and without one.

    Parameters
    ----------
    metric : Metric
        The metric. It can be None (not applicable) for some records. If it is None for all, methods of plugins are
        tried, and then three classes with texts as labels, and two outputs.

    Returns
    -------
    list of str
        The defects: the direction, a value that is not finite, or a learner that was changed. Empty if there are none.

    Examples
    --------
    >>> from orfit_bench.spec import Metric
    >>> rows = Metric("rows", "", "number of rows", "n", "", "sideways", lambda record: float(record.rows_learned))
    >>> check_metric(rows)
    ["metric 'rows': better='sideways', want one of lower, higher"]
    """
    return _found(Metric, find_metric_defects, metric)


def check_model(model: Model) -> list[str]:
    """Check a model: its predictions, and its derivatives against central differences of its predictions.

    Parameters
    ----------
    model : Model
        The model, which is checked with three features and one output, and with two outputs if it supports them; also
        `vjp`, `jacobians`, `layers` and `with_outputs` if it has them.

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
    return _found(Model, find_model_defects, model)


def check_experiment(experiment: Experiment) -> list[str]:
    """Check that the runner of an experiment can be imported; the experiment is not run.

    Parameters
    ----------
    experiment : Experiment
        The experiment, which names its runner as "package.module:function".

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
    return _found(Experiment, find_experiment_defects, experiment)


class Declared(NamedTuple):
    """A stream, metric, model or experiment of a plugin."""

    plugin: str
    hook: str
    """The hook, one of CHECKS."""
    name: str


CHECKS: dict[str, Callable[[Any], list[str]]] = {
    "streams": check_stream,
    "metrics": check_metric,
    "models": check_model,
    "experiments": check_experiment,
}


def list_declared(names: Sequence[str]) -> list[Declared]:
    """The streams, metrics, models and experiments to check.

    With names, only those of the named plugins and distributions and those named themselves; otherwise all.
    """
    found = []
    for plugin in registry().plugins:
        is_named = not names or bool({plugin.name, plugin.distribution} & set(names))
        for hook in CHECKS:
            found += [Declared(plugin.name, hook, i.name) for i in _offers(plugin, hook) if is_named or i.name in names]
    return found


def check_declared(declared: Declared) -> list[str]:
    """The defects of a declaration."""
    plugins = [plugin for plugin in registry().plugins if plugin.name == declared.plugin]
    items = [item for plugin in plugins for item in _offers(plugin, declared.hook) if item.name == declared.name]
    return [defect for item in items for defect in CHECKS[declared.hook](item)]


def check_plugins(names: Sequence[str] = ()) -> tuple[int, list[str]]:
    """The number of streams, metrics, models and experiments, and their defects; see `list_declared`."""
    found = list_declared(names)
    return len(found), [defect for one in dict.fromkeys(found) for defect in check_declared(one)]


def _offers(plugin: Any, hook: str) -> Sequence[Any]:
    return tuple({**plugin.offers, "models": plugin.models}.get(hook, ()))


def _found(
    kind: type[Stream | Metric | Model | Experiment], defects: Callable[[Any], Iterator[str]], declared: object
) -> list[str]:
    """The defects, including exceptions. Raises TypeError if the declaration is not of this kind."""
    what, found = kind.__name__.lower(), list[str]()
    if not isinstance(declared, kind):
        raise TypeError(f"check_{what}: got {declared!r}, want a {kind.__name__}")
    try:
        found.extend(defects(declared))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a plugin must not end the process
        found.append(f"raised {describe(error)}")
    return [f"{what} {declared.name!r}: {defect}" for defect in found]
