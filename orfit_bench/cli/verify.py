"""`orfit-bench verify`: check that saved files are complete and unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import click

from orfit_bench.cli.output import say
from orfit_bench.counts import describe_count
from orfit_bench.jobs.files import ensure_regular
from orfit_bench.jobs.journal import ENDING, read_entry


class Verdict(NamedTuple):
    """The result for one file."""

    file: Path
    is_intact: bool
    description: str


@click.command("verify", short_help="Check that saved files are unchanged.")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
def verify_command(files: tuple[Path, ...]) -> None:
    """Check that saved states (.npz), results (.nc) and journals are complete and unchanged.

    Results are those of `run`, `merge` and `reproduce`.

    Every array, record and file has a digest (SHA-256), which is compared with the content; of a state, these are the
    settings and the arrays. Nothing is executed, and no plugin is needed. A digest shows damage, not who wrote the
    file.

    \b
    Examples:
      orfit-bench verify state.npz results.nc
      orfit-bench verify results.nc.journal

    Exit status: 0 if all files are complete, 1 if one is damaged or of another kind, 2 if one cannot be read.
    """
    status = 0
    for file in files:
        try:
            verdicts = verify(file)
        except (OSError, MemoryError) as error:
            reason = getattr(error, "strerror", "there is not enough memory to read this file")
            say(f"Error: {error}" if str(file) in str(error) else f"Error: {file}: {reason}", err=True)
            status = 2
            continue
        for verdict in verdicts:
            click.echo(f"{verdict.file}: {verdict.description}", err=not verdict.is_intact)
            status = max(status, int(not verdict.is_intact))
    if status:
        click.get_current_context().exit(status)


def verify(path: Path) -> list[Verdict]:
    """Check a file, or every entry of a journal."""
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file")
    ensure_regular(path)
    if path.is_dir():
        if path.suffix != ENDING:
            raise IsADirectoryError(f"{path}: this is a folder, want a saved file or a folder ending in {ENDING}")
        entries = sorted(path.glob("*.json"))
        return [_verdict(entry) for entry in entries] or [Verdict(path, True, "ok, a journal without entries")]
    return [_verdict(path)]


def _verdict(path: Path) -> Verdict:
    try:
        return Verdict(path, True, f"ok, {_describe(path)}")
    except ValueError as error:
        return Verdict(path, False, str(error).removeprefix(f"{path}: "))


def _describe(path: Path) -> str:
    """A description of the file. Raises ValueError if it is damaged."""
    with path.open("rb") as file:
        start = file.read(8)
    if start.startswith(b"\x89HDF"):
        from orfit_bench.bench import results, results_checks

        found = results.read(path)
        if "experiment" in found.attrs:
            return f"results of the experiment {found.attrs['experiment']}"
        return f"results of {describe_count(results_checks.checked(found, path).sizes['cell'], 'cell')}"
    if start.startswith(b"{"):
        read_entry(path)
        return "an entry of a journal"
    if not start:
        raise ValueError(f"{path}: the file is empty")
    if path.suffix == ".nc":
        raise ValueError(f"{path}: not a file of results, which are netCDF (HDF5): it is damaged, or of another kind")
    if path.parent.suffix == ENDING:
        raise ValueError(f"{path}: not an entry of a journal: it is damaged, or of another kind")
    return _describe_state(path, start)


def _describe_state(path: Path, start: bytes) -> str:
    from orfit_bench.learners.pipelines import storage
    from orfit_bench.state import binary, files

    if storage.is_pipeline(start):
        head = binary.decode(storage.decode(path.read_bytes())[1]).header_of_rule
        return f"a pipeline with {head.get('method')}"
    if start == binary.MAGIC:
        return f"the bytes of a state of {binary.decode(path.read_bytes()).header_of_rule.get('method')}"
    head, arrays = files.read(path)
    checked = "" if head["format"] > 2 else ", saved without digests by an earlier version"
    return f"a state of {head.get('method')} with {len(arrays)} arrays{checked}"
