"""What is to be checked: which checks speak of which method on which backend in which dtype."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from orfit_bench.conformance import (
    checks,  # noqa: F401  # takes the checks in
    laws,
)
from orfit_bench.conformance.check import CHECKS, Check, Gap, Violation
from orfit_bench.conformance.trial import Trial
from orfit_bench.conformance.variants import variants
from orfit_bench.errors import UnavailableError, hint
from orfit_bench.plugins.registry import Registry, registry
from orfit_bench.spec import Absent

DTYPES = ("float64", "float32")
Pair = tuple[str, str]
"""Backend and method."""


@dataclass(frozen=True, slots=True)
class Item:
    """One check of one method on one backend in one dtype, by names alone, so that it can go to another process."""

    check: str
    method: str
    backend: str
    dtype: str
    seed: int


def planned(
    names: Sequence[str] = (),
    *,
    backends: Sequence[str] = (),
    dtypes: Sequence[str] = DTYPES,
    only: Sequence[str] = (),
    seed: int = 0,
    slow: bool = False,
) -> list[Item]:
    """Every check that speaks of the methods, backends and plugins named (all, where none is), in a fixed order."""
    chosen = chosen_pairs(names, backends, dtypes, only, seed)
    return [item for pair in chosen for item in of_pair(*pair, dtypes, only, seed, slow)]


def of_pair(backend: str, method: str, dtypes: Sequence[str], only: Sequence[str], seed: int, slow: bool) -> list[Item]:
    """Every check that speaks of one method on one backend."""
    found: list[Item] = []
    available = not registry().absence(backend, method)
    lacks = registry().capabilities(backend, method)
    for dtype in dict.fromkeys(dtypes):
        if dtype == "float32" and available and lacks["float32"]:
            continue
        for one in of_method(method):
            if (only and one.name not in only) or (one.slow and not (slow or only)):
                continue
            if not available or not needs(one, backend, method, dtype, seed):
                found.append(Item(one.name, method, backend, dtype, seed))
    return found if not available or _usable(backend, method) else found[:1]


def _usable(backend: str, method: str) -> bool:
    """Whether the kernel can be had at all: where it cannot, one check says why, and not every one of them."""
    try:
        registry().kernel(backend, method)
    except UnavailableError:
        return False
    return True


def needs(one: Check, backend: str, method: str, dtype: str, seed: int) -> str:
    """Why a check does not speak of the method on the backend; empty where it does."""
    return one.needs(next(trials(backend, method, dtype, seed)))


def trials(backend: str, method: str, dtype: str, seed: int) -> Iterator[Trial]:
    """The method under every variant of its settings, the defaults first."""
    known = registry()
    for variant in variants(known.methods[method], backend):
        yield Trial(known.methods[method], known.backends[backend], dtype, seed, variant)


def of_method(method: str) -> list[Check]:
    """Every check that there is for a method: the rules of all learners, and its laws."""
    return [
        *CHECKS,
        *(
            Check(f"law_{c.law.name}", c.law.claim, partial(_law, c), partial(_lawful, c), every=False)
            for c in laws.cases(method)
        ),
    ]


def _lawful(case: laws.Case, trial: Trial) -> str:
    return case.absence(trial.backend.name)


def _law(case: laws.Case, trial: Trial) -> Gap:
    found = [laws.measured(case, kind, trial.backend.name, trial.dtype, trial.seed) for kind in laws.kinds(case.law)]
    worst = laws.worst(found)
    if worst.void:
        raise Violation(f"it says nothing on any kind of rows: {worst.void}")
    return Gap(worst.measured.deviation, worst.bound, f"on rows {worst.rows!r}")


def chosen_pairs(
    names: Sequence[str], backends: Sequence[str], dtypes: Sequence[str], only: Sequence[str], seed: int
) -> list[Pair]:
    """As `pairs`; ValueError where anything that was asked for is not there. Loads no kernel."""
    found = pairs(names, backends)
    known = {one.name for _, method in found for one in of_method(method)}
    if found and (strange := [name for name in only if name not in known]):
        raise ValueError(f"no check {strange[0]!r}{hint(strange[0], known)}")
    if strange := [dtype for dtype in dtypes if dtype not in DTYPES]:
        raise ValueError(f"dtype={strange[0]!r}: want one of {', '.join(DTYPES)}")
    if not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed={seed!r}: want an integer >= 0")
    return found


def pairs(names: Sequence[str] = (), backends: Sequence[str] = ()) -> list[Pair]:
    """(backend, method) of every kernel that the names, of methods, backends or plugins, speak of, on these backends.

    A method and a backend named together mean that pair; a plugin, all that it brings.
    """
    known = registry()
    for name in backends:
        known.find("backends", name)
    everything = sorted(
        pair for pair, kernel in known.kernels.items() if not isinstance(kernel, Absent) and _declared(known, pair)
    )
    methods = [n for n in names if n in known.methods]
    on = [n for n in names if n in known.backends and n not in known.methods]
    plugins = [n for n in names if n not in known.methods and n not in known.backends]
    chosen = {p for name in plugins for p in _of_plugin(name, everything)}
    if methods or on or not plugins:
        chosen |= {(b, m) for b, m in everything if (not methods or m in methods) and (not on or b in on)}
    return [pair for pair in everything if pair in chosen and (not backends or pair[0] in backends)]


def _declared(known: Registry, pair: Pair) -> bool:
    return pair[0] in known.backends and pair[1] in known.methods


def _of_plugin(name: str, everything: list[Pair]) -> list[Pair]:
    """What a plugin, or a distribution, brings: its kernels, and every kernel of its methods and on its backends."""
    known = registry()
    found = [p for p in known.plugins if name in (p.name, p.distribution)]
    if not found:
        plugins = {p.name for p in known.plugins}
        raise ValueError(
            f"no method, backend or plugin is named {name!r}{hint(name, {*known.methods, *known.backends, *plugins})}"
        )
    if broken := [p for p in found if p.state != "ok"]:
        raise ValueError(f"plugin {name!r} is {broken[0].state}: {broken[0].reason}")
    own = {item.name for p in found for hook in ("methods", "backends") for item in p.offers.get(hook, ())}
    kernels = {pair for p in found for pair in p.offers.get("kernels", {})}
    return [pair for pair in everything if pair in kernels or own & set(pair)]
