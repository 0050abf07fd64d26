"""Environments for measurements: the distributions of a commit, each installed in its own folder.

The folders are named after the contents of the sources and not modified, except that incomplete ones are replaced, so
that two commits share equal distributions and their compiled code. All other packages are those of the current
environment.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

from orfit_bench.jobs import locks, system
from orfit_bench.jobs.files import make_folder, replace_text
from orfit_bench.jobs.keys import make_text_key
from orfit_bench.jobs.processes import ONE_THREAD

FOLDER = ".orfit-bench-gate"
"""Folder in the repository, ignored by git. It can be deleted at any time."""
PLACES = ("", "plugins/*", "packages/*")
"""Folders in which distributions are searched in a repository."""


@dataclass(frozen=True, slots=True)
class Environment:
    """A commit and the folders in which its distributions are installed."""

    commit: str
    path: tuple[Path, ...]
    home: Path
    """Folder for compiled code."""

    @property
    def distributions(self) -> tuple[str, ...]:
        """The names of the distributions."""
        return tuple(sorted(d.name for d in distributions(path=[str(folder) for folder in self.path])))

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables of its processes: one thread, and a separate cache for compiled code."""
        path = os.pathsep.join(str(folder) for folder in self.path)
        return ONE_THREAD | {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(self.home / "numba"), "PYTHONNOUSERSITE": "1"}

    def run(self, *arguments: str) -> None:
        """Run a new interpreter in this environment, ignoring its exit status."""
        variables = {**os.environ, **self.variables}
        subprocess.run([sys.executable, *arguments], env=variables, cwd=self.home, capture_output=True, check=False)


def repository(folder: Path) -> Path:
    """Return the root of the git repository that contains a folder. Raises ValueError if there is none."""
    try:
        return Path(git(folder, "rev-parse", "--show-toplevel").strip())
    except (ValueError, OSError) as error:
        raise ValueError(f"{folder}: not in a git repository ({error})") from error


def environment(root: Path, commit: str) -> Environment:
    """Install the distributions of a commit, atomically, unless this was done before.

    Raises ValueError if there is no such commit, if it contains no distribution, or if one cannot be built.
    """
    unknown = f"no commit {commit!r}: want a branch, a tag or a hash of this repository"
    sha = git(root, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}", what=unknown).strip()
    home = root / FOLDER
    if os.pathsep in str(home):
        raise ValueError(f"{root}: {os.pathsep!r} in the path would separate folders in PYTHONPATH: move it")
    make_folder(home)
    replace_text(home / ".gitignore", "*\n")
    locks.remove_matching(home, ".*.tmp")
    found = tuple(_installed(root, sha, place, home) for place in _places(root, sha))
    if not found:
        raise ValueError(f"{sha[:12]} contains no pyproject.toml in {', '.join(p or 'its root' for p in PLACES)}")
    return Environment(sha, found, home)


def environments(root: Path, *commits: str) -> list[Environment]:
    """Install the distributions of several commits in parallel. Raises the same errors as `environment`."""
    with ThreadPoolExecutor(len(commits)) as executor:
        return list(executor.map(lambda commit: environment(root, commit), commits))


def uncommitted(root: Path, commit: str) -> bool:
    """Return whether the commit is checked out with uncommitted changes."""
    heads = {git(root, "rev-parse", name).strip() for name in ("HEAD", f"{commit}^{{commit}}")}
    return len(heads) == 1 and bool(git(root, "status", "--porcelain", "--untracked-files=no"))


def git(root: Path, *arguments: str, what: str = "") -> str:
    """Return the output of git. Raises ValueError with `what` and its error message."""
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, check=False)
    if done.returncode:
        message = os.fsdecode(done.stderr).strip()
        raise ValueError(": ".join(filter(None, [what, message])) or f"git {arguments[0]} ended with {done.returncode}")
    return os.fsdecode(done.stdout)  # names of files can have any bytes


def committed(root: Path, commit: str, file: str) -> bytes | None:
    """Return the contents of a file in a commit; None if the commit does not have it."""
    done = subprocess.run(["git", "-C", str(root), "show", f"{commit}:{file}"], capture_output=True, check=False)
    return None if done.returncode else done.stdout


