"""Two learners that saw different rows become one; several take the mean of their weights."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.learners.start import Start
from orfit_bench.spec.merge import Merge, Side
from orfit_bench.spec.method import Method
from orfit_bench.spec.setting import said, same
from orfit_bench.state import serialization

if TYPE_CHECKING:
    from orfit_bench.learners.learner import Learner


def merge(a: Learner, b: Learner) -> None:
    """Make a's state that of one learner for both: see `Learner.merge`."""
    _check_alike("merge", a, b)
    rule = a.method.merge
    if rule is None:
        raise ValueError(f"{a.method.name} has no rule for merging: learn the rows with one learner")
    if reason := rule.refuses(a.settings, a._linear):
        raise ValueError(f"{a.method.name} cannot be merged here: {reason}")
    if b._features is None:
        return
    one = a.copy()  # what fails from here on leaves a as it was
    other = one._aligned(b)
    if rule.kind == "exact":
        _check_same_start(one, other)
    if other._steps:
        one._take(_merged(one, other, rule) if one._steps else other)
    elif a._features is None:
        one._take(other)
    a.__dict__.update(one.__dict__)


def _merged(a: Learner, b: Learner, rule: Merge) -> Learner:
    """A new learner in the state of both; ValueError where the rule's fields are none."""
    steps = a._steps + b._steps if rule.kind == "exact" else max(a._steps, b._steps)
    head = serialization.header(a) | {"t": steps, "n_samples_seen": a._seen + b._seen}
    try:
        one, other = side(a), side(b)
        fields = {**one.fields, **rule.rule(one, other, a.settings)}
        with np.errstate(over="ignore"):  # infinite numbers are refused with all that does not fit
            arrays = {name: np.asarray(f).astype(a.dtype) for name, f in _with_derived(a, fields).items()}
        return serialization.rebuild(a, head, serialization.arrays(a) | arrays)
    except ValueError as error:
        raise ValueError(f"{a.method.name} cannot be merged here: {error}") from error


def side(learner: Learner) -> Side:
    """What a rule may know of a learner."""
    fields = learner._layout_.arrays(learner._s)
    eps = float(np.finfo(learner.dtype).eps)
    return Side(_wide(fields), _wide(_start(learner, learner)), learner._steps, learner._seen, eps)


def _start(learner: Learner, like: Learner) -> dict[str, Any]:
    """The fields before the first row, in the sizes of `like`."""
    sizes: Any = like._features, like._outputs
    layout = learner._layout(*sizes)
    return layout.arrays(learner._start(layout, *sizes))


def _check_same_start(a: Learner, b: Learner) -> None:
    """An exact rule takes the prior, or the weights moved from, off both sides; others live with different draws."""
    one, other = _start(a, b), _start(b, b)
    if differing := [name for name in one if not np.array_equal(one[name], other[name])]:
        seeds = f"random_state is {a.random_state} and {b.random_state}"
        raise ValueError(f"merge: the learners started from different {differing[0]}: {seeds}")


def average(learners: Iterable[Learner]) -> None:
    """Give all learners the mean of their weights, for rounds of learning apart (Krasulina paper, eq. 18).

    Each keeps its own step count. ValueError where they differ in method, settings, dtype or sizes, where rows
    wait, or where the method declares no average.
    """
    learners = list(learners) if isinstance(learners, Iterable) else [learners]
    if not learners:
        raise ValueError("average: got no learners")
    if strange := [type(a).__name__ for a in learners if not isinstance(a, Start)]:
        raise TypeError(f"average: got {strange[0]}, want a list of learners")
    first = learners[0]
    if not first.method.averages:
        raise ValueError(f"{first.method.name}: an average of its states is not defined{_instead(first.method)}")
    for other in learners:
        _check_alike("average", first, other)
        for what in ("backend", "_features", "_outputs", "_classes"):
            if getattr(other, what, None) != getattr(first, what, None):
                raise ValueError(f"average: the learners differ in {what.strip('_')}")
    if first._features is None:
        return
    fields = [_wide(a._layout_.arrays(a._s)) for a in learners]
    mean = {name: _mean(fields, name, first.method.averages_by.get(name)) for name in _averaged(first)}
    for learner, own in zip(learners, fields, strict=True):
        learner._put(_with_derived(learner, own | mean))


def _instead(method: Method) -> str:
    return "; merge() joins two of its learners" if method.merge else ""


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
        raise ValueError(f"{act}: settings differ: {what} is {said(a.settings[what])} and {said(b.settings[what])}")
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
