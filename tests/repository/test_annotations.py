"""Parameters have types: the share that is annotated Any, by package."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIMITS = {"orfit_bench/spec": 0.05, "orfit_bench/state": 0.05, "orfit_bench/learners": 0.05}
"""Largest share of parameters annotated Any."""


def annotations(source: str) -> Iterator[str]:
    """The annotations of all parameters of functions, except self and cls."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            more = [one for one in (node.args.vararg, node.args.kwarg) if one]
            for parameter in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, *more]:
                if parameter.annotation is not None:
                    yield ast.unparse(parameter.annotation)


def share_of_any(package: Path) -> float:
    """The share of annotated parameters whose annotation is Any."""
    found = [text for path in package.rglob("*.py") for text in annotations(path.read_text())]
    return sum(text == "Any" for text in found) / len(found)


@pytest.mark.parametrize(("package", "limit"), LIMITS.items())
def test_few_parameters_are_any(package: str, limit: float) -> None:
    assert share_of_any(ROOT / package) <= limit


def test_parameters_are_found() -> None:
    source = "class A:\n    def f(self, a: Any, *b: int, c: Any, **d: str) -> Any: ...\nasync def g(x: Any, /): ..."
    assert sorted(annotations(source)) == ["Any", "Any", "Any", "int", "str"]
