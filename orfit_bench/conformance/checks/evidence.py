"""Evidence that the claimed backend computed, and that it offers what it claims."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.conformance.check import check, require
from orfit_bench.conformance.inspection import arrays_of, layout_of, state_of
from orfit_bench.conformance.trial import Trial
from orfit_bench.plugins.registry import registry

DEVICES = {1: "cpu", 2: "cuda", 3: "cpu", 10: "rocm", 13: "cuda"}
"""DLPack's numbers (pinned host and managed memory included)."""


def needs_device(trial: Trial) -> str:
    """The backend must claim a device."""
    return "" if trial.backend.device else "the backend claims no device"


def needs_compiler(trial: Trial) -> str:
    """The backend must say that it compiles."""
    return "" if trial.backend.compiled else "the backend says nothing of compiling"


def needs_complete_backend(trial: Trial) -> str:
    """The backend must promise to be complete."""
    return "" if trial.backend.complete else "the backend does not promise to be complete"


def device_of(array: object) -> str:
    """Where an array lies, as DLPack knows it: "cpu" or "cuda:0"."""
    kind, index = array.__dlpack_device__()  # type: ignore[attr-defined]
    name = DEVICES.get(int(kind), f"DLPack device {int(kind)}")
    return name if name == "cpu" else f"{name}:{index}"


def numbers_of(learner: Any) -> set[str]:
    """The names of what lies in host memory on every backend: the count, and fields without dimensions."""
    return {"count", *(f.name for f in layout_of(learner).fields if not f.dims)}


@check()
def arrays_have_backend_type(trial: Trial) -> None:
    """Every array of the state, every prediction and all that waits are of the backend's own array type."""
    chunk = trial.rows()
    learner = trial.create()
    told = trial.learn_raw(learner, chunk)
    wanted = trial.backend.namespace().ndarray
    pending, _ = state_of(learner).pending.concatenate(trial.backend.namespace())
    shown = [("an answer", trial.ask_raw(learner, chunk.X)), ("what waits", pending)]
    shown += [("prequential", told)] if told is not None else []
    numbers = numbers_of(learner)
    for name, array in [*arrays_of(learner)._asdict().items(), *shown]:
        kind = type(array)
        host = name in numbers and kind is np.ndarray
        require(host or issubclass(kind, wanted), f"{name} is a {kind.__module__}.{kind.__name__}, want {wanted}")


@check(needs_device)
def arrays_are_on_device(trial: Trial) -> None:
    """Every array of the state lies on the device that the backend claims, after learning as before."""
    chunk = trial.rows()
    learner = trial.begun(chunk)
    for _ in range(2):
        for name, array in arrays_of(learner)._asdict().items():
            found = device_of(array)
            claimed = name in numbers_of(learner) or found.split(":")[0] == trial.backend.device
            require(claimed, f"{name} lies on {found}, the backend claims {trial.backend.device}")
        trial.learn(learner, chunk)


@check(needs_compiler, every=False)
def kernel_is_compiled(trial: Trial) -> None:
    """After learning, the kernel has compiled signatures to show."""
    trial.learned(trial.rows())
    shown = trial.backend.compiled(registry().kernel(trial.backend.name, trial.method.name))  # type: ignore[misc]
    require(shown, "no compiled signature after learning")


@check(needs_complete_backend, every=False)
def backend_is_complete(trial: Trial) -> None:
    """A backend that promises to be complete offers all that the method allows."""
    lacks = registry().capabilities(trial.backend.name, trial.method.name)
    require(not any(lacks.values()), "; ".join(f"lacks {name}: {why}" for name, why in lacks.items() if why))
