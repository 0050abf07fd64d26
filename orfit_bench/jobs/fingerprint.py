"""Which code was loaded: whether functions of this package or of NumPy were replaced after they were imported."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

CHECKED = ("orfit_bench", "numpy", "numpy.linalg", "time")
"""Modules whose functions are compared, besides those inside of orfit_bench."""


class Function(NamedTuple):
    """A function, class or method where it was found."""

    place: Mapping[str, Any]
    """The names of its module or class."""
    name: str
    owner: str
    """The name of the module, or of module and class."""
    value: Any
    code: Any

    @property
    def is_unchanged(self) -> bool:
        """Whether the same function with the same code still has this name."""
        now = self.place.get(self.name)
        return now is self.value and getattr(now, "__code__", None) is self.code


class Fingerprint(NamedTuple):
    """The modules that were loaded, and their functions."""

    modules: dict[str, Any]
    functions: list[Function]


def take() -> Fingerprint:
    """The functions of the modules that are loaded now."""
    loaded = list(sys.modules.items())
    modules = {name: m for name, m in loaded if name in CHECKED or name.startswith("orfit_bench.")}
    return Fingerprint(modules, [f for name, module in modules.items() for f in _functions(name, module)])


def changed(before: Fingerprint) -> list[str]:
    """The names of modules and functions that are others now, or gone."""
    found = [name for name, module in before.modules.items() if sys.modules.get(name) is not module]
    return found + [f"{f.owner}.{f.name}" for f in before.functions if not f.is_unchanged]


def _functions(module_name: str, module: Any) -> Iterator[Function]:
    for name, value in vars(module).items():
        if callable(value):
            yield Function(vars(module), name, module_name, value, getattr(value, "__code__", None))
        if isinstance(value, type) and value.__module__ == module_name and module_name.startswith("orfit_bench"):
            for inner, function in vars(value).items():
                if callable(function) or isinstance(function, (property, staticmethod, classmethod)):
                    code = getattr(function, "__code__", None)
                    yield Function(vars(value), inner, f"{module_name}.{name}", function, code)
