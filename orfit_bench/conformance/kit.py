"""Running the kit: every check of a plan to a record, and the records to a report that cannot pass silently."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from orfit_bench.conformance.check import NO_DIGIT, Check, Gap, Inapplicable, Violation
from orfit_bench.conformance.checks.evidence import device_of
from orfit_bench.conformance.plan import DTYPES, Item, Pair, of_method, pairs, planned, trials
from orfit_bench.conformance.record import EXPECTED, FAILED, PASSED, SKIPPED, Record, Report, where
from orfit_bench.conformance.tolerance import tolerance
from orfit_bench.conformance.trial import Trial
from orfit_bench.errors import AccuracyWarning, DivergedError, UnavailableError, hint
from orfit_bench.plugins.registry import registry

CATALOGUE = "orfit-bench"
"""The distribution whose methods a complete backend has."""
Progress = Callable[[int, int, Record], None]


def conform(
    *names: str,
    backends: Sequence[str] = (),
    dtypes: Sequence[str] = DTYPES,
    only: Sequence[str] = (),
    seed: int = 0,
    slow: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Check the methods, backends or plugins named (all that are here, where none is) in this process.

    backends narrows it to these, only to these checks, dtypes to these; slow adds the long ones. progress(done, all,
    record) is called after each check. ValueError for a name that nothing has.
    """
    plan = planned(names, backends=backends, dtypes=dtypes, only=only, seed=seed, slow=slow)
    records = []
    for item in plan:
        records.append(run(item))
        if progress:
            progress(len(records), len(plan), records[-1])
    return report(plan, records, partial=bool(only), named=[*names, *backends])


def run(item: Item) -> Record:
    """The record of one check; whatever a plugin's code raises, except the user's Ctrl-C, is a failure of it."""
    if reason := registry().absence(item.backend, item.method):
        return judged(item, known(item.backend, item.method), SKIPPED, reason)
    (one,) = (c for c in of_method(item.method) if c.name == item.check)
    status, reason, gap = _outcome(one, item)
    return judged(item, known(item.backend, item.method), status, reason, gap)


class Known(NamedTuple):
    """What is known of a kernel without running it: its device, and the checks that it says it fails, with reasons."""

    device: str
    expected: dict[str, str]


def known(backend: str, method: str) -> Known:
    """What is known of a kernel."""
    return Known(device(backend), expectations(backend, method))


LONGEST = 200
"""Characters of an error's message in a record."""


def judged(item: Item, of: Known, status: str, reason: str, gap: Gap | None = None) -> Record:
    """The record of what became of a check, in the light of what its kernel said that it fails."""
    why = of.expected.get(item.check) or of.expected.get(f"{item.check} {item.dtype}")
    if why and status == FAILED:
        status, reason = EXPECTED, f"{why} ({reason})"
    elif why and status == PASSED:
        status, reason = FAILED, f"expected to fail ({why}), but it passed: take it out of EXPECTED_FAILURES"
    numbers = (None, None) if gap is None else (gap.deviation, gap.bound)
    return Record(item.check, item.method, item.backend, of.device, item.dtype, item.seed, status, reason, *numbers)


def _outcome(one: Check, item: Item) -> tuple[str, str, Gap | None]:
    """Status, reason and the gap of largest ratio; the first variant that fails ends it."""
    worst, left_out, ran = None, [], 0
    for trial in trials(item.backend, item.method, item.dtype, item.seed):
        try:
            gap = _guarded(one, trial)
        except Inapplicable as reason:
            left_out.append(f"{trial.variant}: {reason}")
        except Violation as error:
            return FAILED, f"with {trial.variant}: {error}", worst
        except KeyboardInterrupt:
            raise
        except DivergedError as error:
            if trial.variant.promised or tolerance(trial, trial.rows()) <= NO_DIGIT:
                return FAILED, f"with {trial.variant}: {_said(error)}", worst
            left_out.append(f"{trial.variant}: a step was refused, of a problem too ill-conditioned to tell")
        except BaseException as error:  # SystemExit too: the code under test is anybody's
            return FAILED, f"with {trial.variant}: {_said(error)}", worst
        else:
            if gap and gap.void:
                left_out.append(f"{trial.variant}: the problem is too ill-conditioned to tell")
                continue
            ran += 1
            worst = gap if gap and (worst is None or gap.ratio > worst.ratio) else worst
            if gap and not gap.holds:
                said = f"with {trial.variant}: off by {gap.deviation:.1e}, allowed {gap.bound:.1e}"
                return FAILED, f"{said} ({gap.of})" if gap.of else said, gap
        if not one.every:
            break
    if not ran:
        return SKIPPED, "; ".join(left_out), None
    return PASSED, f"under {ran} of {ran + len(left_out)} variants; {'; '.join(left_out)}" if left_out else "", worst


