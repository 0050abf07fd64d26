"""Create a new plugin from templates.

The templates form a plugin named my-plugin, whose name is replaced. Each kind of plugin combines several folders.
"""

from __future__ import annotations

import re
from importlib.resources import files
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path
from typing import NamedTuple

from orfit_bench.jobs.files import new_folder
from orfit_bench.plugins.registry import Registry, registry
from orfit_bench.spec import SPEC_VERSION
from orfit_bench.spec.result_names import RESULT_NAMES

METHOD = ("common", "tracking", "tracking_method", "method")
KINDS = {
    "method": METHOD,
    "classification": (*METHOD, "classification"),
    "filter": (*METHOD, "filter"),
    "subspace": (*METHOD, "subspace"),
    "backend": ("common", "tracking", "tracking_backend", "arrays", "backend"),
    "stream": ("common", "stream"),
    "metric": ("common", "metric"),
    "model": ("common", "model"),
    "both": (*METHOD, "arrays", "both"),
}
"""The template folders of each kind; a later file replaces an earlier one of the same name."""
HOOKS = ("methods", "backends", "streams", "metrics")


class Names(NamedTuple):
    """The names of a plugin: its distribution, and its package, which is also the name of its method or backend."""

    distribution: str
    package: str


def write(name: str, kind: str = "method", folder: Path | None = None) -> Names:
    """Write the distribution atomically into a new folder, by default ./NAME.

    Raises ValueError for a name that is invalid or taken, OSError for a folder that is not empty.
    """
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r}: want one of {', '.join(KINDS)}")
    names = named(name)
    refuse_taken(names, registry())
    if kind == "metric":
        refuse_result_name(names)
    new_folder(folder or Path(name), filled(kind, names))
    return names


def named(name: str) -> Names:
    """The names of the distribution and the package. Raises ValueError if the name is invalid."""
    package = re.sub(r"[-_.]+", "_", name).lower()
    if not re.fullmatch(r"[a-z]([a-z0-9_]*[a-z0-9])?", package) or iskeyword(package):
        raise ValueError(
            f"name {name!r}: want letters, digits and dashes, starting with a letter and not ending with a dash, "
            f"e.g. my-lms, and not a keyword of Python"
        )
    return Names(package.replace("_", "-"), package)


def refuse_taken(names: Names, known: Registry) -> None:
    """Raise ValueError if a declaration, a plugin or an importable module already has the name."""
    other = f"choose another name, e.g. my-{names.distribution}"
    for hook in HOOKS:
        if names.package in getattr(known, hook):
            owner = known.suppliers[hook, names.package]
            raise ValueError(f"the {hook.removesuffix('s')} {names.package!r} is already supplied by {owner}: {other}")
    if holder := next((p.supplier for p in known.plugins if names.package == p.name), ""):
        raise ValueError(f"a plugin {names.package!r} is already installed by {holder}: {other}")
    module = find_spec(names.package)
    if module and module.origin:  # a folder without __init__.py is not a module
        raise ValueError(f"a module {names.package!r} already exists ({module.origin}): {other}")


def refuse_result_name(names: Names) -> None:
    """Raise ValueError if the results use this name for something that is not a metric."""
    if names.package in RESULT_NAMES:
        raise ValueError(
            f"the results have {names.package!r} already, for something that is not a metric: choose another name, "
            f"e.g. my-{names.distribution}"
        )


def filled(kind: str, names: Names) -> dict[str, str]:
    """The files of a kind by their paths, with the names inserted."""
    found = {}
    for template in KINDS[kind]:
        root = Path(str(files(__name__) / "templates" / template))
        for path in sorted(root.rglob("*")):
            if path.is_file() and (path.suffix in (".py", ".md", ".toml", ".yml", ".json") or path.name == "gitignore"):
                where = path.relative_to(root).as_posix().replace("gitignore", ".gitignore")
                found[_filled(where, names)] = _filled(path.read_text(encoding="utf-8"), names)
    return found


def _filled(text: str, names: Names) -> str:
    text = text.replace("my_plugin", names.package).replace("my-plugin", names.distribution)
    return re.sub(r"SPEC_VERSION = \(.*\)", f"SPEC_VERSION = {SPEC_VERSION}", text)
