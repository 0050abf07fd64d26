"""Threads: one learner in two threads at once is refused, a learner for each thread is safe."""

import sys
import threading

import numpy as np
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
