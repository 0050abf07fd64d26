"""Hashes of the code of plugins, by which an interrupted run notices that it has changed."""

from __future__ import annotations

import ast
import sys
import sysconfig
from collections import defaultdict
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from orfit_bench.jobs.files import digest
from orfit_bench.jobs.fingerprint import package_of
from orfit_bench.plugins import entry_points
from orfit_bench.plugins.discovery import IN_PROCESS
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Override

CODE = (".py", ".so", ".pyd", ".dll", ".dylib", ".cu")
"""Endings of files that are hashed."""
ARCHIVES = {"site-packages", "dist-packages"}
"""Folders of distributions that were installed from archives, which their versions identify."""


def plugin_sources() -> dict[str, str]:
    """Return a hash of the code of each plugin, by distribution, whether git tracks it or not.

    It covers the packages of its entry points and kernels, and those that they import, except for Python's own, this
    package and what is installed from archives.
    """
    modules = entry_points.modules()
    used: dict[str, set[str]] = defaultdict(set)
    for plugin in registry().plugins:
        if plugin.state == "ok" and not plugin.own and plugin.distribution != IN_PROCESS:
            named = {_module_of(kernel) for kernel in plugin.offers.get("kernels", {}).values()}
            named.add(modules.get((plugin.distribution, plugin.name), ""))
            used[plugin.distribution] |= {package_of(name) for name in named if name}
    found = {name: _with_imported(packages) for name, packages in used.items()}
    return {name: digest(dict(sorted(files.items()))) for name, files in found.items() if files}


def _module_of(kernel: Any) -> str:
    """The name of the module that a plugin declares for a kernel; empty if it declares none."""
    module = kernel.module if isinstance(kernel, Override) else kernel
    return module if isinstance(module, str) else str(getattr(module, "__name__", ""))


def _with_imported(packages: Iterable[str]) -> dict[str, Path]:
    """The files of packages, and of those that they import, by names that do not depend on the place of a package."""
    waiting, known, found = list(packages), set[str](), dict[str, Path]()
    while waiting:
        package = waiting.pop()
        if package not in known:
            known.add(package)
            files = dict(_files_of(package))
            found |= files
            waiting += [name for path in files.values() if path.suffix == ".py" for name in _imported_by(path)]
    return found


def _files_of(package: str) -> Iterator[tuple[str, Path]]:
    """The files of a top-level package or module with their names; none if its version identifies them."""
    if package in sys.stdlib_module_names or package in ("orfit_bench", "__main__"):
        return
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):  # ValueError: a module without a spec
        return
    if spec is None or not (spec.submodule_search_locations or (spec.has_location and spec.origin)):
        return
    library = Path(sysconfig.get_path("stdlib"))  # has more than the modules of `sys.stdlib_module_names`
    for place in map(Path, spec.submodule_search_locations or [str(spec.origin)]):
        if not ARCHIVES & set(place.parts) and library not in place.parents:
            paths = sorted(place.rglob("*")) if place.is_dir() else [place]
            yield from ((p.relative_to(place.parent).as_posix(), p) for p in paths if p.suffix in CODE and p.is_file())


def _imported_by(path: Path) -> Iterator[str]:
    """The top-level packages that the import statements of a file name."""
    try:
        statements = ast.walk(ast.parse(path.read_bytes()))
    except (SyntaxError, ValueError):  # ValueError: it has NUL bytes
        return
    for one in statements:
        if isinstance(one, ast.Import):
            yield from (package_of(alias.name) for alias in one.names)
        elif isinstance(one, ast.ImportFrom) and one.module and not one.level:
            yield package_of(one.module)
