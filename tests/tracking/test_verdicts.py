"""Verdicts of the gate: what counts as worse, and measuring in turns."""

from pathlib import Path

import pytest
from helpers.gate import KEY, verdict

from orfit_bench.tracking import environment, gate
from orfit_bench.tracking.commit_process import MeasureError, MissingError
from orfit_bench.tracking.comparison import classify
from orfit_bench.tracking.interleaving import interleaved
from orfit_bench.tracking.quantities import QUANTITIES, tolerances


class TestVerdict:
    @pytest.mark.parametrize(
        ("metric", "base", "head", "want"),
        [
            ("seconds_per_sample", 1e-6, 1.29e-6, "same"),
            ("seconds_per_sample", 1e-6, 1.31e-6, "worse"),
            ("seconds_per_sample", 1.31e-6, 1e-6, "better"),
            ("peak_bytes", 1000.0, 1099.0, "same"),
            ("peak_bytes", 1000.0, 1300.0, "worse"),
            ("state_bytes", 1000.0, 1008.0, "same"),
            ("state_bytes", 1000.0, 1016.0, "worse"),
            ("frozen_deviation", 0.0, 9e-13, "same"),
            ("frozen_deviation", 0.0, 1e-6, "worse"),
            ("frozen_deviation", 1e-6, 0.0, "better"),
            ("frozen_deviation", 1e-6, 5e-6, "same"),
            ("batch_deviation", 3e-15, 2e-6, "worse"),
        ],
    )
    def test_from_where_on_a_number_is_worse(self, metric, base, head, want):
        assert verdict(metric, base, head) == want

    def test_tolerances_take_the_place_of_the_declared(self):
        assert verdict("latency", 1.0, 1.8, latency=0.9) == "same"
        assert verdict("latency", 1.0, 1.1, latency=0.05) == "worse"

    def test_missing_values(self):
        gone, broken = MissingError("not here"), MeasureError("died")
        assert verdict("peak_bytes", 1.0, gone) == "gone"
        assert verdict("peak_bytes", 1.0, broken) == "broken"
        assert verdict("peak_bytes", gone, 1.0) == "new"
        assert verdict("peak_bytes", gone, gone) == "n/a"
        assert verdict("peak_bytes", broken, broken) == verdict("peak_bytes", broken, gone) == "failing"
        assert classify("peak_bytes", KEY, (1.0, broken), {}).is_regression

    @pytest.mark.parametrize("text", ["nonsense=0.1", "peak_bytes", "peak_bytes=much", "peak_bytes=-1"])
    def test_wrong_tolerances(self, text):
        with pytest.raises(ValueError, match="--tolerate"):
            tolerances([text])

    def test_more_is_worse_throughout(self):
        assert all(verdict(name, 1.0, 100.0) == "worse" for name in QUANTITIES)


class Machine:
    """A clock whose machine is slow in some of its turns, as others' work makes it."""

    def __init__(self, seconds, slowness):
        self.seconds, self.slowness = seconds, iter(slowness)

    def __call__(self):
        slow = next(self.slowness)
        return self.seconds * slow, 0.001 * slow


class TestTurns:
    def test_the_least_of_all_turns_counts(self):
        base, head = Machine(1.0, [3, 1, 2]), Machine(2.0, [1, 1, 3])
        assert interleaved([base, head], 3) == pytest.approx([1.0, 2.0])

    def test_a_machine_that_slows_down_for_one_of_them_is_set_right(self):
        assert interleaved([Machine(1.0, [1, 1, 1]), Machine(1.0, [2, 2, 2])], 3) == pytest.approx([1.0, 1.0])

    def test_they_take_turns_in_changing_order(self):
        seen = []
        clocks = [lambda i=i: (seen.append(i), (1.0, 1.0))[1] for i in range(2)]
        interleaved(clocks, 3)
        assert seen == [0, 1, 1, 0, 0, 1]

    def test_a_side_that_breaks_does_not_take_the_other_down(self):
        def broken():
            raise MeasureError("died")

        first, second = interleaved([broken, Machine(1.0, [1, 1])], 2)
        assert str(first) == "died"
        assert second == pytest.approx(1.0)


class TestOnceMore:
    """Times that look changed are measured again, and the look that saw least counts."""

    def looked(self, monkeypatch, first, looks):
        left = iter(looks)

        def compare_times(self, sides, jobs, rounds):
            for metric, key in jobs:
                yield self._classify(metric, key, (1.0, next(left)))

        monkeypatch.setattr(gate.Gate, "_compare_times", compare_times)
        here = environment.Environment("0" * 40, (), Path("home"))
        found = classify("seconds_per_sample", KEY, (1.0, first), {})
        return gate.Gate(here, here)._retry([found])[0], list(left)

    def test_noise_is_forgotten(self, monkeypatch):
        found, left = self.looked(monkeypatch, 1.5, [1.4, 1.02, 9.9])
        assert (found.verdict, found.head) == ("same", 1.02)
        assert left == [9.9]

    def test_consistently_slower_is_worse(self, monkeypatch):
        found, left = self.looked(monkeypatch, 2.3, [2.0, 1.9, 2.1])
        assert (found.verdict, found.head, left) == ("worse", 1.9, [])

    def test_a_lucky_look_does_not_count_either(self, monkeypatch):
        assert self.looked(monkeypatch, 0.6, [1.01])[0].verdict == "same"

    def test_failure_while_repeating_is_broken(self, monkeypatch):
        assert self.looked(monkeypatch, 2.0, [MeasureError("died")])[0].verdict == "broken"

    def test_a_look_at_which_the_older_commit_breaks_hides_nothing(self, monkeypatch):
        here = environment.Environment("0" * 40, (), Path("home"))
        look = classify("seconds_per_sample", KEY, (MeasureError("no answer"), 2.0), {})
        monkeypatch.setattr(gate.Gate, "_compare_times", lambda *_: iter([look]))
        found = classify("seconds_per_sample", KEY, (1.0, 2.0), {})
        assert gate.Gate(here, here)._retry([found]) == [found]

    def test_only_times_are_measured_again(self, monkeypatch):
        here = environment.Environment("0" * 40, (), Path("home"))
        found = classify("peak_bytes", KEY, (1.0, 2.0), {})
        assert gate.Gate(here, here)._retry([found]) == [found]
