"""Lists of declarations derived from the modules of a package, so that adding a file is enough."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def declared(kind: type[T], package: str, path: Iterable[str]) -> tuple[T, ...]:
    """The module-level values of this type, also in tuples, of all modules of a package: each once, ordered by module.

    Modules whose names start with an underscore are left out.
    """
    found: dict[int, T] = {}
    for name in sorted(module.name for module in pkgutil.iter_modules(path) if not module.name.startswith("_")):
        for value in vars(importlib.import_module(f"{package}.{name}")).values():
            for one in value if isinstance(value, tuple) else (value,):
                if isinstance(one, kind):
                    found.setdefault(id(one), one)
    return tuple(found.values())
