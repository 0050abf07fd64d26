"""An experiment: a figure or table of a paper, computed again and compared with the numbers of the paper."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from orfit_bench.errors import UnavailableError

Progress = Callable[[int, int, str], None]
"""Called at the start and after each cell: progress(finished cells, all cells, name of the last finished cell)."""


@dataclass(frozen=True, slots=True)
class Request:
    """The options of a run of an experiment."""

    folder: Path
    """The folder of the files; it is created if its parent exists."""
    data: str | None = None
    """One of the data sets of the experiment; None for the first."""
    runs: int | None = None
    """Number of runs with different seeds; None for the number in the source."""
    fresh: bool = False
    """Whether to discard the finished cells of an interrupted run."""
    progress: Progress = lambda done, total, last: None


class Reproduced(NamedTuple):
    """The files that an experiment writes."""

    results: Path
    """The results, as netCDF."""
    page: Path
    """The page, as HTML."""


EXPECTED = (ValueError, TypeError, OSError, RuntimeError, UnavailableError)
"""Errors of runners about the request, the environment or a cell."""
Reproduce = Callable[["Experiment", Request], Reproduced]


@dataclass(frozen=True, slots=True)
class Experiment:
    """A named experiment. Its `runner` is imported on first use, so that the declaration is cheap to import."""

    name: str
    source: str
    """The document, and the place in it."""
    summary: str
    seconds: int
    """Approximate duration on one core with the first data set."""
    runner: str
    """ "package.module:function" of a function of the experiment and a `Request`, imported on first use."""
    data: tuple[str, ...] = ()
    """The data sets that it can use, the default first; empty if it generates its rows."""

    def __post_init__(self) -> None:
        """Refuse an invalid declaration."""
        for field in ("name", "source", "summary", "runner"):
            if not isinstance(value := getattr(self, field), str) or not value:
                raise TypeError(f"experiment {self.name!r}: {field}={value!r}, want a non-empty string")
        module, _, function = self.runner.partition(":")
        if not all(part.isidentifier() for part in [*module.split("."), function]):
            raise ValueError(f"experiment {self.name!r}: runner={self.runner!r}, want 'package.module:function'")
        if not isinstance(self.seconds, int) or self.seconds < 0:
            raise ValueError(f"experiment {self.name!r}: seconds={self.seconds!r}, want an integer >= 0")
        if not isinstance(self.data, tuple) or not all(isinstance(name, str) for name in self.data):
            raise TypeError(f"experiment {self.name!r}: data={self.data!r}, want a tuple of names")

    def reproduce(self, request: Request) -> Reproduced:
        """Run the experiment.

        Parameters
        ----------
        request : Request
            The data, the number of runs and the folder.

        Returns
        -------
        Reproduced
            The files of the results and of the page.

        Raises
        ------
        ValueError
            If the experiment has no such data set, or the number of runs is below 1.
        UnavailableError
            If its runner cannot be imported.
        RuntimeError
            If a cell fails, or the runner ends by an error that is not about the request, or returns no two files.
        """
        if request.data is not None and request.data not in self.data:
            wanted = f"want one of {', '.join(self.data)}" if self.data else "it makes its own rows: leave it out"
            raise ValueError(f"experiment {self.name}: data={request.data!r}, {wanted}")
        if request.runs is not None and request.runs < 1:
            raise ValueError(f"experiment {self.name}: runs={request.runs}, want an integer in [1, inf)")
        run, where = self._imported(), f"experiment {self.name}: its runner {self.runner!r}"
        try:
            found = run(self, request)
        except EXPECTED:
            raise
        except (Exception, SystemExit) as error:  # a defect of a plugin
            raise RuntimeError(f"{where} raised {type(error).__name__}: {error}") from error
        if not isinstance(found, Reproduced) or not all(isinstance(path, Path) and path.is_file() for path in found):
            raise RuntimeError(f"{where} returned {found!r}, want a Reproduced with the paths of two files")
        return found

    def _imported(self) -> Reproduce:
        """The runner. Raises UnavailableError if it cannot be imported."""
        module, _, function = self.runner.partition(":")
        try:
            found: Reproduce = getattr(importlib.import_module(module), function)
        except (Exception, SystemExit) as error:  # a plugin's code, imported here for the first time
            reason = f"its runner {self.runner!r} cannot be imported: {type(error).__name__}: {error}"
            raise UnavailableError(f"experiment {self.name}: {reason}") from error
        return found
