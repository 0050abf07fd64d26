"""The mutants of a file: one operator, comparison, number, branch or statement changed at a time."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from orfit_bench.errors import UnavailableError
from orfit_bench.mutation.sources import Source

MEANINGLESS = ("LShift", "RShift", "BitOr", "BitAnd", "BitXor", "RemoveDecorator", "ExceptionReplacer")
"""Operators of cosmic-ray that say nothing about a kernel: floats lack them, or only annotations use them."""

INVERSES = str.maketrans("+-*/", "-+/*")


class Mutant(NamedTuple):
    """A changed program: its module, the changed line, the line before and after the change, and the whole code."""

    module: str
    line: int
    before: str
    after: str
    code: str


def make_mutants(source: Source) -> Iterator[Mutant]:
    """Every mutant of a file that differs from it in more than annotations."""
    text = Path(source.path).read_text(encoding="utf-8")
    seen = {_program(text)}
    for code in itertools.chain(_without_statements(text), _changed_assignments(text), _changed_operators(text)):
        with suppress(SyntaxError):
            program = _program(code)
            line, before, after = _difference(text, code)
            if program not in seen and source.contains(line):
                seen.add(program)
                yield Mutant(source.module, line, before, after, code)


def _changed_operators(text: str) -> Iterator[str]:
    """The code with one operator, comparison, number or branch changed, by cosmic-ray."""
    try:
        from cosmic_ray.mutating import mutate_code
        from cosmic_ray.plugins import get_operator, operator_names
    except ImportError as error:
        raise UnavailableError(
            f"mutants are made with cosmic-ray, which cannot be imported ({error}): "
            'install it with `pip install "orfit-bench[mutation]"`'
        ) from error
    for name in sorted(operator_names()):
        operator = get_operator(name)
        if operator.arguments() or any(word in name for word in MEANINGLESS):
            continue
        for occurrence in itertools.count():
            code = mutate_code(text, operator(), occurrence)
            if code is None:
                break
            yield str(code)


def _without_statements(text: str) -> Iterator[str]:
    """The code without one of its assignments or calls."""
    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr) and not is_docstring and node.col_offset:
            first, last = node.lineno - 1, node.end_lineno or node.lineno
            start = lines[first][: node.col_offset]
            if not start.strip():
                yield "".join([*lines[:first], f"{start}pass\n", *lines[last:]])


def _changed_assignments(text: str) -> Iterator[str]:
    """The code with `+=` for `-=`, `*=` for `/=`, and the reverse."""
    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.AugAssign) and (last := node.target.end_lineno) == node.value.lineno:
            line = lines[last - 1].encode()
            start, end = node.target.end_col_offset or 0, node.value.col_offset
            operator = line[start:end].decode()
            if (other := operator.translate(INVERSES)) != operator:
                changed = (line[:start] + other.encode() + line[end:]).decode()
                yield "".join([*lines[: last - 1], changed, *lines[last:]])


def _program(code: str) -> str:
    """The code without lines of docstrings and annotations, which do not affect the result."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            for argument in (*node.args.args, *node.args.kwonlyargs):
                argument.annotation = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Name("Any")
    return ast.dump(tree)


def _difference(text: str, code: str) -> tuple[int, str, str]:
    """The number of the first line that differs, before and after."""
    pairs = itertools.zip_longest(text.splitlines(), code.splitlines(), fillvalue="")
    return next(((i, a.strip(), b.strip()) for i, (a, b) in enumerate(pairs, 1) if a != b), (0, "", ""))
