"""Which of several plugins keeps a name that all of them claim."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.methods import declare

from orfit_bench import PluginError
from orfit_bench.plugins.discovery import Plugin
from orfit_bench.plugins.registry import Registry
from orfit_bench.spec import Absent, Backend, Field, Override

W = Field("w", ("parameter", "output"), "weights")


def plugin(
    name: str,
    *,
    methods: tuple[str, ...] = (),
    backends: tuple[str, ...] = (),
    kernels: Mapping[tuple[str, str], Any] | None = None,
    installed: float = 1.0,
) -> Plugin:
    offers = {
        "methods": tuple(declare(m, W) for m in methods),
        "backends": tuple(Backend(b, "", namespace=lambda: np) for b in backends),
        "kernels": dict(kernels or {}),
    }
    return Plugin(name, name, "1.0", "ok", offers=offers, installed=installed)


RLS = ("numpy", "rls")
NUMPY = plugin("orfit-bench-numpy", backends=("numpy",), kernels={RLS: "orfit_bench_numpy.rls"}, installed=9.0)
CATALOGUE = plugin("orfit-bench", methods=("rls",))


def resolved(*plugins: Plugin) -> dict[str, Plugin]:
    """The final state of each plugin, the same for every order in which they are found."""
    results = [{p.name: p for p in Registry(order).plugins} for order in permutations(plugins)]
    assert all(result == results[0] for result in results)
    return results[0]


def kernel(pair: tuple[str, str], *plugins: Plugin) -> Any:
    """The kernel of a pair, the same for every order in which the plugins are found."""
    found = {Registry(order).kernels[pair] for order in permutations(plugins)}
    assert len(found) == 1
    return found.pop()


def test_the_supplier_of_a_backend_keeps_its_kernels() -> None:
    """Neither the name nor the installation time of the other plugin matters."""
    intruder = plugin("a-first", kernels={RLS: "mine"}, installed=0.0)
    states = resolved(CATALOGUE, NUMPY, intruder)
    assert states["orfit-bench-numpy"].state == "ok"
    assert states["a-first"].state == "broken"
    assert states["a-first"].reason.startswith(
        "its kernel of rls on numpy is already supplied by orfit-bench-numpy 1.0: uninstall one"
    )
    assert "Override" not in states["a-first"].reason, "no plugin may override the reference"
    assert kernel(RLS, CATALOGUE, NUMPY, intruder) == "orfit_bench_numpy.rls"


def test_a_backend_belongs_to_the_distribution_that_is_named_after_it() -> None:
    states = resolved(NUMPY, plugin("a-first", backends=("numpy",), installed=0.0))
    assert {name: p.state for name, p in states.items()} == {"orfit-bench-numpy": "ok", "a-first": "broken"}


def test_the_catalogue_keeps_its_methods() -> None:
    states = resolved(CATALOGUE, plugin("a-first", methods=("rls",), installed=0.0))
    assert "its method 'rls' is already supplied by orfit-bench 1.0" in states["a-first"].reason


def test_the_plugin_installed_first_keeps_any_other_name() -> None:
    states = resolved(plugin("a", methods=("m",), installed=2.0), plugin("b", methods=("m",), installed=1.0))
    assert {name: p.state for name, p in states.items()} == {"a": "broken", "b": "ok"}


def test_any_plugin_may_add_a_missing_kernel() -> None:
    owner = plugin("fast", backends=("fast",), kernels={("fast", "rls"): Absent("not yet")})
    other = plugin("helper", kernels={("fast", "rls"): "helper.rls", ("fast", "lms"): "helper.lms"})
    assert {p.state for p in resolved(owner, other).values()} == {"ok"}
    assert kernel(("fast", "rls"), owner, other) == "helper.rls"
    assert kernel(("fast", "lms"), owner, other) == "helper.lms"


def test_of_two_that_add_a_kernel_the_supplier_of_the_method_comes_first() -> None:
    owner = plugin("fast", backends=("fast",))
    author = plugin("author", methods=("m",), kernels={("fast", "m"): "author.m"}, installed=9.0)
    other = plugin("another", kernels={("fast", "m"): "another.m"}, installed=0.0)
    assert resolved(owner, author, other)["another"].state == "broken"
    assert kernel(("fast", "m"), owner, author, other) == "author.m"


def test_an_override_replaces_the_kernel_of_a_backend_and_its_removal_brings_it_back() -> None:
    pair = ("fast", "rls")
    owner = plugin("fast", backends=("fast",), kernels={pair: "fast.rls"})
    other = plugin("other", kernels={pair: Override("other.rls")})
    assert {p.state for p in resolved(owner, other).values()} == {"ok"}
    assert kernel(pair, owner, other) == "other.rls"
    known = Registry([owner])
    known.add(Plugin("mine", "this process", "", "ok", offers=other.offers))
    assert (known.kernels[pair], known.suppliers["kernels", pair]) == ("other.rls", "this process")
    known.remove("mine")
    assert (known.kernels[pair], known.suppliers["kernels", pair]) == ("fast.rls", "fast 1.0")


def test_of_two_overrides_the_later_is_broken() -> None:
    pair = ("fast", "rls")
    owner = plugin("fast", backends=("fast",), kernels={pair: "fast.rls"})
    one = plugin("one", kernels={pair: Override("one.rls")}, installed=2.0)
    two = plugin("two", kernels={pair: Override("two.rls")}, installed=1.0)
    assert resolved(owner, one, two)["one"].state == "broken"
    assert kernel(pair, owner, one, two) == "two.rls"


def test_the_reference_cannot_be_replaced() -> None:
    other = plugin("other", kernels={RLS: Override("other.rls")})
    state = resolved(CATALOGUE, NUMPY, other)["other"]
    assert "it overrides the kernel of rls on numpy, the reference with which others are compared" in state.reason
    assert kernel(RLS, CATALOGUE, NUMPY, other) == "orfit_bench_numpy.rls"


def test_a_refused_plugin_changes_nothing() -> None:
    known = Registry([CATALOGUE, NUMPY])
    with pytest.raises(PluginError, match="already supplied by orfit-bench-numpy"):
        known.add(plugin("mine", methods=("m",), kernels={RLS: SimpleNamespace(learn=len)}))
    assert list(known.methods) == ["rls"]
    assert len(known.plugins) == 2


def test_kernel_of_a_pair_that_nothing_declares_is_named() -> None:
    """Its backend may be installed later, so that it is not an error; it may also be a misspelt name."""
    mine = plugin("mine", methods=("m",), kernels={("nump", "m"): "mine", ("numpy", "mm"): "mine", ("numpy", "m"): "m"})
    known = Registry([CATALOGUE, NUMPY, mine])
    assert known.unused_kernels("mine") == known.unused_kernels("m") + known.unused_kernels("mm")
    assert known.unused_kernels("mine") == [
        "the kernel of ('nump', 'm') of mine 1.0 is not used: no backend 'nump'. Did you mean 'numpy'?",
        "the kernel of ('numpy', 'mm') of mine 1.0 is not used: no method 'mm'. Did you mean 'm'?",
    ]
    assert known.unused_kernels("rls") == []


def test_methods_whose_estimators_would_have_one_name_are_refused() -> None:
    found = Registry([CATALOGUE, plugin("mine", methods=("RLS",)), plugin("other", methods=("r_ls",))])
    states = {p.name: (p.state, p.reason) for p in found.plugins}
    assert states["mine"][0] == "broken"
    assert "its method 'RLS' would get the same estimator class name as 'rls'" in states["mine"][1]
    assert states["other"][0] == "ok"