def _guarded(one: Check, trial: Trial) -> Gap | None:
    """The check, with every unexpected warning an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", AccuracyWarning)
        return one.act(trial)


def _said(error: BaseException) -> str:
    """The error, on one line and not a page of it, with the line of code that raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    message = " ".join(str(error).split())
    if len(message) > LONGEST:  # a compiler's, say; the command that repeats the check shows all of it
        message = f"{message[:LONGEST]} ..."
    return f"raised {type(error).__name__}: {message} ({last.filename.rpartition('/')[2]}, line {last.lineno})"


def device(backend: str) -> str:
    """Where a new array of the backend lies; empty where the backend cannot compute here."""
    found = registry().backends[backend]
    try:
        return device_of(found.asarray(np.zeros(1))) if found.available else ""
    except Exception:  # an array without DLPack: the check of evidence says so
        return "unknown"


def expectations(backend: str, method: str) -> dict[str, str]:
    """The checks that a kernel says it fails, with its reasons; none where there is no kernel."""
    try:
        said = getattr(registry().kernel(backend, method), "EXPECTED_FAILURES", {})
    except UnavailableError:  # every check of it says so
        return {}
    return {str(name): str(why) for name, why in said.items()} if isinstance(said, Mapping) else {repr(said): ""}


Claims = tuple[dict[Pair, dict[str, str]], list[str]]
"""What the kernels of a plan say of themselves: their capabilities, and what is wrong with what they say."""


def claims(plan: Sequence[Item]) -> Claims:
    """What the kernels of a plan say of themselves, in a process that knows them."""
    checked = list(dict.fromkeys((item.backend, item.method) for item in plan))
    return {pair: registry().capabilities(*pair) for pair in checked}, [*_strange(checked), *_broken(checked)]


def report(
    plan: Sequence[Item],
    records: Sequence[Record],
    partial: bool = False,
    claimed: Claims | None = None,
    named: Sequence[str] = (),
) -> Report:
    """The records, and what is wrong with them as a whole; `claimed` in a process that does not know the kernels.

    A backend that was named must have run.
    """
    capabilities, strange = claims(plan) if claimed is None else claimed
    left_out = () if partial else _left_out({backend for backend, _ in capabilities} & registry().backends.keys())
    return Report(list(records), capabilities, [*_totals(plan, records, named), *strange, *left_out], partial)


def _totals(plan: Sequence[Item], records: Sequence[Record], named: Sequence[str] = ()) -> Iterable[str]:
    """What is missing: nothing ran, nothing of a method ran, or fewer checks than the plan has."""
    ran = [r for r in records if r.status != SKIPPED]
    if not ran:
        why = "it came to no check" if plan else "no check speaks of what was named"
        yield "nothing ran: " + (records[0].reason if records else why)
        return
    methods, backends = {r.method for r in ran}, {r.backend for r in ran}
    for method in dict.fromkeys(item.method for item in plan if item.method not in methods):
        yield f"every check of {method} was skipped: {_why(r for r in records if r.method == method)}"
    for backend in dict.fromkeys(i.backend for i in plan if i.backend in named and i.backend not in backends):
        yield f"every check on {backend} was skipped: {_why(r for r in records if r.backend == backend)}"
    done, told = {where(r) for r in ran}, {where(r): r for r in records}
    missing = [item for item in plan if where(item) not in done and item.backend in backends]
    for item in missing[:5]:
        yield f"{where(item)} did not run: {_why(filter(None, [told.get(where(item))]))}"
    if len(missing) > 5:
        yield f"{len(missing)} checks in all did not run that the declared capabilities call for"


def _why(records: Iterable[Record]) -> str:
    return next((r.reason for r in records), "it did not come to it")


def _strange(checked: Sequence[Pair]) -> Iterable[str]:
    """Expected failures that name no check."""
    for backend, method in checked:
        if registry().absence(backend, method):
            continue
        names = {one.name for one in of_method(method)}
        for name in expectations(backend, method):
            check, *dtype = name.split() or [""]
            if check not in names or dtype not in ([], *([d] for d in DTYPES)):
                near = hint(check, names).partition(" Known")[0]
                yield f"{method} on {backend} expects {name!r} to fail, which is no check{near}"


def _broken(checked: Sequence[Pair]) -> Iterable[str]:
    """Plugins that cannot be loaded, where everything was to be checked: what they bring is in no plan."""
    if set(checked) == set(pairs()):
        for plugin in registry().plugins:
            if plugin.state == "broken":
                yield f"plugin {plugin.name} ({plugin.supplier}) is broken: {plugin.reason}"


def _left_out(backends: Iterable[str]) -> Iterable[str]:
    """Methods of the catalogue of which a backend that promises all has no kernel, so that no plan speaks of them."""
    known = registry()
    own = [m for (hook, m), who in known.suppliers.items() if hook == "methods" and who.split()[0] == CATALOGUE]
    for backend in sorted(backends):
        if known.backends[backend].complete and known.backends[backend].available:
            for method in own:
                if reason := known.absence(backend, method):
                    yield f"{backend} promises all methods, and lacks {method}: {reason}"
