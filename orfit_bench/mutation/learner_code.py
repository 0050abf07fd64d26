"""Learner code, which every method uses and which can be mutated like kernels."""

from __future__ import annotations

import importlib
import pkgutil

from orfit_bench.errors import suggest

PACKAGES = ("orfit_bench.learners", "orfit_bench.state", "orfit_bench.tables", "orfit_bench.schedules")
"""Learners, their states, the tables that they read and the schedules of their steps.

Not included: the declarations and the kit, which judge mutants, and code that starts processes or runs jobs.
"""


def is_learner_code(name: str) -> bool:
    """Whether this is the name of learner code: a module, or a package with several modules."""
    return any(name == package or name.startswith(f"{package}.") for package in PACKAGES)


def modules_of(name: str) -> list[str]:
    """Import learner code of this name and return its modules: a single one, or those of a package.

    Raises
    ------
    ValueError
        If there is no such module.
    """
    known = sorted(module for package in PACKAGES for module in _modules(package))
    chosen = [module for module in known if module == name or module.startswith(f"{name}.")]
    if not chosen:
        near = suggest(name, known).partition(" Known")[0]
        raise ValueError(f"no module of the learner code is named {name!r}{near}")
    return chosen


def _modules(package: str) -> list[str]:
    """The package and all modules in it."""
    places = getattr(importlib.import_module(package), "__path__", None)
    inner = [found.name for found in pkgutil.walk_packages(places, f"{package}.")] if places else []
    for module in inner:
        importlib.import_module(module)
    return [package, *inner]
