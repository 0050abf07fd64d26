"""The verdict on a run as a whole: a run with too few checks does not pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from orfit_bench.conformance.causes import describe
from orfit_bench.conformance.declarations import check_plugins
from orfit_bench.conformance.plan import Pair, checks_of, select_pairs
from orfit_bench.conformance.result import LACKS, SKIPPED, CheckResult, PlannedCheck, Report
from orfit_bench.errors import UnavailableError, suggest
from orfit_bench.learners.arguments import DTYPES
from orfit_bench.plugins.discovery import is_own
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import REFERENCE

NO_CHECKS = "no checks ran"
"""The first words of the problem of a run in which nothing was checked."""
MAX_LISTED = 5
"""Largest number of missing checks that are listed one by one."""


class Declarations(NamedTuple):
    """The declarations of the checked kernels, determined in a process that has loaded them."""

    capabilities: dict[Pair, dict[str, str]]
    problems: list[str]
    """The defects of the declarations."""


def declarations(plan: Sequence[PlannedCheck]) -> Declarations:
    """The capabilities of the planned kernels, and the defects of their declarations."""
    checked = list(dict.fromkeys((item.backend, item.method) for item in plan))
    capabilities = {pair: registry().capabilities(*pair) for pair in checked}
    problems = [*_unknown_expectations(checked), *_broken_plugins(checked), *_missing_references(checked)]
    problems += _lost_kernels(checked)
    problems += _broken_functions({backend for backend, _ in checked})
    return Declarations(capabilities, problems)


def make_report(
    plan: Sequence[PlannedCheck],
    results: Sequence[CheckResult],
    partial: bool = False,
    declared: Declarations | None = None,
    named: Sequence[str] = (),
    stopped: bool = False,
    everything: bool = False,
    checked: tuple[int, list[str]] | None = None,
) -> Report:
    """The report of a run.

    Parameters
    ----------
    plan, results : sequence
        The planned checks, and the results.
    partial : bool
        Whether the user selected some of the checks.
    declared : Declarations, optional
        The declarations from another process, if this process cannot load the kernels.
    named : sequence of str
        Names that the user gave; a backend among them must have run.
    stopped : bool
        Whether the run ends at the first failure, if any; checks after it are missing on purpose.
    everything : bool
        Whether nothing was selected, so that all streams, metrics, models and experiments are checked too.
    checked : tuple, optional
        The answer of `check_plugins`, if they were checked elsewhere.
    """
    if stopped and len(results) < len(plan):
        ran = {result.label for result in results}
        report = make_report([item for item in plan if item.label in ran], results, True, declared)
        report.problems.append(f"stopped at the first failure: {len(results)} of {len(plan)} checks were run")
        return report
    capabilities, problems = declared or declarations(plan)
    n_declared, defects = checked or (check_plugins(named) if named or everything else (0, []))
    problems = [*problems, *defects]
    missing = [] if partial else _missing_methods({backend for backend, _ in capabilities} & registry().backends.keys())
    not_run = [] if n_declared and not plan else _not_run(plan, results, named)
    return Report(list(results), capabilities, [*not_run, *problems, *missing], partial, n_declared=n_declared)


def expected_failures(backend: str, method: str) -> dict[str, str]:
    """The checks that a kernel declares to fail, with reasons; empty if there is no kernel."""
    try:
        declared = getattr(registry().kernel(backend, method), "EXPECTED_FAILURES", {})
    except UnavailableError:  # every check of the kernel reports it
        return {}
    if isinstance(declared, Mapping):
        return {str(name): str(reason) for name, reason in declared.items()}
    return {repr(declared): ""}


def _not_run(plan: Sequence[PlannedCheck], results: Sequence[CheckResult], named: Sequence[str]) -> Iterable[str]:
    """Messages about missing checks: all, those of a method or of a named backend, or single checks."""
    ran = [r for r in results if r.status != SKIPPED]
    if not ran:
        reason = "no planned check was run" if plan else _why_nothing_is_planned(named)
        yield f"{NO_CHECKS}: " + (results[0].reason if results else reason)
        return
    methods, backends = {r.method for r in ran}, {r.backend for r in ran}
    for method in dict.fromkeys(item.method for item in plan if item.method not in methods):
        yield f"every check of {method} was skipped: {_reason(r for r in results if r.method == method)}"
    for backend in dict.fromkeys(i.backend for i in plan if i.backend in named and i.backend not in backends):
        yield f"every check on {backend} was skipped: {_reason(r for r in results if r.backend == backend)}"
    done, by_label = {r.label for r in ran}, {r.label: r for r in results}
    left_out = {r.label for r in results if r.status == SKIPPED and r.cause == LACKS}
    missing = [i for i in plan if i.label not in done | left_out and i.backend in backends]
    for item in missing[:MAX_LISTED]:
        yield f"{item.label} did not run: {_reason(filter(None, [by_label.get(item.label)]))}"
    if len(missing) > MAX_LISTED:
        yield f"{len(missing)} checks in total did not run, although the declared capabilities require them"


def _why_nothing_is_planned(named: Sequence[str]) -> str:
    """The reasons why a named backend has no kernel of a named method, and kernels without a declaration."""
    known = registry()
    pairs = [(b, m) for b in known.backends if b in named for m in known.methods if m in named]
    absent = [f"{m} on {b}: {reason}" for b, m in pairs if (reason := known.absence(b, m))]
    absent += dict.fromkeys(line for name in named for line in known.unused_kernels(name))
    return "; ".join(absent) or "no checks apply to the selection; does it have a kernel? See orfit-bench list NAME"


def _reason(results: Iterable[CheckResult]) -> str:
    return next((r.reason for r in results), "the run ended before it")


def _unknown_expectations(checked: Sequence[Pair]) -> Iterable[str]:
    """Expected failures whose name is not the name of a check."""
    for backend, method in checked:
        if registry().absence(backend, method):
            continue
        names = {one.name for one in checks_of(method)}
        for name in expected_failures(backend, method):
            check, *dtype = name.split() or [""]
            if check not in names or dtype not in ([], *([d] for d in DTYPES)):
                near = suggest(check, names).partition(" Known")[0]
                yield f"{method} on {backend} expects {name!r} to fail, which is not a check{near}"


def _broken_plugins(checked: Sequence[Pair]) -> Iterable[str]:
    """Plugins that cannot be loaded, if everything is checked, since the plan does not contain their declarations."""
    if set(checked) == set(select_pairs()):
        for plugin in registry().plugins:
            if plugin.state == "broken":
                yield f"plugin {plugin.name} ({plugin.supplier}) is broken: {plugin.reason}"


def _broken_functions(backends: Iterable[str]) -> Iterable[str]:
    """Functions of backends that no check calls, since they compute nothing, and that fail."""
    for backend in (registry().backends[name] for name in sorted(backends)):
        if backend.reason:
            continue
        try:
            backend.synchronize()
        except Exception as error:
            yield f"backend {backend.name!r}: its synchronize raised {describe(error)}"
        if wrong := backend.described.get("unknown"):
            yield f"backend {backend.name!r}: {wrong}"


def _missing_references(checked: Sequence[Pair]) -> Iterable[str]:
    """Kernels that could not be compared with the reference backend, although it should be available.

    For a method that a plugin offers only on its own backend, the laws and the batch solution decide.
    """
    known = registry()
    lost = "it is not installed" if REFERENCE not in known.backends else known.backends[REFERENCE].reason
    for backend, method in checked:
        own = is_own(known.suppliers["methods", method])
        if backend != REFERENCE and (reason := lost or (known.absence(REFERENCE, method) if own else "")):
            yield (
                f"{method} on {backend} was not compared with the reference backend {REFERENCE}: {reason}. "
                "Install or repair orfit-bench-numpy"
            )


def _lost_kernels(checked: Sequence[Pair]) -> Iterable[str]:
    """Kernels that a plugin names for an available backend, but whose modules do not exist."""
    known = registry()
    for backend, method in checked:
        is_named = isinstance(known.kernels.get((backend, method)), str) and not known.backends[backend].reason
        if is_named and (reason := known.absence(backend, method)):
            yield f"{method} on {backend}: {reason}"


def _missing_methods(backends: Iterable[str]) -> Iterable[str]:
    """Methods of the catalogue without a kernel on a backend that declares itself complete."""
    known = registry()
    own = [m for m in known.methods if is_own(known.suppliers["methods", m])]
    for backend in sorted(backends):
        if known.backends[backend].complete and known.backends[backend].available:
            for method in own:
                if reason := known.absence(backend, method):
                    yield f"{backend} declares itself complete, but lacks {method}: {reason}"
