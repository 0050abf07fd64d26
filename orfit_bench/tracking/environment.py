"""The distributions of one commit, installed beside each other and never changed again: an environment to measure in.

Each distribution lies in a folder of its own, named by the content it was built from, so that two commits share what
they have in common, machine code included. All else comes from the environment that the gate runs in.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

from orfit_bench.jobs.keys import make_text_key

FOLDER = ".orfit-bench-gate"
"""In the repository, kept for the next time; git is told to leave it alone. Removing it costs time only."""
PLACES = ("", "plugins/*", "packages/*")
"""Where in a repository distributions are looked for."""


@dataclass(frozen=True, slots=True)
class Environment:
    """A commit and where its distributions are installed."""

    commit: str
    path: tuple[Path, ...]
    home: Path
    """Where machine code is kept."""

    @property
    def distributions(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(sorted(d.name for d in distributions(path=[str(folder) for folder in self.path])))

    @property
    def variables(self) -> dict[str, str]:
        """The environment of its processes: one thread, and its own machine code."""
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        path = os.pathsep.join(str(folder) for folder in self.path)
        return threads | {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(self.home / "numba"), "PYTHONNOUSERSITE": "1"}

    def run(self, *arguments: str) -> None:
        """A new interpreter in this environment, to its end, whatever becomes of it."""
        variables = {**os.environ, **self.variables}
        subprocess.run([sys.executable, *arguments], env=variables, cwd=self.home, capture_output=True, check=False)


def repository(folder: Path) -> Path:
    """The root of the git repository around a folder; ValueError where there is none."""
    try:
        return Path(git(folder, "rev-parse", "--show-toplevel").strip())
    except (ValueError, OSError) as error:
        raise ValueError(f"{folder}: no git repository, so there are no commits to compare ({error})") from error


def environment(root: Path, commit: str) -> Environment:
    """The environment of a commit, made where it is not there yet; a kill leaves it whole or not there at all.

    ValueError where there is no such commit, where it holds no distribution or where one cannot be built.
    """
    sha = git(root, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}", what=f"no commit {commit!r}").strip()
    home = root / FOLDER
    home.mkdir(exist_ok=True)
    (home / ".gitignore").write_text("*\n")
    found = tuple(_installed(root, sha, place, home) for place in _places(root, sha))
    if not found:
        raise ValueError(f"{sha[:12]} holds no pyproject.toml in {', '.join(p or 'its root' for p in PLACES)}")
    return Environment(sha, found, home)


def uncommitted(root: Path, commit: str) -> bool:
    """Whether the commit is the one that is checked out, and its files here are not as they are there."""
    heads = {git(root, "rev-parse", name).strip() for name in ("HEAD", f"{commit}^{{commit}}")}
    return len(heads) == 1 and bool(git(root, "status", "--porcelain", "--untracked-files=no"))


def git(root: Path, *arguments: str, what: str = "") -> str:
    """What git says; ValueError with `what` and its own words where it fails."""
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip() or f"git {arguments[0]} ended with {done.returncode}"
        raise ValueError(f"{what}: {said}" if what else said)
    return done.stdout


def _places(root: Path, sha: str) -> Iterator[str]:
    """The folders of the commit that hold a distribution."""
    files = map(Path, git(root, "ls-tree", "-r", "-z", "--name-only", sha).split("\0"))
    for file in (f for f in files if f.name == "pyproject.toml"):
        folder = "" if file.parent == Path() else file.parent.as_posix()
        if any(folder == place or (place and file.parent.match(place) and folder.count("/") == 1) for place in PLACES):
            yield folder


def _installed(root: Path, sha: str, place: str, home: Path) -> Path:
    """Where the distribution in a folder of the commit is installed."""
    tree = git(root, "rev-parse", f"{sha}:{place}").strip()
    key = make_text_key(f"{place} {tree} {sys.version}")
    target = home / key
    if not target.is_dir():
        with tempfile.TemporaryDirectory(dir=home) as folder:
            source, site = Path(folder, "source"), Path(folder, "site")
            source.mkdir()
            archive = subprocess.run(["git", "-C", str(root), "archive", tree], capture_output=True, check=True)
            subprocess.run(["tar", "-x", "-C", str(source)], input=archive.stdout, check=True)
            _pip(source, site, f"{place or 'the root'} of {sha[:12]}")
            shutil.move(site, target)
    return target


def _pip(source: Path, site: Path, what: str) -> None:
    command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--no-compile"]
    command += ["--target", str(site), str(source)]
    variables = os.environ | {"SETUPTOOLS_SCM_PRETEND_VERSION": "0"}  # hatch-vcs too: there is no git in an archive
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
    if done.returncode:
        raise ValueError(f"{what} cannot be installed: {(done.stderr or done.stdout).strip()[-800:]}")
