"""Registration of plugins in the running process."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.plugins import Plugin

import orfit_bench as ob
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import LINEAR, Absent, Backend, Metric, Stream
from orfit_bench.spec.result_names import RESULT_NAMES


def last_row(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    if out is not None:
        out[...] = X @ s.w
    s.w[...] = Y[-1]
    return len(X)


def test_register_and_unregister(registered: Callable[..., str]) -> None:
    name = registered(Plugin(kernels={"mine": SimpleNamespace(learn=last_row), "rls": Absent("not yet")}))
    assert ob.create("mine", backend="own").partial_fit([[1.0]], [2.0]).predict([[3.0]]) == [6.0]
    with pytest.raises(ob.UnavailableError, match="rls on own: not yet"):
        ob.create("rls", backend="own")
    with pytest.raises(ob.UnavailableError, match="mine on numpy: no installed plugin has a numpy kernel"):
        ob.create("mine")
    ob.unregister(name)
    with pytest.raises(ValueError, match="no method 'mine'"):
        ob.create("mine")
    ob.unregister(name)  # unregistering twice is not an error


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (Plugin(method="lms", backend="other"), "plugin 'second': its method 'lms' is already supplied by orfit-bench"),
        (Plugin(method="other", backend="numpy"), "its backend 'numpy' is already supplied by orfit-bench-numpy"),
        (Plugin(method="other"), "its backend 'own' is already supplied by this process"),
        (object(), "declares no SPEC_VERSION"),
        (SimpleNamespace(SPEC_VERSION=(2, 0)), "requires spec 2.0"),
        (SimpleNamespace(SPEC_VERSION=(1, 0), methods=lambda: ()), r"methods\(\) is not marked as a hook"),
        (SimpleNamespace(SPEC_VERSION=(1, -1)), r"requires: got \(1, -1\), want \(1, 0\)"),
        (SimpleNamespace(SPEC_VERSION=(True, False)), r"requires: got \(True, False\), want"),
    ],
    ids=["method", "backend", "both mine", "no version", "newer", "unmarked", "negative", "booleans"],
)
def test_refused_plugin_changes_nothing(plugin: Any, message: str, registered: Callable[..., str]) -> None:
    registered(Plugin())
    held = set(ob.methods()), set(ob.backends()), len(registry().plugins)
    with pytest.raises(ob.PluginError, match=message):
        ob.register(plugin, "second")
    assert (set(ob.methods()), set(ob.backends()), len(registry().plugins)) == held
    with pytest.raises(ob.PluginError, match="a plugin named 'mine' is already loaded"):
        ob.register(Plugin("third", "third"), "mine")


@pytest.mark.parametrize("name", sorted(RESULT_NAMES))
def test_a_metric_with_a_name_of_the_results_is_refused(name: str) -> None:
    metric = Metric(name, "", "always 1", "1", "", "lower", lambda record: 1.0)
    plugin = SimpleNamespace(SPEC_VERSION=(1, 0), metrics=ob.hookimpl(lambda: (metric,)))
    with pytest.raises(ob.PluginError, match=f"plugin 'mine': .*hook metrics: the results have '{name}' already"):
        ob.register(plugin, "mine")


@pytest.mark.parametrize(
    ("hook", "declared", "message"),
    [
        ("metrics", Metric("x", None, "", "", "", "lower", float), "Metric 'x': unit=None, want a string"),
        ("metrics", Metric("x", "", "", "", "", "lower", 3), "Metric 'x': measure=3, want a function"),
        ("metrics", Metric("x", "", "", "", "", "lower", float, memory=4), "Metric 'x': memory=4, want a function"),
        ("backends", Backend("x", "", dict, complete="yes"), "Backend 'x': complete='yes', want True or False"),
        ("streams", Stream("x", "", make="rows"), "Stream 'x': make='rows', want a function"),
    ],
)
def test_fields_of_declarations_have_their_types(hook: str, declared: Any, message: str) -> None:
    plugin = SimpleNamespace(SPEC_VERSION=(1, 0), **{hook: ob.hookimpl(lambda: (declared,))})
    with pytest.raises(ob.PluginError, match=f"plugin 'mine': .*hook {hook}: {message}"):
        ob.register(plugin, "mine")


@pytest.mark.parametrize("better", [None, "sideways", ["lower"]])
def test_a_metric_without_a_direction_is_refused(better: Any) -> None:
    metric = Metric("x", "", "", "", "", better, float)
    plugin = SimpleNamespace(SPEC_VERSION=(1, 0), metrics=ob.hookimpl(lambda: (metric,)))
    with pytest.raises(ob.PluginError, match=r"hook metrics: metric 'x': better=.*, want 'lower' or 'higher'"):
        ob.register(plugin, "mine")


def test_tables_are_read_only() -> None:
    for declared in (ob.methods(), ob.backends(), ob.streams(), ob.metrics()):
        with pytest.raises(TypeError):
            declared["x"] = 1  # type: ignore[index]


def test_registry_of_the_repository_is_sound() -> None:
    registry().require_sound()


def test_errors_of_register_state_the_remedy(registered: Callable[..., str]) -> None:
    registered(Plugin(kernels={}), "mine")
    with pytest.raises(ob.PluginError, match=r"call orfit_bench.unregister\('mine'\) first"):
        ob.register(Plugin(kernels={}), "mine")
    with pytest.raises(ob.PluginError, match="got a class, want an instance"):
        ob.register(Plugin)


def test_failing_device_info_is_reported_as_a_description():
    def broken():
        raise RuntimeError("driver gone")

    backend = Backend("mine", "", namespace=lambda: None, device_info=broken)
    assert backend.described == {"unknown": "its device_info failed: RuntimeError: driver gone"}


def test_registry_keeps_the_declared_objects():
    from orfit_bench.catalogue import METHODS, METRICS, STREAMS

    for declared, table in (
        (METHODS, registry().methods),
        (STREAMS, registry().streams),
        (METRICS, registry().metrics),
    ):
        assert all(table[item.name] is item for item in declared)


def test_models_of_a_plugin_are_its_own(registered: Callable[..., str], cubic: ob.Model) -> None:
    registered(SimpleNamespace(SPEC_VERSION=(1, 0), LINEAR=LINEAR, cubic=cubic))
    (plugin,) = (p for p in registry().plugins if p.name == "mine")
    assert plugin.models == (cubic,)


@pytest.mark.parametrize(
    ("table", "name", "near"),
    [
        (ob.methods, "rl", "rls"),
        (ob.streams, "digit", "digits"),
        (ob.backends, "numppy", "numpy"),
        (ob.metrics, "x", ""),
    ],
)
def test_unknown_names_of_mappings_are_explained(table, name, near):
    with pytest.raises(KeyError, match=f"no {table.__name__[:-1]} '{name}'.*{near}.*Known: "):
        table()[name]
    assert name not in table()
