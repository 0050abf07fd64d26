"""Evidence that the backend itself computes, and that it supports what it claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from orfit_bench.conformance.check import check, ensure
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import arrays_of, layout_of, state_of
from orfit_bench.conformance.rows import FEATURES
from orfit_bench.plugins.registry import registry
from orfit_bench.spec.arrays import array_type
from orfit_bench.spec.capability import OPTIONAL

DEVICES = {1: "cpu", 2: "cuda", 3: "cpu", 10: "rocm", 13: "cuda"}
"""Device types of DLPack, including pinned host memory (3) and managed memory (13)."""


def needs_device(context: CheckContext) -> str:
    """The backend must declare a device."""
    return "" if context.backend.device else "the backend declares no device"


def needs_compiler(context: CheckContext) -> str:
    """The backend must declare that it compiles its kernels."""
    return "" if context.backend.compiled else "the backend does not declare that it compiles its kernels"


def needs_complete_backend(context: CheckContext) -> str:
    """The backend must declare itself complete, and the kernel must come from its supplier."""
    if not context.backend.complete:
        return "the backend does not declare itself complete"
    suppliers, name = registry().suppliers, context.backend.name
    own = suppliers["kernels", (name, context.method.name)] == suppliers["backends", name]
    return "" if own else "the kernel is not from the supplier of the backend"


def device_of(array: object) -> str:
    """The device of an array, as DLPack reports it: "cpu" or "cuda:0"."""
    kind, index = array.__dlpack_device__()  # type: ignore[attr-defined]
    name = DEVICES.get(int(kind), f"DLPack device {int(kind)}")
    return name if name == "cpu" else f"{name}:{index}"


def scalars_of(learner: Any) -> set[str]:
    """The fields that are in host memory on every backend: the count, and fields without dimensions."""
    return {"count", *(f.name for f in layout_of(learner).fields if not f.dims)}


@check()
def arrays_have_backend_type(context: CheckContext) -> None:
    """State, predictions and pending rows are arrays of the backend's type."""
    chunk = context.rows()
    learner = context.create()
    predictions = context.learn_raw(learner, chunk)
    expected = array_type(context.backend.namespace())
    pending, _ = state_of(learner).pending.concatenate()
    arrays = arrays_of(learner)._asdict() | {"predict": context.predict_raw(learner, chunk.X), "pending rows": pending}
    if predictions is not None:
        arrays["prequential"] = predictions
    scalars = scalars_of(learner)
    for name, array in arrays.items():
        kind = type(array)
        scalar = name in scalars and kind is np.ndarray
        ensure(scalar or issubclass(kind, expected), f"{name} is a {kind.__module__}.{kind.__name__}, want {expected}")


@check(needs_device)
def arrays_are_on_device(context: CheckContext) -> None:
    """The arrays of the state are on the device that the backend declares, before and after learning."""
    chunk = context.rows()
    learner = context.initialize(chunk)
    for _ in range(2):
        for name, array in arrays_of(learner)._asdict().items():
            found = device_of(array)
            right = name in scalars_of(learner) or found.split(":")[0] == context.backend.device
            ensure(right, f"{name} is on {found}, but the backend declares {context.backend.device}")
        context.learn(learner, chunk)


@check(needs_compiler, all_variants=False)
def kernel_is_compiled(context: CheckContext) -> None:
    """After learning rows together and one by one, the kernel has compiled signatures."""
    chunk = context.rows()
    learner = context.train(chunk)  # a kernel can leave many rows to a library of matrix products
    for i in range(len(chunk.X)):
        context.learn(learner, chunk.cut(i, i + 1))
    ensure(_signatures(context), "no compiled signature after learning")


@check(needs_compiler, all_variants=False)
def same_rows_compile_nothing_more(context: CheckContext) -> None:
    """The first learner of a stream of single rows compiles everything that the next learner uses."""
    chunk, counts = context.rows(n=4, d=2 * FEATURES), []
    for _ in range(2):
        learner = context.create()
        for i in range(len(chunk.X)):
            context.learn(learner, chunk.cut(i, i + 1))
        counts.append(len(_signatures(context)))
    ensure(counts[0], "single rows are learned by code that is not compiled")
    ensure(counts[0] == counts[1], f"learning the same rows again compiled {counts[1] - counts[0]} more signatures")


def _signatures(context: CheckContext) -> Sequence[str]:
    """The signatures of the kernel that are compiled so far."""
    assert context.backend.compiled
    return context.backend.compiled(registry().kernel(context.backend.name, context.method.name))


@check(needs_complete_backend, all_variants=False)
def backend_is_complete(context: CheckContext) -> None:
    """A backend that declares itself complete supports everything that the method allows, except complex numbers."""
    found = registry().capabilities(context.backend.name, context.method.name)
    lacks = {name: reason for name, reason in found.items() if name not in OPTIONAL}
    ensure(not any(lacks.values()), "; ".join(f"lacks {name}: {reason}" for name, reason in lacks.items() if reason))
