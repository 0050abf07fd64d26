"""The types of settings: accepted values, results and descriptions."""

from typing import Any

import numpy as np
import pytest

from orfit_bench import schedules
from orfit_bench.spec import Choice, Integer, Matrix, MatrixOrTransition, Number, NumberOrSchedule, Setting, Text


@pytest.mark.parametrize(
    ("type_", "text", "inside", "outside"),
    [
        (Number(0, 1), "a number in [0, 1]", [0, 1], [-1e-9, 1.1]),
        (Number(0, 1, closed="right"), "a number in (0, 1]", [1e-300, 1], [0.0]),
        (Number(0, 1, closed="left"), "a number in [0, 1)", [0, 0.5], [1]),
        (Number(0, closed="neither"), "a number in (0, inf)", [1e300], [0, np.inf, np.nan, 10**400]),
        (Number(), "a number in (-inf, inf)", [-1e300], [-np.inf, np.nan]),
        (Integer(1), "an integer in [1, inf)", [1, np.int64(7)], [0, 10**400]),
        (Integer(0, 2**64 - 1), "an integer in [0, 18446744073709551615]", [2**64 - 1], [2**64]),
        (Choice(("a", "b")), "one of a, b", ["a"], ["c"]),
        (Matrix(), "a number, a vector or a matrix of real numbers", [1, [1, 2], np.eye(2)], [np.nan, [[[1]]]]),
        (Matrix(covariance=True), "a number, a vector or a matrix of real numbers", [0], [-1, [[1, 2], [2, 1]]]),
    ],
)
def test_types_accept_their_range_and_describe_it(type_: Any, text: str, inside: list[Any], outside: list[Any]) -> None:
    """Values at the ends of an interval are accepted as `closed` says; infinite and huge ones never."""
    assert str(type_) == text
    for value in inside:
        assert np.array_equal(type_.check(value), value)
    for value in outside:
        with pytest.raises(ValueError, match="want"):
            type_.check(value)


@pytest.mark.parametrize(
    ("type_", "wrong"),
    [
        (Number(), [True, "1", None, 1j]),
        (Integer(), [True, 1.0, "1"]),
        (NumberOrSchedule(), ["power", len, None]),
        (Choice(("a",)), [1, None]),
        (Text(), [1]),
        (Matrix(), ["1", None, [[1], [1, 2]]]),
        (MatrixOrTransition(), ["1", (len,)]),
    ],
)
def test_types_refuse_values_of_another_type(type_: Any, wrong: list[Any]) -> None:
    """They raise TypeError, also for booleans and for strings that look like numbers."""
    for value in wrong:
        with pytest.raises(TypeError, match="want"):
            type_.check(value)


def test_a_schedule_stays_in_its_range_at_every_step() -> None:
    """A number becomes a constant schedule; the offending value of a schedule is named."""
    step = Setting("step", NumberOrSchedule(0, 1, closed="right"), 0.5, "the step")
    assert step.check(1) == schedules.constant(1.0)
    with pytest.raises(ValueError, match=r"step=Sequence.*: want a number in \(0, 1\] at every step, but one is 2\.0"):
        step.check(schedules.sequence([0.5, 2.0]))


def test_types_are_values() -> None:
    """Equal types compare equal and cannot be changed."""
    assert Number(0, 1) == Number(0, 1) != Number(0, 1, closed="left")
    with pytest.raises(AttributeError):
        Number(0, 1).low = 3  # type: ignore[misc]


@pytest.mark.parametrize("steps", [1, np.array(3), np.array([1, 2, 3, 9]), np.array([[1, 7], [2, 5]]), np.arange(1, 9)])
def test_values_of_a_long_sequence_do_not_depend_on_the_number_of_steps(steps):
    sequence = schedules.sequence([0.5, 0.25, 0.125, 1, 2])
    found = sequence(np.asarray(steps))
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, np.array([0.5, 0.25, 0.125, 1, 2])[np.minimum(steps, 5) - 1])
