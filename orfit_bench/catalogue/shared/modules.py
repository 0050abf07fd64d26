"""Lists that are derived from the modules of a package, so that adding a file is enough."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from types import ModuleType


def public_modules(package: str, path: Iterable[str]) -> tuple[ModuleType, ...]:
    """Import the modules of a package whose names have no leading underscore, and return them ordered by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(path) if not module.name.startswith("_"))
    return tuple(importlib.import_module(f"{package}.{name}") for name in names)
