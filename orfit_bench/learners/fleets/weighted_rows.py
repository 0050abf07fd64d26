"""Weighted rows of a fleet, and the rows that its kernel learns instead of them (docs/decisions/0048)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from orfit_bench.learners import weighting
from orfit_bench.learners.fleets.rows import FleetRows, HostArray
from orfit_bench.learners.rule import Rule
from orfit_bench.spec.arrays import take, to_host
from orfit_bench.spec.backend import Array


@dataclass(frozen=True, eq=False)
class KernelRows:
    """The rows and targets (n', c) that a kernel learns, and where they come from.

    Without weights, they are the rows of the call. Otherwise `source` (n',) has the rows of the call, sorted by member,
    that they repeat, `root` (n', 1) the factors by which they were multiplied, and `factors` the factors (n',) of
    settings.
    """

    rows: FleetRows
    Y: Array
    source: HostArray | None = None
    root: Array | None = None
    factors: Mapping[str, HostArray] = field(default_factory=dict)

    def predictions(self, found: Array) -> HostArray:
        """The predictions of the rows of the call in host memory, from those of the rows that were learned."""
        if self.root is not None:
            found = found / self.root
        predictions: HostArray = to_host(found)
        if self.source is None:
            return predictions
        return predictions[np.unique(self.source, return_index=True)[1]]

    def rows_of_call(self, given: FleetRows, learned: HostArray) -> HostArray:
        """How many rows of the call each of its members learned: those before the first that it refused."""
        if self.source is None:
            return learned
        found = np.array(given.counts)
        for j in np.flatnonzero(learned < self.rows.counts):
            place = np.searchsorted(given.members, self.rows.members[j])
            found[place] = self.source[self.rows.starts[j] + learned[j]] - given.starts[place]
        return found


def read_weights(value: object, X: object, rows: FleetRows, rule: Rule, predict: bool) -> HostArray | None:
    """The weights (n,) sorted as the rows; TypeError or ValueError if a fleet cannot learn them."""
    if value is None:
        return None
    declared = weighting.require(rule.method)
    if declared.divides_noise:
        raise TypeError(
            f"sample_weight: fleets of {rule.method.name} learn no weights: use single learners, or scale the rows"
        )
    weights = weighting.validate(value, rule, rows.shape, X)
    if (weights < 0).any():
        raise ValueError(f"{weighting.first(weights, weights < 0)}: a fleet unlearns no rows, use single learners")
    learned = weights if declared.repeats_rows else weighting.signed_roots(weights, rule.dtype)
    if predict and not learned.all():
        raise ValueError(
            f"{weighting.first(weights, learned == 0)}: a fleet predicts only the rows that it learns, not those of "
            f"weight 0 or of one whose root {rule.dtype} does not hold; leave them out, and pass them to predict"
        )
    return np.asarray(rows.sort(weights.reshape(-1)))


def weigh_rows(rule: Rule, rows: FleetRows, Y: Array, weights: HostArray | None) -> KernelRows:
    """The rows that a kernel learns for rows with these weights."""
    if weights is None:
        return KernelRows(rows, Y)
    if weighting.require(rule.method).repeats_rows:
        source, part = weighting.repetitions(weights, rule.dtype)
        work, factors = _selected(rows, take(rows.X, source), source), {"step_size": part}
        return KernelRows(work, take(Y, source), source, factors=factors)
    roots = weighting.signed_roots(weights, rule.dtype)
    source = np.flatnonzero(roots)
    root = rule.place(roots[source])[:, None]
    with np.errstate(over="ignore"):  # the kernel refuses what is infinite
        X, Y = (root * rule.place(take(a, source)) for a in (rows.X, Y))
    return KernelRows(_selected(rows, X, source), Y, source, root)


def _selected(rows: FleetRows, X: Array, source: HostArray) -> FleetRows:
    """Rows X, which are the `source` rows of the call, perhaps repeated, with the members that have any."""
    members, counts = np.unique(np.repeat(rows.members, rows.counts)[source], return_counts=True)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64, copy=False)
    order = source if rows.order is None else rows.order[source]
    return replace(rows, X=X, given=(members, starts), order=order)
