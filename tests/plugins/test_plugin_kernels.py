"""Kernels of plugins: which function is called, and what happens if it fails or returns nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.cases import offering
from helpers.plugins import Plugin

import orfit_bench as ob

Same = Callable[[ob.Learner, ob.Learner], None]


def failing(error: BaseException | None) -> SimpleNamespace:
    """A kernel that writes half a step and fails on a row of nines."""

    def learn(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
        for x, y in zip(X, Y, strict=True):
            s.w[...] += y
            if x[0] == 9:
                raise error or AssertionError
        return len(X)

    return SimpleNamespace(learn=learn, step=lambda s, A, Y, p: bool(learn(s, A, Y, p, None)))


@pytest.mark.parametrize("error", [RuntimeError("a kernel's bug"), KeyboardInterrupt()], ids=repr)
def test_learner_refuses_calls_after_its_kernel_failed(
    error: BaseException, registered: Callable[..., str], same_state: Same, tmp_path: Path
) -> None:
    """Its arrays may be half written, so that only an earlier copy can continue."""
    registered(Plugin(kernels={"mine": failing(error)}))
    learner = ob.create("mine", backend="own").partial_fit([[1.0]], [1.0])
    kept = learner.copy()
    with pytest.raises(type(error)):
        learner.partial_fit([[1.0], [9.0], [1.0]], [1.0, 1.0, 1.0])
    X, y = [[1.0]], [1.0]
    for call in (
        lambda: learner.partial_fit(X, y),
        lambda: learner.prequential(X, y),
        lambda: learner.predict(X),
        learner.state,
        learner.copy,
        lambda: learner.save(tmp_path / "state.npz"),
        lambda: ob.average([kept, learner]),
    ):
        with pytest.raises(RuntimeError, match=f"mine: {type(error).__name__} interrupted its kernel.* copy\\(\\)"):
            call()
    assert not list(tmp_path.iterdir())
    assert learner.n_samples_seen_ == 1
    assert kept.partial_fit(X, y).predict(X) == [2.0]


def test_failure_at_the_first_row_leaves_a_new_learner(registered: Callable[..., str], same_state: Same) -> None:
    registered(Plugin(kernels={"mine": failing(RuntimeError("bug"))}))
    learner = ob.create("mine", backend="own")
    with pytest.raises(RuntimeError, match="bug"):
        learner.partial_fit([[9.0, 9.0]], [1.0])
    same_state(learner, ob.create("mine", backend="own"))
    assert learner.partial_fit([[1.0]], [1.0]).predict([[1.0]]) == [1.0]


def test_kernel_without_a_declared_function_is_refused_by_create(registered: Any) -> None:
    class Bare:
        learn = staticmethod(lambda s, X, Y, p, out: len(X))

    registered(offering("bare", {"lms": Bare, "greedy": Bare, "kalman": Bare}))
    ob.create("greedy", backend="bare")
    remedies = {"lms": r"update\(\).* say LACKS = {'models': why} in it", "kalman": r"predict_step\(\).* offer Absent"}
    for method, remedy in remedies.items():
        with pytest.raises(ob.UnavailableError, match=rf"{method} on bare: the kernel of .* has no {remedy}"):
            ob.create(method, backend="bare")


def test_blocks_are_passed_to_step_and_rows_to_learn(registered: Any) -> None:
    called = []

    class Recorder:
        learn = staticmethod(lambda s, X, Y, p, out: called.append(("learn", len(X), p.batch_size)) or len(X))
        step = staticmethod(lambda s, A, Y, p: called.append(("step", len(A), p.batch_size)) or True)
        update = staticmethod(lambda s, J, E, p: True)

    registered(offering("recorder", {"orfit": Recorder}))
    X, y = np.ones((8, 2)), np.ones(8)
    ob.create("orfit", backend="recorder", batch_size=3).partial_fit(X, y).flush().step(X[:5], y[:5])
    assert called == [("learn", 6, 3), ("step", 2, 2), ("step", 5, 5)]


@pytest.mark.parametrize("way", ["partial_fit", "step", "model"])
def test_kernel_that_returns_none_is_refused(way: str, registered: Callable[..., str], cubic: ob.Model) -> None:
    silent = SimpleNamespace(learn=lambda *a: None, step=lambda *a: None, update=lambda *a: None)

    class Silent(Plugin):
        @ob.hookimpl
        def kernels(self) -> Any:
            return {("own", "icl"): silent}

    registered(Silent())
    learner = ob.create("icl", backend="own", **({"model": cubic} if way == "model" else {}))
    with pytest.raises(TypeError, match="None"):
        (learner.step if way == "step" else learner.partial_fit)([[1.0]], [1.0])


@pytest.mark.parametrize("name", ["exits", "exits.lms"])
def test_kernel_module_that_exits_is_unavailable(
    name: str, registered: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither it nor its package ends the process of the user."""
    (tmp_path / "exits").mkdir()
    (tmp_path / "exits" / "__init__.py").write_text("raise SystemExit(3)")
    monkeypatch.syspath_prepend(tmp_path)
    registered(offering("exiting", {"lms": name}))
    with pytest.raises(ob.UnavailableError, match=rf"kernel module '{name}' .* cannot be imported: SystemExit: 3"):
        ob.create("lms", backend="exiting")
