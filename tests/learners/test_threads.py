"""Threads: using one learner in two threads at the same time is refused; a learner for each thread is safe."""

import signal
import sys
import threading

import numpy as np
import pandas as pd
import pytest

import orfit_bench as ob
from orfit_bench.learners import rule

X = np.random.default_rng(0).standard_normal((400, 3))
y = X.sum(axis=1)


def test_a_learner_in_two_threads_is_refused_and_loses_no_row():
    learner = ob.create("sgd", backend="numpy", batch_size=7).partial_fit(X[:0], y[:0])
    begun, refused = threading.Event(), threading.Event()

    advance = rule.Rule.advance

    def wait(self, *given, **more):
        begun.set()
        assert refused.wait(10)
        return advance(self, *given, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rule.Rule, "advance", wait)
        first = threading.Thread(target=learner.partial_fit, args=(X[:70], y[:70]))
        first.start()
        assert begun.wait(10)
        for call in (lambda: learner.partial_fit(X[:7], y[:7]), lambda: learner.prequential(X[:7], y[:7])):
            with pytest.raises(RuntimeError, match="this learner is learning in another thread"):
                call()
        refused.set()
        first.join()
    alone = ob.create("sgd", backend="numpy", batch_size=7).partial_fit(X[:70], y[:70])
    assert learner.state().identical(alone.state())
    assert learner.partial_fit(X[:7], y[:7]).n_samples_seen_ == 77


@pytest.mark.parametrize(("method", "settings"), [("rls", {}), ("orfit", {"memory": 2}), ("sgd", {"batch_size": 7})])
def test_learners_of_their_own_are_safe_in_threads(method, settings):
    learners = [ob.create(method, backend="numpy", **settings) for _ in range(4)]

    def learn(learner):
        for i in range(0, len(X), 5):
            learner.partial_fit(X[i : i + 5], y[i : i + 5])

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=learn, args=(learner,)) for learner in learners]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    alone = ob.create(method, backend="numpy", **settings)
    learn(alone)
    for learner in learners:
        assert learner.state().identical(alone.state())


def refused_meanwhile(learner, learn, other):
    """The errors of `other` in another thread while the kernel learns, and what `learn` returns."""
    errors, advance = [], rule.Rule.advance

    def meet(self, *given, **more):
        patch.setattr(rule.Rule, "advance", advance)

        def run():
            try:
                other(learner)
            except RuntimeError as error:
                errors.append(str(error))

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        return advance(self, *given, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rule.Rule, "advance", meet)
        learn(learner)
    return errors


@pytest.mark.parametrize("seen", [0, 4])
def test_first_rows_and_new_classes_are_not_lost_to_another_thread(seen):
    """The state is replaced after such a call: rows that another thread learned in the old one would be lost."""
    labels = np.where(y > 0, "a", "b")
    learner = ob.create("class_rls", backend="numpy")
    if seen:
        learner.partial_fit(X[:seen], labels[:seen])
    alone, more = learner.copy(), np.where(y > 1, "c", labels)
    for call in (lambda a: a.partial_fit(X[10:20], more[10:20]), lambda a: a.learn_one(X[9], "c")):
        errors = refused_meanwhile(learner, lambda a: a.partial_fit(X[20:60], more[20:60]), call)
        assert len(errors) == 1
        assert "another thread" in errors[0]
        alone.partial_fit(X[20:60], more[20:60])
        assert learner.state().identical(alone.state())


def test_a_refused_call_sets_nothing_back():
    """A refused call used to restore the state and counts from before the call in progress."""
    for method in ("gp", "kalman"):
        learner = ob.create(method, backend="numpy", model=ob.MLP((3,))).partial_fit(X[:5], y[:5])
        alone = learner.copy().partial_fit(X[5:40], y[5:40])
        calls = [lambda a: a.partial_fit(X[:3], y[:3]), lambda a: a.prequential(X[:3], y[:3])]
        for call in calls:
            found = learner.copy()
            assert len(refused_meanwhile(found, lambda a: a.partial_fit(X[5:40], y[5:40]), call)) == 1
            assert found.state().identical(alone.state())


def test_a_pipeline_is_refused_before_it_moves_its_learner():
    """The second thread used to express the learner's state in other coordinates while the first learned in it."""
    steps = ob.pipeline("standardize", "intercept", ob.create("rls", backend="numpy")).partial_fit(X[:5], y[:5])
    alone = steps.copy().partial_fit(X[5:40], y[5:40])
    for call in (lambda a: a.partial_fit(9 * X[:3], y[:3]), lambda a: a.merge(alone), lambda a: a.flush()):
        found = steps.copy()
        assert len(refused_meanwhile(found, lambda a: a.partial_fit(X[5:40], y[5:40]), call)) == 1
        assert found.to_bytes() == alone.to_bytes()


