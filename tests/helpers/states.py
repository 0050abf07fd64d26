"""Learners of every method whose states are saved, and the ways to save them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import orfit_bench as ob

WAYS: dict[str, Callable[[ob.Learner, Path], ob.Learner]] = {
    "copy": lambda learner, path: learner.copy(),
    "restore": lambda learner, path: ob.restore(learner.state()),
    "from_bytes": lambda learner, path: ob.from_bytes(learner.to_bytes()),
    "load": lambda learner, path: (learner.save(path / "state.npz"), ob.load(path / "state.npz"))[1],
}
