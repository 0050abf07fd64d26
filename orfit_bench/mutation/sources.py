"""The source code of kernels and learners: the modules to mutate, and the lines of their functions."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from orfit_bench.mutation.learner_code import PACKAGES, is_learner_code, modules_of
from orfit_bench.plugins.registry import registry

Pair = tuple[str, str]
"""Backend and method."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file with code of kernels or of learners.

    Parameters
    ----------
    module : str
        The name under which it is imported.
    path : str
        The file.
    lines : list of (int, int)
        The first and last lines, counted from 1, that may be changed.
    pairs : list of (str, str)
        The backends and methods that use the file.
    """

    module: str
    path: str
    lines: list[tuple[int, int]]
    pairs: list[Pair]

    def contains(self, line: int) -> bool:
        """Whether the line may be changed."""
        return any(first <= line <= last for first, last in self.lines)


def find_sources(pairs: Collection[Pair], names: Collection[str] = ()) -> list[Source]:
    """The files of these kernels and of helpers in the same package; with `names`, only these modules.

    A name can also be that of a module or package of learner code, which all kernels use.

    Raises
    ------
    ValueError
        If a named module is not used by any kernel, or a kernel has no source file.
    """
    shared = [module for name in names if is_learner_code(name) for module in modules_of(name)]
    of_learners = [Source(m, str(_path(m)), _lines(m, None), sorted(pairs)) for m in dict.fromkeys(shared)]
    names = [name for name in names if not is_learner_code(name)]
    if shared and not names:
        return of_learners
    return of_learners + _sources_of_kernels(pairs, names)


def _sources_of_kernels(pairs: Collection[Pair], names: Collection[str]) -> list[Source]:
    kernels = {(backend, method): registry().kernel(backend, method) for backend, method in sorted(pairs)}
    users: dict[str, list[Pair]] = {}
    for pair, kernel in kernels.items():
        home = _home(kernel)
        for module in _reachable(home):
            if module in names or (not names and _package(module) == _package(home)):
                users.setdefault(module, []).append(pair)
    if unused := sorted(set(names) - set(users)):
        raise ValueError(
            f"none of the kernels uses a module {unused[0]!r}, and it is not learner code: {', '.join(PACKAGES)}"
        )
    own = {_home(kernel): kernel for kernel in kernels.values()}
    return [Source(m, str(_path(m)), _lines(m, own.get(m)), users[m]) for m in sorted(users)]


def _home(kernel: Any) -> str:
    """The module with the code of a kernel; the kernel is a module or an object."""
    return kernel.__name__ if isinstance(kernel, ModuleType) else str(type(kernel).__module__)


def _package(module: str) -> str:
    return module.partition(".")[0]


def _reachable(module: str) -> Iterator[str]:
    """The module, and all modules with a source file that its code uses, directly or indirectly."""
    waiting, seen = [module], {module}
    while waiting:
        yield (name := waiting.pop())
        for value in vars(sys.modules[name]).values():
            used = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
            if isinstance(used, str) and used not in seen and _is_kernel_code(used):
                seen.add(used)
                waiting.append(used)


def _is_kernel_code(module: str) -> bool:
    """Whether a module is shared by kernels or belongs to a plugin, unlike learner code and other libraries."""
    if module not in sys.modules or not str(getattr(sys.modules[module], "__file__", "")).endswith(".py"):
        return False
    suppliers = {
        _package(kernel if isinstance(kernel, str) else _home(kernel)) for kernel in registry().kernels.values()
    }
    return module.startswith("orfit_bench.kernels") or _package(module) in suppliers - {"orfit_bench"}


def _path(module: str) -> Path:
    file = inspect.getsourcefile(sys.modules[module])
    if not file or not Path(file).exists():
        raise ValueError(f"the module {module!r} has no source file, which is needed to change it")
    return Path(file)


def _lines(module: str, kernel: Any) -> list[tuple[int, int]]:
    """The lines of all functions of a kernel module; for a kernel class, its lines and those of functions it uses."""
    tree = ast.parse(_path(module).read_text(encoding="utf-8"))
    found = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    if kernel is not None and not isinstance(kernel, ModuleType):
        waiting, chosen = [type(kernel).__name__], set()
        while waiting:
            name = waiting.pop()
            if name in found and name not in chosen:
                chosen.add(name)
                waiting += [n.id for n in ast.walk(found[name]) if isinstance(n, ast.Name)]
        found = {name: found[name] for name in chosen}
    return sorted((_body(node), node.end_lineno or node.lineno) for node in found.values())


def _body(node: ast.FunctionDef | ast.ClassDef) -> int:
    """The first line of the body of a definition, after its decorators and signature."""
    return node.body[0].lineno
