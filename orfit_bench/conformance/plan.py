"""The plan of a run: the checks that apply to each method on each backend in each dtype."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from orfit_bench.conformance import (
    checks,  # noqa: F401  # registers the checks
    laws,
)
from orfit_bench.conformance.check import CHECKS, Check, rank
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.result import PlannedCheck
from orfit_bench.conformance.variants import has_complex_form, variants
from orfit_bench.errors import LackingError, UnavailableError, suggest
from orfit_bench.learners.arguments import DTYPES, is_complex
from orfit_bench.plugins.registry import Registry, registry
from orfit_bench.spec import Absent

Pair = tuple[str, str]
"""Backend and method."""


def plan_checks(
    names: Sequence[str] = (),
    *,
    backends: Sequence[str] = (),
    dtypes: Sequence[str] = DTYPES,
    only: Sequence[str] = (),
    seed: int = 0,
    slow: bool = False,
) -> list[PlannedCheck]:
    """Every check that applies to the methods, backends and plugins named (default: all), in a fixed order."""
    chosen = validate_selection(names, backends, dtypes, only, seed)
    return [item for pair in chosen for item in plan_pair(*pair, dtypes, only, seed, slow)]


def plan_pair(
    backend: str, method: str, dtypes: Sequence[str], only: Sequence[str], seed: int, slow: bool
) -> list[PlannedCheck]:
    """Every check that applies to one method on one backend.

    If the kernel cannot be loaded, only the first check, whose failure gives the reason.
    """
    found: list[PlannedCheck] = []
    available = not registry().absence(backend, method)
    loadable = _is_loadable(backend, method)  # the needs of a check are known only for kernels that can be loaded
    lacks = registry().capabilities(backend, method)
    for dtype in dict.fromkeys(dtypes):
        if (dtype == "float32" and available and lacks["float32"]) or (
            is_complex(dtype) and lacks.get("complex", "no")
        ):
            continue
        for one in checks_of(method):
            if not one.applies_to(dtype) or (only and one.name not in only) or (one.slow and not (slow or only)):
                continue
            if one.once and any(earlier.check == one.name for earlier in found):
                continue
            if not loadable or _applies(one, next(contexts(backend, method, dtype, seed))):
                found.append(PlannedCheck(one.name, method, backend, dtype, seed))
    return found if not available or loadable else found[:1]


def _applies(one: Check, context: CheckContext) -> bool:
    """Whether a check applies to a kernel, even if it will be skipped because of a missing feature."""
    try:
        return not one.needs(context)
    except LackingError:
        return True


def _is_loadable(backend: str, method: str) -> bool:
    try:
        registry().kernel(backend, method)
    except UnavailableError:
        return False
    return True


def checks_of(method: str) -> list[Check]:
    """Every check of a method in the order of execution: the checks of all learners, and its laws."""
    return sorted([*CHECKS, *laws.law_checks(method)], key=lambda one: rank(one.name))


def contexts(backend: str, method: str, dtype: str, seed: int) -> Iterator[CheckContext]:
    """The method with every variant of its settings, the defaults first."""
    known = registry()
    for variant in variants(known.methods[method]):
        if is_complex(dtype) and not has_complex_form(known.methods[method], variant):
            continue
        yield CheckContext(known.methods[method], known.backends[backend], dtype, seed, variant)


def validate_selection(
    names: Sequence[str], backends: Sequence[str], dtypes: Sequence[str], only: Sequence[str], seed: int
) -> list[Pair]:
    """The selected pairs of backend and method, without loading kernels. Raises ValueError for unknown names."""
    found = select_pairs(names, backends)
    known = {one.name for _, method in found for one in checks_of(method)}
    if found and (unknown := [name for name in only if name not in known]):
        raise ValueError(f"no check {unknown[0]!r}{suggest(unknown[0], known)}")
    if unknown := [dtype for dtype in dtypes if dtype not in DTYPES]:
        raise ValueError(f"dtype={unknown[0]!r}: want one of {', '.join(DTYPES)}")
    if not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed={seed!r}: want an integer >= 0")
    return found


def select_pairs(names: Sequence[str] = (), backends: Sequence[str] = ()) -> list[Pair]:
    """The (backend, method) of every kernel selected by names of methods, backends or plugins, on these backends.

    A method and a backend named together select that pair; a plugin selects everything that it provides, and a name of
    both a method and a backend the kernels of either.
    """
    known = registry()
    for name in backends:
        known.backends.find(name)
    everything = sorted(
        pair for pair, kernel in known.kernels.items() if not isinstance(kernel, Absent) and _is_declared(known, pair)
    )
    both = {n for n in names if n in known.methods and n in known.backends}
    methods = [n for n in names if n in known.methods and n not in both]
    on = [n for n in names if n in known.backends and n not in both]
    plugins = [n for n in names if n not in known.methods and n not in known.backends]
    chosen = {p for name in plugins for p in _pairs_of_plugin(name, everything)}
    chosen |= {pair for pair in everything if both & {*pair}}
    if methods or on or not (plugins or both):
        chosen |= {(b, m) for b, m in everything if (not methods or m in methods) and (not on or b in on)}
    return [pair for pair in everything if pair in chosen and (not backends or pair[0] in backends)]


def _is_declared(known: Registry, pair: Pair) -> bool:
    return pair[0] in known.backends and pair[1] in known.methods


def _pairs_of_plugin(name: str, everything: list[Pair]) -> list[Pair]:
    """The kernels of a plugin or distribution, and all kernels of its methods and on its backends."""
    known = registry()
    found = [p for p in known.plugins if name in (p.name, p.distribution)]
    if not found and any(name in table for table in (known.streams, known.metrics, known.experiments)):
        return []
    if not found:
        tables = known.methods, known.backends, known.streams, known.metrics, known.experiments
        near = suggest(name, {*chain(*tables), *(p.name for p in known.plugins)})
        raise ValueError(f"no method, backend, plugin, stream, metric or experiment is named {name!r}{near}")
    if broken := [p for p in found if p.state != "ok"]:
        raise ValueError(f"plugin {name!r} is {broken[0].state}: {broken[0].reason}")
    own = {item.name for p in found for hook in ("methods", "backends") for item in p.offers.get(hook, ())}
    kernels = {pair for p in found for pair in p.offers.get("kernels", {})}
    return [pair for pair in everything if pair in kernels or own & set(pair)]
