"""The installed CuPy, whose names and signatures are read; it can be imported without a driver."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parents[1]


def _installed() -> ModuleType:
    """CuPy imported from another folder than this one, even if this package has its name."""
    mine = {name: sys.modules.pop(name) for name in list(sys.modules) if _is_named_cupy(name) and _is_here(name)}
    path = list(sys.path)
    sys.path[:] = [entry for entry in path if Path(entry or ".").resolve() != HERE]
    try:
        return importlib.import_module("cupy")
    finally:
        sys.path[:] = path
        if mine:
            for name in [name for name in sys.modules if _is_named_cupy(name)]:
                del sys.modules[name]
            sys.modules.update(mine)


def _is_named_cupy(name: str) -> bool:
    return name.partition(".")[0] in ("cupy", "cupyx")


def _is_here(name: str) -> bool:
    return HERE in Path(getattr(sys.modules[name], "__file__", None) or "/").resolve().parents


REAL = _installed()


def bound(name: str, real: Any, act: Callable[..., Any]) -> Callable[..., Any]:
    """The function `act`, restricted to arguments that CuPy's function of this name accepts."""
    try:
        signature = inspect.signature(real)
    except (TypeError, ValueError):  # compiled code has no signature
        return act

    def checked(*arguments: Any, **options: Any) -> Any:
        try:
            signature.bind(*arguments, **options)
        except TypeError as error:
            raise TypeError(f"cupy.{name}{signature}: {error}") from None
        return act(*arguments, **options)

    return checked


def declared(path: str, name: str) -> Callable[..., Any]:
    """A function in a file of CuPy, without its body, since importing the module would load CUDA's libraries."""
    source = (Path(REAL.__file__).parents[1] / path).read_text()
    functions = (node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))
    function = next(node for node in functions if node.name == name)
    function.decorator_list, function.body = [], [ast.Pass()]
    found: dict[str, Any] = {}
    exec(compile(ast.fix_missing_locations(ast.Module([function], [])), path, "exec"), found)
    act: Callable[..., Any] = found[name]
    return act
