"""Replacement of one module by changed code, in a process that has not imported it or can import it again."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from orfit_bench.mutation.learner_code import is_learner_code
from orfit_bench.plugins import entry_points

PACKAGE = "orfit_bench"


def ensure_replaceable(module: str) -> None:
    """Raise RuntimeError if this process has imported a module or its users, so that forks could not replace it."""
    loaded = _plugins() if is_learner_code(module) else [module] if module in sys.modules else []
    if loaded:
        raise RuntimeError(
            f"{loaded[0]} was imported in this process before: judge mutants in a new process, before anything that "
            "loads the plugins"
        )


def _plugins() -> list[str]:
    """The imported modules of installed plugins, which keep the learner code that they imported."""
    modules = set(entry_points.modules().values())
    return sorted(m for m in modules if m in sys.modules and m.partition(".")[0] != PACKAGE)


def replace(module: str, code: str, folder: Path) -> None:
    """Make imports of the module run this code instead of its file; learner code is imported again."""
    if is_learner_code(module):
        for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
            del sys.modules[name]
    path = folder / f"{module.rpartition('.')[2]}.py"
    path.write_text(code, encoding="utf-8")
    sys.meta_path.insert(0, _Replacement(module, path))


class _Replacement:
    """A finder for one module, whose code is in another file."""

    def __init__(self, module: str, path: Path) -> None:
        self._module, self._path = module, path

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> Any:
        """The specification of the replaced module; None for every other."""
        if name != self._module:
            return None
        original = importlib.machinery.PathFinder.find_spec(name, path)
        places = original.submodule_search_locations if original else None
        return importlib.util.spec_from_file_location(name, self._path, submodule_search_locations=places)
