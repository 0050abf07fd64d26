"""Distributions that are not installed, but are on the path of a new process, with the metadata that pip writes."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path


def write(folder: Path, module: str, source: str) -> Path:
    """Write and install a distribution, version 0.1.0, of one plugin: a package of this source."""
    package = folder / "src" / module
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(source)
    (folder / "pyproject.toml").write_text(
        f'[project]\nname = "{module.replace("_", "-")}"\nversion = "0.1.0"\n'
        f'[project.entry-points.orfit_bench]\n{module} = "{module}"\n'
    )
    return install(folder)


def install(folder: Path) -> Path:
    """Write the metadata next to the package, as `pip install --editable` would; returns the folder for the path."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    ((group, points),) = project["entry-points"].items()
    info = folder / "src" / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    lines = [f"[{group}]", *(f"{name} = {where}" for name, where in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return folder / "src"


def python(*arguments: str, site: Path | None = None, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run Python with this folder on its path and warnings as errors; returns its output."""
    path = [str(site)] if site else []
    env = os.environ | {"PYTHONPATH": os.pathsep.join([*path, *filter(None, [os.environ.get("PYTHONPATH")])])}
    command = [sys.executable, "-W", "error", *arguments]
    return subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True)
