"""Failures as messages: which failures share a message, and the order of messages."""

from __future__ import annotations

from orfit_bench.conformance.failures import MAX_CONSEQUENCES, failures
from orfit_bench.conformance.result import FAILED, CheckResult


def failed(check: str, dtype: str = "float64", reason: str = "off by 1.0e+00", cause: str = "") -> CheckResult:
    return CheckResult(check, "m", "b", dtype, 0, device="cpu", status=FAILED, reason=reason, cause=cause)


def messages(*results: CheckResult) -> list[str]:
    return [str(failure) for failure in failures(results)]


def test_one_check_in_two_dtypes_is_one_message_if_the_reasons_differ_only_in_numbers() -> None:
    both = failed("a"), failed("a", "float32", "off by 3.5e-07")
    assert messages(*both) == ["a of m on b (float64, float32): off by 1.0e+00"]
    other = failed("a", "float32", "w differ")
    assert messages(both[0], other) == ["a of m on b (float64): off by 1.0e+00", "a of m on b (float32): w differ"]


def test_checks_with_one_cause_are_one_message() -> None:
    same = [failed(name, reason=f"with {name}: raised E", cause="E (kernel.py:3)") for name in "abc"]
    assert messages(*same) == ["3 checks of m on b: E (kernel.py:3)"]


def test_many_failures_that_another_may_explain_are_only_named() -> None:
    first, own = failed("result_depends_only_on_seed"), failed("z", cause="E (kernel.py:3)")
    others = [failed(f"check_{i}") for i in range(MAX_CONSEQUENCES + 1)]
    names = ", ".join(r.check for r in others)
    assert messages(*others, own, first) == [
        "result_depends_only_on_seed of m on b (float64): off by 1.0e+00",
        "z of m on b (float64): off by 1.0e+00",
        f"{len(others)} further checks of m on b, perhaps as a consequence: {names}",
    ]
    assert len(messages(*others[1:], first)) == MAX_CONSEQUENCES + 1
    assert len(messages(*others)) == len(others), "nothing explains them"
