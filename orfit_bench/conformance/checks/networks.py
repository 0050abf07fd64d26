"""A kernel's own rule for networks, which must agree with its rule for the gradients of any model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from orfit_bench.conformance.acceptance import rows_until_refusal
from orfit_bench.conformance.check import Deviation, check, ensure_raises, skip_if, worst
from orfit_bench.conformance.checks.refusals import refused_targets
from orfit_bench.conformance.checks.single_rows import learn_one, learn_one_by_one
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.rows import Chunk
from orfit_bench.models import MLP
from orfit_bench.models.activations import ACTIVATIONS
from orfit_bench.spec import Model


def needs_network_rule(context: CheckContext) -> str:
    """The kernel must have its own rule for networks."""
    return "" if hasattr(context.create().rule.kernel, "for_network") else "its kernel has no for_network"


@check(needs_network_rule)
def networks_are_learned_as_models(context: CheckContext) -> Deviation:
    """A kernel's own rule for networks gives the results of its `update` with their gradients, also row by row.

    The rows are learned by a network, and by a model with the same functions that the kernel does not recognize. With
    the default settings, every activation is tried, with zero, one and two hidden layers.
    """
    skip_if(context.variant.time_varying, "the transition varies with the rows")
    found = []
    for network in [*_networks()][:: 1 if not context.variant.settings else 5]:
        one = replace(context, variant=replace(context.variant, model=network))
        chunk, functions = one.rows(), replace(network, name="functions of a network")
        learner, single, expected = one.create(), one.create(), one.create(model=functions)
        if _grows(one, expected.copy(), chunk):
            continue
        predictions = one.learn(learner, chunk), one.learn(expected, chunk)
        learn_one_by_one(single, chunk)
        for wrong in refused_targets(one, chunk.cut(0, 1)):
            act = partial(learn_one, learner, wrong.X[0], wrong, 0)
            ensure_raises(act, (TypeError, ValueError), f"learn_one of {network.name} with targets {wrong.y}")
        pairs = (learner, expected), (single, expected), predictions
        found.append(one.compare(chunk, *pairs, of=f"of {network.name}:"))
    skip_if(not found, "rows of all networks are refused")
    return worst(found)


def _grows(context: CheckContext, learner: Any, chunk: Chunk) -> bool:
    """Whether weights grow until a row is refused, or until half of the digits of a sum over them are lost."""
    if rows_until_refusal(context, learner, chunk) < len(chunk.X):
        return True
    w = learner.backend.asnumpy(learner.array(context.method.state.weights))
    return bool(np.abs(w).max() > np.finfo(context.dtype).eps ** -0.5)


def _networks() -> Iterator[Model]:
    """The networks to try; a kernel can have a rule for only some of them."""
    yield MLP(())
    for i, activation in enumerate(ACTIVATIONS):
        yield MLP((4,), activation, bias=i % 2 == 0)
        yield MLP((3, 2), activation, bias=i % 2 == 1)
