"""The check that mixes all operations of a learner detects faults that single checks would miss."""

import pytest

from orfit_bench.conformance import conform
from orfit_bench.learners.learner import Learner

NAME = "any_order_of_operations"


def problems(method):
    report = conform(method, backends=["numpy"], dtypes=["float64"], only=[NAME])
    return [result.reason for result in report.results if result.status == "failed"]


@pytest.mark.parametrize("method", ["lms", "sgd", "class_rls", "oja"])
def test_genuine_learners_pass(method):
    assert problems(method) == []


def test_a_shared_copy_is_seen_and_the_operations_are_named(monkeypatch):
    monkeypatch.setattr(Learner, "copy", lambda self: self)
    (message,) = problems("nlms")
    assert "with the default settings: after state, no rows, " in message
    assert message.endswith("the last of these changed the learner")


def test_a_flush_that_forgets_rows_is_seen(monkeypatch):
    flush = Learner.flush

    def forgetful(self):
        steps = self.live_state.n_steps
        flush(self)
        self.live_state.n_steps = steps  # the next step gets the number of this one
        return self

    monkeypatch.setattr(Learner, "flush", forgetful)
    assert problems("sgd")
