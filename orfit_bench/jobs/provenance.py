"""Provenance of results: versions, machine and commit, as JSON values."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path
from typing import Any

import orfit_bench
from orfit_bench.jobs.keys import make_text_key
from orfit_bench.plugins import entry_points
from orfit_bench.plugins.discovery import IN_PROCESS, OWN
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import SPEC_VERSION


def provenance(threads: dict[str, str]) -> dict[str, Any]:
    """Return everything that must be equal for the results of two runs to be combined."""
    return {
        "spec_version": ".".join(map(str, SPEC_VERSION)),
        "versions": versions(),
        "machine": machine() | {"threads": threads, "devices": devices()},
        "commit": commit(Path(orfit_bench.__file__)) | {"plugins": plugin_commits()},
    }


def as_attributes(values: Mapping[str, Any]) -> dict[str, str]:
    """Values as attributes of a file: strings unchanged, everything else as JSON."""
    return {k: v if isinstance(v, str) else json.dumps(v, sort_keys=True) for k, v in values.items()}


def versions() -> dict[str, str]:
    """Return the versions of Python, the numerical libraries and the distributions of plugins."""
    found = {"python": platform.python_version(), OWN: orfit_bench.__version__}
    found |= {name: _version(name) or "unknown" for name in ("numpy", "scipy")}  # "unknown" for a copy without metadata
    found |= {name: here for name in ("numba", "llvmlite") if (here := _version(name))}
    found |= {d.name: d.version for d in distributions() if str(d.name).startswith("cupy")}  # cupy-cuda12x and others
    used = (p for p in registry().plugins if p.state == "ok" and p.distribution != IN_PROCESS)
    return found | {p.distribution: p.version for p in used}


def devices() -> dict[str, dict[str, str]]:
    """Return the devices of the available backends."""
    described = {b.name: b.described for b in registry().backends.values() if b.available}
    return {name: info for name, info in described.items() if info}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def machine() -> dict[str, Any]:
    """Return CPU model, cores, bytes of memory (None if unknown), platform, and a hash that identifies the machine."""
    described = {"cpu": _cpu(), "cores": os.cpu_count(), "memory": _memory(), "platform": platform.platform()}
    return described | {"host": _host()}


def _host() -> str:
    """A hash that distinguishes machines with equal hardware without revealing the host name."""
    try:
        number = Path("/etc/machine-id").read_text()
    except OSError:  # another system, or a container
        number = ""
    return make_text_key(f"orfit-bench {platform.node()} {number}")


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def plugin_commits() -> dict[str, dict[str, Any]]:
    """Return the commit of each plugin that is tracked by git, by distribution: editable installs share a version."""
    commits = {name: commit(file) for name, file in _plugin_files().items()}
    return {name: found for name, found in commits.items() if found["id"]}


def _plugin_files() -> dict[str, Path]:
    """The file of the module that each distribution with a working plugin names."""
    modules = {name: module for (name, _), module in entry_points.modules().items()}
    used = [p.distribution for p in registry().plugins if p.state == "ok" and p.distribution != OWN]
    files = {name: getattr(sys.modules.get(modules.get(name, "")), "__file__", None) for name in used}
    return {name: Path(file) for name, file in files.items() if file}


def commit(file: Path) -> dict[str, Any]:
    """Return the commit of the repository of a file ("" if git does not track it) and whether it was modified.

    `changes` is a hash of the modifications, which distinguishes two states of a modified tree.
    """
    if _git(file.parent, "ls-files", "--error-unmatch", file.name) is None:
        return {"id": "", "dirty": False, "changes": ""}
    changes = _git(file.parent, "diff", "HEAD") or ""
    digest = make_text_key(changes) if changes else ""
    return {"id": _git(file.parent, "rev-parse", "HEAD") or "", "dirty": bool(changes), "changes": digest}


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, errors="replace", timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
