"""The verdict "unproven": all checks pass, but neither a law nor a batch solution would notice wrong numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from faults.fault import Fault
from faults.reference_learner import PLAIN, PLAIN_KERNEL, STEP, KernelModule, block, plain
from helpers.methods import change

from orfit_bench.conformance import Report, export
from orfit_bench.conformance.result import UNPROVEN
from orfit_bench.errors import LackingError
from orfit_bench.report.conformance import markdown
from orfit_bench.spec import Cost, Field, Law, Measured, Theory, deviation

COST = Cost(flops=lambda s, z: 6 * z["parameter"], floats=lambda s, z: 3 * z["parameter"])
PROOF = "wrong_numbers_are_noticed"


def opposite(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    """A wrong kernel, which learns the opposite of each target."""
    return plain(s, X, -Y, p, out)


def equals_the_recursion(create: Callable[..., Any], rows: Any) -> Measured:
    """The weights are those of the recursion w + step e x."""
    w = np.zeros(rows.X.shape[1])
    for x, y in zip(rows.X, rows.y, strict=True):
        w += STEP * (y - x @ w) * x
    got = create().partial_fit(rows.X, rows.y).array("w")[:, 0]
    return Measured(deviation(got, w), len(rows.X), 1.0)


def compares_nothing(create: Callable[..., Any], rows: Any) -> Measured:
    """A law that holds whatever the learner does."""
    create().partial_fit(rows.X, rows.y)
    return Measured(0.0, len(rows.X), 1.0)


def weights_change(create: Callable[..., Any], rows: Any) -> Measured:
    """A law that only notices a learner that does nothing."""
    moved = bool(create().partial_fit(rows.X, rows.y).array("w").any())
    return Measured(0.0 if moved else np.inf, len(rows.X), 1.0)


def needs_what_is_lacking(create: Any, rows: Any) -> Measured:
    """A law for settings that the kernel lacks."""
    raise LackingError("plain lacks it")


def report(*laws: Callable[..., Measured], learn: Any = plain) -> Report:
    theory = Theory(cost=COST, laws=tuple(Law(law, "a test", 1) for law in laws))
    fault = Fault("", frozenset(), change(PLAIN, theory=theory), KernelModule(learn=learn, step=block))
    return fault.report(only=[PROOF, *(f"law_{law.__name__}" for law in laws)])


@pytest.mark.parametrize("learn", [plain, opposite])
def test_without_a_law_right_and_wrong_kernels_are_unproven(learn: Any) -> None:
    found = report(learn=learn)
    assert (found.verdict, found.passed) == ("unproven", False)
    (result,) = (r for r in found.results if r.status == UNPROVEN)
    assert result.reason.startswith("the method declares neither a law nor a batch solution")


def test_a_law_that_accepts_everything_proves_nothing() -> None:
    found = report(compares_nothing)
    assert found.verdict == "unproven"
    assert (
        "law_compares_nothing accepts a learner that does nothing and one that steps in the opposite direction and one "
        "that takes steps that are 1 % too long"
    ) in str(found)


def test_a_weak_law_is_named_with_what_it_accepts() -> None:
    found = report(weights_change)
    assert found.verdict == "unproven"
    assert "law_weights_change accepts a learner that steps in the opposite direction and one that takes" in str(found)


def test_a_law_that_compares_the_numbers_decides() -> None:
    assert report(equals_the_recursion).verdict == "conforms"
    assert report(equals_the_recursion, learn=opposite).verdict == "fails"


def test_a_law_that_proves_nothing_next_to_one_that_does_is_reported() -> None:
    found = report(equals_the_recursion, compares_nothing)
    assert found.verdict == "conforms"
    (note,) = {r.reason for r in found.results if r.check == PROOF and r.reason}
    assert note == (
        "a law that accepts every wrong learner (does nothing; steps in the opposite direction; takes steps that are "
        "1 % too long) proves nothing about its steps: law_compares_nothing"
    )
    (line,) = found.notes()
    run = export.RunInfo.now("", 1.0, {})
    assert f"note: {line}" in str(found)
    assert line in {each.get("value") for each in ET.fromstring(export.as_junit(found, run)).iter("property")}
    assert "## Notes" in markdown(found, run)


def test_a_law_of_what_the_kernel_lacks_is_not_called_vacuous() -> None:
    found = report(equals_the_recursion, needs_what_is_lacking)
    assert found.verdict == "conforms"
    assert not any("proves nothing" in r.reason for r in found.results)


def test_files_of_a_report_state_the_verdict() -> None:
    """An unproven method is a failure in JUnit, unless it is allowed."""
    from dataclasses import replace

    found = report()
    run = export.RunInfo.now("orfit-bench conform", 1.0, {})
    suite = ET.fromstring(export.as_junit(found, run))[0]
    assert [case.get("type") for case in suite.iter("failure")] == ["unproven"]
    assert '"verdict": "unproven"' in export.as_json(found, run)
    allowed = replace(found, allow_unproven=True)
    assert allowed.passed
    suite = ET.fromstring(export.as_junit(allowed, run))[0]
    assert (suite.get("failures"), [case.get("type") for case in suite.iter("skipped")]) == ("0", ["unproven"])


def test_the_kernel_of_the_faults_is_unproven_by_itself() -> None:
    assert Fault("", frozenset(), PLAIN, PLAIN_KERNEL).report(only=[PROOF]).verdict == "unproven"


AVERAGED = change(
    PLAIN,
    state={
        "fields": (*PLAIN.state.fields, Field("mean", ("parameter", "output"), "mean of the weights")),
        "prediction_weights": lambda s, settings: s.mean,
    },
)


def averages_wrongly(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    """A kernel whose field `mean` is not the mean of the weights."""
    for i in range(len(X)):
        if out is not None:
            out[i] = X[i] @ s.mean
        if not plain(s, X[i : i + 1], Y[i : i + 1], p, None):
            return i
        s.mean[...] += (s.w - s.mean) / 100
    return len(X)


def predicts_by_the_mean(create: Callable[..., Any], rows: Any) -> Measured:
    """A law: predictions are those of the mean, computed as in the kernel."""
    X, w, mean = rows.X, np.zeros(rows.X.shape[1]), np.zeros(rows.X.shape[1])
    for x, y in zip(X, rows.y, strict=True):
        w += STEP * (y - x @ w) * x
        mean += (w - mean) / 100
    return Measured(deviation(create().partial_fit(X, rows.y).predict(X), X @ mean), len(X), 1.0)


@pytest.mark.parametrize(("laws", "status"), [((), UNPROVEN), ((predicts_by_the_mean,), "passed")])
def test_a_field_that_predictions_use_needs_a_law(laws: tuple[Callable[..., Measured], ...], status: str) -> None:
    theory = Theory(cost=COST, laws=tuple(Law(law, "a test", 1) for law in (equals_the_recursion, *laws)))
    method = change(AVERAGED, theory=theory)
    found = Fault("", frozenset(), method, KernelModule(learn=averages_wrongly)).report(
        only=["wrong_predictions_are_noticed"]
    )
    (result,) = found.results
    assert result.status == status
    assert status == "passed" or "predictions use mean" in result.reason


def test_predictions_of_the_method_need_a_law() -> None:
    def predicts_the_recursion(create: Callable[..., Any], rows: Any) -> Measured:
        """The predictions are those of the recursion w + step e x."""
        w = np.zeros(rows.X.shape[1])
        for x, y in zip(rows.X, rows.y, strict=True):
            w += STEP * (y - x @ w) * x
        got = create().partial_fit(rows.X, rows.y).predict(rows.X)
        return Measured(deviation(got, rows.X @ w), len(rows.X), 1.0)

    check = "wrong_predictions_are_noticed"
    for laws, verdict in (((equals_the_recursion,), "unproven"), ((predicts_the_recursion,), "conforms")):
        theory = Theory(cost=COST, laws=tuple(Law(law, "a test", 1) for law in laws))
        method = change(PLAIN, theory=theory, state={"predict": lambda s, X, settings: X @ s.w})
        assert Fault("", frozenset(), method, PLAIN_KERNEL).report(only=[check]).verdict == verdict


def test_a_counter_of_rows_is_not_part_of_a_wrong_learner() -> None:
    """A kernel that divides by the number of rows of a class refuses a row if this number is negative."""

    def learn(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
        for i, x in enumerate(X):
            if out is not None:
                out[i] = x @ s.mean
            count = s.seen[0] + 1
            if not count > 0:
                return i
            s.mean[...] += np.outer(x, Y[i]) / count
            s.seen[...] = count
        return len(X)

    def is_the_mean(create: Callable[..., Any], rows: Any) -> Measured:
        """The weights are the mean of x y, up to the order of the sums."""
        got = create().partial_fit(rows.X, rows.y).array("mean")[:, 0]
        want = (rows.X.T * rows.y / np.arange(1, len(rows.y) + 1)).sum(axis=1)
        return Measured(deviation(got, want), len(rows.X), 1.0)

    fields = Field("mean", ("feature", "output"), "means"), Field("seen", ("output",), "rows of each output")
    theory = Theory(cost=COST, laws=(Law(is_the_mean, "a test", 1),))
    state = {"fields": fields, "predict": lambda s, X, settings: X @ s.mean}
    found = Fault("", frozenset(), change(PLAIN, theory=theory, state=state), KernelModule(learn=learn))
    assert found.report(only=[PROOF]).verdict == "conforms"
