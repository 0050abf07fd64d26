"""Two learners that saw different rows become one; several take the mean of their weights."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.spec.merge import Side
from orfit_bench.spec.setting import same

if TYPE_CHECKING:
    from orfit_bench.host.learner import Learner


def merge(a: Learner, b: Learner) -> None:
    """Make a's state that of one learner for both: see `Learner.merge`."""
    rule = a.method.merge
    _check_alike("merge", a, b)
    if rule is None:
        raise ValueError(f"{a.method.name} has no rule for merging: learn the rows with one learner")
    if reason := rule.refuses(a.settings, a._linear):
        raise ValueError(f"{a.method.name} cannot be merged here: {reason}")
    if not b._steps:
        return
    if not a._steps:
        a._take(b)
        return
    one, other = side(a), side(b)
    merged = {**one.fields, **rule.rule(one, other, a.settings)}
    a._put(_with_derived(a, merged))
    a._steps = a._steps + b._steps if rule.kind == "exact" else max(a._steps, b._steps)
    a._seen += b._seen


def side(learner: Learner) -> Side:
    """What a rule may know of a learner."""
    layout, d, c = learner._layout_, learner._features, learner._outputs
    start = layout.arrays(learner._start(layout, d, c))  # type: ignore[arg-type]  # known once steps were done
    return Side(_wide(layout.arrays(learner._s)), _wide(start), learner._steps, learner._seen)


def average(learners: Iterable[Learner]) -> None:
    """Give all learners the mean of their weights, for rounds of learning apart (Krasulina paper, eq. 18).

    Each keeps its own step count. ValueError where they differ in method, settings, dtype or sizes, where rows
    wait, or where the method declares no average.
    """
    learners = list(learners)
    if not learners:
        raise ValueError("average: got no learners")
    first = learners[0]
    if not first.method.averages:
        raise ValueError(f"{first.method.name}: an average of its states is not defined")
    for other in learners:
        _check_alike("average", first, other)
        for what in ("backend", "_features", "_outputs"):
            if getattr(other, what) != getattr(first, what):
                raise ValueError(f"average: the learners differ in {what.strip('_')}")
    if first._features is None:
        return
    fields = [_wide(a._layout_.arrays(a._s)) for a in learners]
    mean = {name: _mean(fields, name, first.method.averages_by.get(name)) for name in _averaged(first)}
    for learner, own in zip(learners, fields, strict=True):
        learner._put(_with_derived(learner, own | mean))


def _averaged(learner: Learner) -> list[str]:
    there = {f.name for f in learner._layout_.fields}
    return [name for name in learner.method.averages if name in there]


def _mean(fields: list[dict[str, Any]], name: str, by: str | None) -> Any:
    """The mean of a field, weighted by another one; the first learner's where nothing has weight."""
    weights = [float(f[by]) if by else 1.0 for f in fields]
    total = sum(weights)
    return sum(a * f[name] for a, f in zip(weights, fields, strict=True)) / total if total else fields[0][name]


def _with_derived(learner: Learner, fields: dict[str, Any]) -> dict[str, Any]:
    derived = learner.method.derived
    return fields | derived(fields, learner.settings) if derived else fields


def _wide(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: np.asarray(a, float) for name, a in fields.items()}


def _check_alike(act: str, a: Learner, b: Any) -> None:
    if type(b) is not type(a) or b.method != a.method:
        got = b.method.name if hasattr(b, "method") else type(b).__name__
        raise ValueError(f"{act}: the learners differ in method: {a.method.name} and {got}")
    for learner in (a, b):
        learner._check_usable()
    if differing := [k for k, v in a.settings.items() if not same(v, b.settings[k])]:
        what = differing[0]
        raise ValueError(f"{act}: settings differ: {what} is {a.settings[what]!r} and {b.settings[what]!r}")
    for what in ("model", "dtype"):
        if getattr(a, what) != getattr(b, what):
            raise ValueError(f"{act}: the learners differ in {what}")
    if a.pending or b.pending:
        raise ValueError(f"{act}: rows wait in one of the learners: call flush() first")
    if not same(a.initial_weights, b.initial_weights):
        raise ValueError(f"{act}: the learners started from different initial_weights")
    for what in ("_features", "_vector", *([] if a._outputs_grow else ["_outputs"])):
        if None not in (a._features, b._features) and getattr(a, what) != getattr(b, what):
            raise ValueError(f"{act}: the learners differ in {'outputs' if what == '_vector' else what.strip('_')}")