@pytest.mark.parametrize("method", ["lms", "class_rls", "oja"])
def test_a_fleet_is_refused(method, monkeypatch):
    targets = {"lms": y, "class_rls": np.where(y > 0, "a", "b"), "oja": None}[method]
    which = np.arange(40) % 2

    def learn(fleet, rows):
        given = () if targets is None else (targets[rows],)
        return fleet.partial_fit(X[rows], *given, which=which[: rows.stop - rows.start])

    fleet = ob.fleet(method, 2, backend="numpy")
    alone, errors, place = fleet.copy(), [], type(fleet.members.shared).place
    others = [lambda: learn(fleet, slice(0, 4)), lambda: fleet.remove(0), lambda: fleet.add(fleet[0].copy())]

    def meet(self, a):
        while others:
            other = others.pop()
            thread = threading.Thread(target=lambda act=other: errors.append(error_of(act)))
            thread.start()
            thread.join()
        return place(self, a)

    monkeypatch.setattr(type(fleet.members.shared), "place", meet)
    learn(fleet, slice(0, 40))
    assert ["another thread" in error for error in errors] == [True] * 3
    assert fleet.to_bytes() == learn(alone, slice(0, 40)).to_bytes()


def error_of(act):
    try:
        act()
    except RuntimeError as error:
        return str(error)
    return ""


class LearnsFirst:
    """Targets that, when they are read, have the learner learn other rows, as a thread may after X was read."""

    def __init__(self, learner, *first):
        self._learner, self._first = learner, first

    def __len__(self):
        return len(y[:9])

    def __array__(self, dtype=None, copy=None):
        self._learner.partial_fit(*self._first)
        return y[:9]


@pytest.mark.parametrize("width", [2, 3])
def test_rows_that_were_read_before_the_first_ones_were_learned_are_refused(width):
    """Their columns had another order or other names: the rows used to be learned in the wrong columns."""
    table = pd.DataFrame(X[:9], columns=["a", "b", "c"])
    learner, first = ob.create("rls", backend="numpy"), table[["c", "b", "a"][:width]]
    alone = learner.copy().partial_fit(first, y[:9])
    with pytest.raises(RuntimeError, match="another thread"):
        learner.partial_fit(table, LearnsFirst(learner, first, y[:9]))
    assert learner.state().identical(alone.state())


def test_a_merge_waits_for_no_thread():
    one, other = (ob.create("rls", backend="numpy").partial_fit(X[i : i + 9], y[i : i + 9]) for i in (0, 9))
    alone = one.copy().partial_fit(X[20:40], y[20:40])
    assert len(refused_meanwhile(one, lambda a: a.partial_fit(X[20:40], y[20:40]), lambda a: a.merge(other))) == 1
    assert one.state().identical(alone.state())
    assert one.merge(other).n_samples_seen_ == 38


def interrupt(number, frame):
    raise KeyboardInterrupt


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no such timers")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_ctrl_c_at_any_moment_leaves_a_learner_that_learns_or_says_why_not(backend):
    """Before, one of seven learners reported another thread for ever, or had rows that were not counted."""
    calls = [lambda a: a.learn_one(np.ones(1), 1.0), lambda a: a.partial_fit([[1.0], [1.0]], [1.0, 1.0])]
    rng, before, errors = np.random.default_rng(0), signal.signal(signal.SIGALRM, interrupt), np.geterr()
    begun = ob.create("ridge", backend=backend).partial_fit([[1.0], [1.0]], [1.0, 1.0])
    prior = begun.array("information")[0, 0] - 2
    try:
        for i in range(600):
            learner, call = begun.copy(), calls[i % 2]
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(2e-5, 4e-4))
                for _ in range(10_000):  # an interrupt in one of Numba's callbacks of weak references is lost
                    call(learner)
            except KeyboardInterrupt:
                signal.setitimer(signal.ITIMER_REAL, 0)
            if refusal := error_of(lambda call=call, learner=learner: call(learner)):
                assert "interrupted" in refusal
            else:
                assert learner.array("information")[0, 0] == prior + learner.n_samples_seen_
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        np.seterr(**errors)  # np.errstate may be interrupted too