def _places(root: Path, sha: str) -> Iterator[str]:
    """The folders of the commit that contain a distribution."""
    files = map(Path, git(root, "ls-tree", "-r", "-z", "--name-only", sha).split("\0"))
    for file in (f for f in files if f.name == "pyproject.toml"):
        folder = "" if file.parent == Path() else file.parent.as_posix()
        if any(folder == place or (place and file.parent.match(place) and folder.count("/") == 1) for place in PLACES):
            yield folder


def _installed(root: Path, sha: str, place: str, home: Path) -> Path:
    """Install the distribution in a folder of the commit, and return the place of installation."""
    what = f"{place or 'the root'} of {sha[:12]}"
    tree = git(root, "rev-parse", f"{sha}:{place}").strip()
    key = make_text_key(f"{place} {tree} {sys.version}")
    target = home / key
    if not _is_complete(target):
        shutil.rmtree(target, ignore_errors=True)
        with locks.temporary_folder(target) as (folder, lock):
            source, site = folder / "source", folder / "site"
            source.mkdir()
            archive = _output(["git", "-C", str(root), "archive", tree], what)
            _output(["tar", "-x", "-f", "-", "-C", str(source)], what, archive)
            _install(source, site, what, lock)
            _move(site, target)
        if not _is_complete(target):
            raise ValueError(f"{target}: this installation of {what} is incomplete: delete the folder")
    return target


def _is_complete(site: Path) -> bool:
    """Whether the folder has every file of the distribution in it, except scripts, which are in another folder."""
    # the attribute `files` of some versions leaves out missing files
    records = [d.read_text("RECORD") or "" for d in distributions(path=[str(site)])]
    rows = [row for record in records for row in csv.reader(record.splitlines())]
    here = [row for row in rows if len(row) != 3 or ".." not in Path(row[0]).parts]  # other lengths: a damaged record
    return bool(here) and all(len(row) == 3 and _has_size(site / row[0], row[2]) for row in here)


def _has_size(file: Path, size: str) -> bool:
    """Whether a file exists and has this size, if one is given."""
    return file.is_file() and size in ("", str(file.stat().st_size))


def _output(command: Sequence[str], what: str, given: bytes = b"") -> bytes:
    """The output of a command that unpacks a distribution. Raises ValueError if it fails or does not exist."""
    try:
        done = subprocess.run(command, input=given, capture_output=True, check=False)
    except OSError as error:
        raise ValueError(f"{what} cannot be unpacked: {command[0]} cannot be run ({error.strerror})") from error
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip() or f"exit status {done.returncode}"
        raise ValueError(f"{what} cannot be unpacked: {command[0]}: {reason}")
    return done.stdout


def _move(site: Path, target: Path) -> None:
    """Rename a folder, unless another process or thread has created the same one meanwhile."""
    try:
        system.rename(site, target)
    except OSError:
        if not target.is_dir():
            raise


def _install(source: Path, site: Path, what: str, lock: int) -> None:
    """Install a distribution with the build tools of the current environment, or downloaded ones if it lacks some."""
    error = _pip(source, site, lock, "--no-build-isolation", "--check-build-dependencies")
    if error and (isolated := _pip(source, site, lock)):
        raise ValueError(
            f"{what} cannot be installed: {_reason(error)}; with downloaded build tools: {_reason(isolated)}"
        )


def _pip(source: Path, site: Path, lock: int, *options: str) -> str:
    """The error of pip, empty if it installed the distribution.

    Its process holds the lock too, since it continues if this process is killed.
    """
    command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--no-compile"]
    command += [*options, "--target", str(site), str(source)]
    variables = os.environ | {"SETUPTOOLS_SCM_PRETEND_VERSION": "0"}  # for hatch-vcs too: archives have no history
    variables["TMPDIR"] = str(site.parent)  # files of a killed pip are removed with the folder
    inherited = () if os.name == "nt" else (lock,)
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables, pass_fds=inherited)
    return (done.stderr or done.stdout or f"pip ended with {done.returncode}") if done.returncode else ""


def _reason(error: str) -> str:
    """The lines of pip that name the cause, or its last lines."""
    causes = [line.strip() for line in error.splitlines() if "[Errno" in line or line.lstrip().startswith("ERROR:")]
    return ("\n".join(causes) or error.strip())[-800:]
