"""Type checkers know what kind of learner `create` returns: the literal names are those of the methods."""

from typing import get_args

import pytest

import orfit_bench as ob
from orfit_bench.learners import names


@pytest.mark.parametrize(
    ("literal", "kind"),
    [
        (names.RegressorName, "regression"),
        (names.ClassifierName, "classification"),
        (names.FilterName, "filter"),
        (names.SubspaceName, "subspace"),
    ],
)
def test_every_method_has_a_type(literal: object, kind: str) -> None:
    declared = [name for name, m in ob.methods().items() if m.kind == kind]
    assert sorted(get_args(literal)) == sorted(declared)
