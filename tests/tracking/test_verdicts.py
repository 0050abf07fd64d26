"""Verdicts of the gate: what counts as worse, and measuring in turns."""

import itertools
from pathlib import Path

import pytest
from helpers.gate import KEY, verdict

from orfit_bench.cli.tolerances import parse_tolerances
from orfit_bench.tracking import environment, gate, retries
from orfit_bench.tracking.commit_process import MeasureError, MissingError
from orfit_bench.tracking.comparison import classify
from orfit_bench.tracking.interleaving import time_in_turns
from orfit_bench.tracking.quantities import QUANTITIES


class TestVerdict:
    @pytest.mark.parametrize(
        ("metric", "base", "head", "want"),
        [
            ("seconds_per_sample", 1e-6, 1.09e-6, "same"),
            ("seconds_per_sample", 1e-6, 1.11e-6, "worse"),
            ("seconds_per_sample", 1.11e-6, 1e-6, "better"),
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

    @pytest.mark.parametrize(
        "text", ["nonsense=0.1", "peak_bytes", "peak_bytes=much", "peak_bytes=-1", "peak_bytes=nan"]
    )
    def test_wrong_tolerances(self, text):
        with pytest.raises(ValueError, match="--tolerate"):
            parse_tolerances([text], QUANTITIES, "latency=0.5")

    def test_more_is_worse_throughout(self):
        assert all(verdict(name, 1.0, 100.0) == "worse" for name in QUANTITIES)


class Machine:
    """A clock whose machine is slow in some of its turns because of other programs."""

    def __init__(self, seconds, slowness=(1,)):
        self.seconds, self.slowness, self.turns = seconds, itertools.cycle(slowness), 0

    def __call__(self):
        slow, self.turns = next(self.slowness), self.turns + 1
        return [self.seconds * slow], 0.001 * slow


class TestTurns:
    def test_least_of_all_turns_counts(self):
        base, head = Machine(1.0, [3, 1, 2]), Machine(2.0, [1, 1, 3])
        assert time_in_turns([base, head], [0.1]) == [pytest.approx([1.0]), pytest.approx([2.0])]

    def test_slow_machine_is_corrected_by_the_reference(self):
        assert time_in_turns([Machine(1.0), Machine(1.0, [2])], [0.1]) == [pytest.approx([1.0])] * 2

    def test_order_changes_between_turns(self):
        seen = []
        clocks = [lambda i=i: (seen.append(i), ([1.0], 1.0))[1] for i in range(2)]
        time_in_turns(clocks, [0.1], 3)
        assert seen == [0, 1, 1, 0, 0, 1]

    @pytest.mark.parametrize(("head", "turns"), [(1.0, 4), (1.04, 4), (1.07, 16), (1.2, 4), (0.8, 4)])
    def test_measurement_continues_while_undecided(self, head, turns):
        clock = Machine(head)
        time_in_turns([Machine(1.0), clock], [0.1])
        assert clock.turns == turns

    def test_error_of_one_commit_keeps_the_values_of_the_other(self):
        def broken():
            raise MeasureError("died")

        first, second = time_in_turns([broken, Machine(1.0)], [0.1])
        assert str(first) == "died"
        assert second == pytest.approx([1.0])


class TestRetries:
    """Suspected changes of times are measured again, and the middle one counts."""

    JOBS = (("chunk_seconds", KEY),)

    def job(self, head, kernel=0.5):
        names = ("seconds_per_sample", "kernel_seconds_per_sample")
        heads = (head, head) if isinstance(head, Exception) else (head, head * kernel)
        return [
            classify(name, KEY, pair, {})
            for name, pair in zip(names, zip((1.0, kernel), heads, strict=True), strict=True)
        ]

    def retried(self, monkeypatch, first, again):
        left = iter([[job] for job in again])
        monkeypatch.setattr(gate.Gate, "_compare_times", lambda *_: next(left))
        here = environment.Environment("0" * 40, (), Path("home"))
        return gate.Gate(here, here)._retry(self.JOBS, [first])[0], len(list(left))

    @pytest.mark.parametrize("first", [1.5, 0.6])
    def test_noise_is_dismissed_in_both_directions(self, monkeypatch, first):
        found, left = self.retried(monkeypatch, self.job(first), map(self.job, [1.02, 1.01, 9.9]))
        assert {c.verdict for c in found} == {"same"}
        assert left == 1

    def test_confirmed_change_is_reported(self, monkeypatch):
        found, left = self.retried(monkeypatch, self.job(1.25), map(self.job, [1.3, 1.02, 1.2]))
        assert [c.verdict for c in found] == ["worse", "worse"]
        assert (found[0].head, left) == (1.2, 0)

    def test_changes_in_both_directions_are_noise(self, monkeypatch):
        found, _ = self.retried(monkeypatch, self.job(1.3), map(self.job, [0.8, 1.3, 0.8]))
        assert {c.verdict for c in found} != {"worse"}
        assert retries.select_measurement([self.job(x) for x in (1.3, 0.7, 1.04)]) == self.job(1.04)

    def test_kernel_slower_than_its_call_is_measured_again(self, monkeypatch):
        assert retries.is_impossible(self.job(1.0, kernel=1.2))
        found, _ = self.retried(monkeypatch, self.job(1.0, kernel=1.2), [self.job(1.0, kernel=0.9)] * 3)
        assert [(c.verdict, c.base) for c in found] == [("same", 1.0), ("same", 0.9)]

    def test_kernel_always_slower_than_its_call_is_refused(self, monkeypatch):
        found, _ = self.retried(monkeypatch, self.job(2.0, kernel=1.2), [self.job(2.0, kernel=1.2)] * 3)
        assert {c.verdict for c in found} == {"failing"}
        assert all("longer than the call" in c.note for c in found)

    def test_failure_in_a_retry_is_reported(self, monkeypatch):
        found, _ = self.retried(monkeypatch, self.job(2.0), [self.job(MeasureError("died"))] * 3)
        assert {c.verdict for c in found} == {"broken"}

    def test_failure_of_the_older_commit_hides_nothing(self, monkeypatch):
        failed = [classify("seconds_per_sample", KEY, (MeasureError("no answer"), 2.0), {})]
        found, _ = self.retried(monkeypatch, self.job(2.0), [failed] * 3)
        assert found == self.job(2.0)
