"""Words that have confused readers are not used in names; see docs/glossary.md for the terms to use."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("benchmarks", "orfit_bench", "plugins", "tests")
WORDS = {"told", "said", "apart", "looked", "beside", "whole", "made", "unless"} | {
    "nudged",
    "fate",
    "judged",
    "plate",
    "plates",
    "lonely",
    "looks",
    "warmed",
}


def names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of every function, class, parameter and assigned variable or attribute."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.lineno, node.name
        elif isinstance(node, ast.alias) and node.asname:
            yield node.lineno, node.asname


def unclear(source: str) -> list[tuple[int, str]]:
    """The names in source code that contain one of the words."""
    return sorted({(line, name) for line, name in names(ast.parse(source)) if WORDS & set(name.lower().split("_"))})


@pytest.mark.parametrize("package", PACKAGES)
def test_names_use_plain_words(package: str) -> None:
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    found = {path.relative_to(ROOT).as_posix(): bad for path in files if (bad := unclear(path.read_text()))}
    assert not found


@pytest.mark.parametrize(
    "source",
    [
        "def told(): ...",
        "def _look_apart(x): ...",
        "class Made: ...",
        "def f(whole): ...",
        "said = 1",
        "for said in (): ...",
        "x.looked = 1",
        "import os as beside",
        "try: ...\nexcept ValueError as said: ...",
        "(said := 1)",
        "f = lambda told: 1",
    ],
)
def test_an_unclear_name_is_found(source: str) -> None:
    assert unclear(source)


@pytest.mark.parametrize("source", ["told", "f(said=1)", "x.made", "import made", "'whole'", "remade = wholesale = 1"])
def test_uses_texts_and_longer_words_are_allowed(source: str) -> None:
    assert not unclear(source)
