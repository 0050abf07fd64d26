"""Protocols, and learning according to them."""

import dataclasses

import pytest
import xarray as xr
from helpers.suites import SMALL

import orfit_bench as ob
from orfit_bench.bench import Protocol, learning


class TestProtocol:
    @pytest.mark.parametrize(
        ("protocol", "name"),
        [
            (Protocol(), "1 pass"),
            (Protocol(5), "5 passes"),
            (Protocol(1, 4, 100), "4 learners averaged every 100 rows"),
            (Protocol(1, 4, 1), "4 learners averaged every row"),
            (Protocol(2, 4), "2 passes, 4 learners averaged every pass"),
        ],
    )
    def test_name(self, protocol, name):
        assert protocol.name == name

    @pytest.mark.parametrize(
        ("arguments", "error", "stated"),
        [
            ({"passes": 0}, ValueError, "passes=0: want an integer >= 1"),
            ({"learners": 2.0}, TypeError, "learners=2.0: want an integer >= 1"),
            ({"passes": True}, TypeError, "passes=True"),
            ({"learners": 2, "round": -1}, ValueError, "round=-1"),
            ({"round": 10}, ValueError, "a round requires at least 2"),
        ],
    )
    def test_refuses(self, arguments, error, stated):
        with pytest.raises(error, match=stated):
            Protocol(**arguments)

    def test_stretches_cover_the_rows_once_and_end_rounds(self):
        found = list(Protocol(1, 3, 10).chunks(100, stops=[45, 90]))
        assert [a for a, _, _ in found] == [0, 30, 45, 60, 90]
        assert [b for _, b, _ in found] == [30, 45, 60, 90, 100]
        assert [b for _, b, round_ends in found if round_ends] == [30, 60, 90, 100]

    def test_long_streams_are_learned_in_chunks(self):
        assert max(b - a for a, b, _ in Protocol().chunks(5000)) == 1024


class TestLearning:
    def data(self):
        return ob.streams()["regression"].load(**SMALL)

    def make(self):
        return ob.create("lms", step_size=0.05)

    @pytest.mark.parametrize("stops", [(), (1, 2, 30, 59), range(60)])
    def test_averaging_is_that_done_by_hand(self, stops):
        data, protocol = self.data(), Protocol(passes=2, learners=3, round=7)
        learners = learning.initialize(self.make, data, protocol)
        learning.learn(learners, data, protocol, {*stops, *(60 + s for s in stops)})
        hand = [self.make() for _ in range(3)]
        for _ in range(2):
            for begin in range(0, 60, 21):
                for j, learner in enumerate(hand):
                    rows = [i for i in range(begin, min(begin + 21, 60)) if i % 3 == j]
                    learner.partial_fit(data.X[rows], data.y[rows])
                ob.average(hand)
        for got, want in zip(learners, hand, strict=True):
            xr.testing.assert_identical(got.state(), want.state())

    def test_without_a_round_the_average_ends_the_pass(self):
        data, protocol = self.data(), Protocol(learners=2)
        learners = learning.initialize(self.make, data, protocol)
        learning.learn(learners, data, protocol)
        hand = [self.make().partial_fit(data.X[j::2], data.y[j::2]) for j in range(2)]
        mean = sum(learner.array("w") for learner in hand) / 2
        assert (learners[0].array("w") == mean).all()

    def test_looking_between_rounds_changes_nothing(self):
        data, protocol = self.data(), Protocol(learners=2, round=25)
        measured_at, plain = (learning.initialize(self.make, data, protocol) for _ in range(2))
        learning.learn_and_record(measured_at, data, protocol)
        learning.learn(plain, data, protocol)
        xr.testing.assert_identical(measured_at[0].state(), plain[0].state())

    def test_passes_are_that_many_times_the_rows(self):
        data, protocol = self.data(), Protocol(passes=3)
        (learner,) = learning.initialize(self.make, data, protocol)
        learning.learn([learner], data, protocol)
        hand = self.make()
        for _ in range(3):
            hand.partial_fit(data.X, data.y)
        xr.testing.assert_identical(learner.state(), hand.state())

    def test_rows_that_wait_are_learned_at_the_end(self):
        data = self.data()
        data = dataclasses.replace(data, X=data.X[:3, :], y=data.y[:3])
        (learner,) = learning.initialize(lambda: ob.create("orfit", batch_size=2), data, Protocol())
        learning.learn([learner], data, Protocol())
        assert (learner.pending, learner.n_samples_seen_) == (0, 3)
