"""Detection of functions of this package, of NumPy or of plugins that were replaced by other code."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping
from types import FunctionType
from typing import Any, NamedTuple

CHECKED = ("numpy", "numpy.linalg", "time")
"""Modules whose functions are compared, in addition to those of orfit_bench."""


class Function(NamedTuple):
    """A function, class or method, and the place where it was found."""

    place: Mapping[str, Any]
    """The namespace of its module or class."""
    name: str
    owner: str
    """The name of the module, or of module and class."""
    value: Any
    code: Any

    @property
    def is_unchanged(self) -> bool:
        """Whether this name still refers to the same function with the same code."""
        now = self.place.get(self.name)
        return now is self.value and _code(now) is self.code


class Fingerprint(NamedTuple):
    """The modules that were loaded, and their functions."""

    modules: dict[str, Any]
    functions: list[Function]


def take(packages: Collection[str] = ()) -> Fingerprint:
    """The functions of all compared modules that are loaded now, including the modules of `packages`."""
    modules = _modules(packages)
    return Fingerprint(modules, _functions_of(modules))


def changed(before: Fingerprint) -> list[str]:
    """The names of modules and functions that were replaced or removed since."""
    found = [name for name, module in before.modules.items() if sys.modules.get(name) is not module]
    return found + [f"{f.owner}.{f.name}" for f in before.functions if not f.is_unchanged]


class Load(NamedTuple):
    """The changes that the code of a package made while it was loaded."""

    replaced: list[str]
    """The names that it replaced outside of itself, in modules loaded before or meanwhile."""
    now: Fingerprint


def check_load(before: Fingerprint, package: str, packages: Collection[str]) -> Load:
    """Compare with a fingerprint of the same packages that was taken before code of `package` was loaded.

    A module of another package that was loaded meanwhile can import functions of this one, as extras of a host do. If
    the module defines a function of the same name itself, the function was replaced instead.
    """
    others = changed(before)
    replaced = [name for name in others if package_of(name) != package]
    meanwhile = {name: module for name, module in _modules(packages).items() if name not in before.modules}
    functions = _functions_of(meanwhile)
    foreign = (
        f
        for f in functions
        if package_of(f.owner) != package and _origin(f) == package and _defines(meanwhile.get(f.owner), f.name)
    )
    replaced += [f"{f.owner}.{f.name}" for f in foreign]
    if others:
        return Load(replaced, take(packages))
    return Load(replaced, Fingerprint(before.modules | meanwhile, before.functions + functions))


def package_of(module_name: str) -> str:
    """The top-level package or module."""
    return module_name.partition(".")[0]


def _origin(function: Function) -> str:
    """The package that defines a function."""
    kind = type(function.value)
    written = function.value if kind is FunctionType or issubclass(kind, type) else kind  # not attributes of a proxy
    return package_of(str(getattr(written, "__module__", "")))


def _defines(module: Any, name: str) -> bool:
    """Whether the code of a module defines a function or class of this name at top level; True if unknown."""
    try:
        code = module.__spec__.loader.get_code(module.__spec__.name)
        return any(getattr(constant, "co_name", "") == name for constant in code.co_consts)
    except Exception:  # error of a plugin's importer, or not Python code
        return True


def _code(value: Any) -> Any:
    """The code of a function; None for other objects, whose attributes may be created anew or raise at each access."""
    return value.__code__ if type(value) is FunctionType else None


def _names(module: Any) -> dict[str, Any]:
    """The namespace of a module, without loading modules that are loaded lazily."""
    try:
        names: dict[str, Any] = object.__getattribute__(module, "__dict__")
    except AttributeError:  # any object can be in sys.modules
        return {}
    return names


def _modules(packages: Collection[str]) -> dict[str, Any]:
    tops, loaded = {"orfit_bench", *packages}, list(sys.modules.items())
    return {name: m for name, m in loaded if m is not None and (name in CHECKED or package_of(name) in tops)}


def _functions_of(modules: Mapping[str, Any]) -> list[Function]:
    return [f for name, module in modules.items() for f in _functions(name, module)]


def _functions(module_name: str, module: Any) -> Iterator[Function]:
    place, own = _names(module), module_name.startswith("orfit_bench")
    for name, value in list(place.items()):
        if callable(value):
            yield Function(place, name, module_name, value, _code(value))
        if own and isinstance(value, type) and value.__module__ == module_name:
            for inner, function in vars(value).items():
                if callable(function) or isinstance(function, (property, staticmethod, classmethod)):
                    yield Function(vars(value), inner, f"{module_name}.{name}", function, _code(function))
