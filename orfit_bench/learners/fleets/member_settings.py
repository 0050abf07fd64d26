"""Settings of the members of a fleet: which of them differ, and whether each member may have its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from orfit_bench.learners.rule import Rule
from orfit_bench.plugins.registry import registry
from orfit_bench.spec.capability import require_settings
from orfit_bench.spec.matrix_types import Matrix, MatrixOrTransition
from orfit_bench.spec.method import Method, refuses_nothing
from orfit_bench.spec.setting import Setting, refuse_lost_numbers
from orfit_bench.spec.synonyms import suggest_setting
from orfit_bench.spec.types import Choice, Integer, SettingType


def split(method: str, size: int, given: dict[str, object]) -> tuple[dict[str, object], dict[str, list[Any]]]:
    """Settings that all members share, and those with a value for each."""
    shared, varying = {}, {}
    types = {s.name: s.type for s in registry().methods.find(method).settings}
    for name, value in given.items():
        if size > 1 and _may_be_a_matrix(types.get(name), value, size):
            raise ValueError(
                f"{name}: an array of shape {(size, size)} may be a matrix for all {size} members or a row for each: "
                f"pass [{name}] * {size} for a matrix, or a list with the matrix of each member"
            )
        if is_several(value) and len(value) == size and _are_one(types.get(name), value):
            shared[name] = value[0]
        elif is_several(value) and len(value) == size:
            varying[name] = [v.item() if isinstance(v, np.generic) else v for v in value]
        else:
            shared[name] = value
    return shared, varying


def _are_one(kind: SettingType | None, values: Sequence[Any]) -> bool:
    """Whether all members have one value of a setting that they must have in common."""
    plain = isinstance(kind, (Integer, Choice)) and not any(isinstance(value, np.ndarray) for value in values)
    return plain and all(type(value) is type(values[0]) and value == values[0] for value in values)


def _may_be_a_matrix(kind: SettingType | None, value: object, size: int) -> bool:
    """Whether size x size numbers may be one matrix, as well as a vector for each member.

    If a vector is not a diagonal, as for means, lists of lists are vectors.
    """
    if not isinstance(kind, Matrix) or not _is_square(value, size):
        return False
    return kind.covariance or isinstance(kind, MatrixOrTransition) or not isinstance(value, (list, tuple))


def _is_square(value: object, size: int) -> bool:
    """Whether it holds size x size numbers."""
    if not isinstance(value, (list, tuple)):
        return getattr(value, "shape", None) == (size, size)
    rows = [row for row in value if is_several(row) and len(row) == size and not any(map(is_several, row))]
    return len(rows) == len(value) == size


def is_several(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether it holds several values."""
    return isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim > 0)


def check_values(
    method: Method, known: Mapping[str, Setting], varying: Mapping[str, list[Any]]
) -> dict[str, list[Any]]:
    """The values of each member for these settings, checked as by `create`."""
    checked: dict[str, list[Any]] = {}
    for name, values in varying.items():
        for i, value in enumerate(values):
            try:
                checked.setdefault(name, []).append(known[name].check(value))
            except (TypeError, ValueError) as error:
                raise type(error)(f"{method.name}, member {i}: {error}") from None
            except KeyError:
                raise TypeError(f"{method.name} has no setting {name!r}{suggest_setting(name, known)}") from None
    return checked


def refuse_members(rule: Rule, known: Mapping[str, Setting], size: int, varying: Mapping[str, list[Any]]) -> None:
    """Raise the error of the first member whose values the method, its kernel or the dtype refuses."""
    method = rule.method
    if method.refuses is not refuses_nothing:
        for i in range(size):
            if reason := method.refuses({**rule.settings, **{name: values[i] for name, values in varying.items()}}):
                raise ValueError(f"{method.name}, member {i}: {reason}")
    for name, values in varying.items():
        for i, value in enumerate(values):
            require_settings(rule.kernel, method, rule.backend, {name: value})
            refuse_lost_numbers(f"{method.name}, member {i}", [known[name]], {name: value}, rule.dtype)
