"""An experiment: a figure or table of a paper, computed again and laid beside the paper's own numbers."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from orfit_bench.errors import UnavailableError

Progress = Callable[[int, int, str], None]
"""Called with the number of finished cells, of all cells, and what was done last: at the start, then after each."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asks of an experiment."""

    folder: Path
    """Where the files go; made where only it is missing."""
    data: str | None = None
    """One of the experiment's data sets; None for its first."""
    runs: int | None = None
    """How many runs with seeds of their own; None for as many as the source's."""
    fresh: bool = False
    """Whether the finished cells of a run that was killed are forgotten."""
    progress: Progress = lambda done, total, last: None


class Reproduced(NamedTuple):
    """The files that an experiment leaves."""

    results: Path
    """netCDF."""
    page: Path
    """HTML."""


Reproduce = Callable[["Experiment", Request], Reproduced]


@dataclass(frozen=True, slots=True)
class Experiment:
    """A named experiment. `runner` names what computes it, so that its declaration imports nothing heavy."""

    name: str
    source: str
    """The document and its place."""
    summary: str
    seconds: int
    """About how long it takes on one core with its first data set."""
    runner: str
    """ "package.module:function" of a function of the experiment and a `Request`, imported on first use."""
    data: tuple[str, ...] = ()
    """The data sets that it can learn, the first by default; empty where it makes its own rows."""

    def __post_init__(self) -> None:
        """Refuse a declaration that could be neither listed nor run."""
        for field in ("name", "source", "summary", "runner"):
            if not isinstance(value := getattr(self, field), str) or not value:
                raise TypeError(f"experiment {self.name!r}: {field}={value!r}, want a text")
        if not all(part.isidentifier() for part in self.runner.replace(":", ".").split(".")) or ":" not in self.runner:
            raise ValueError(f"experiment {self.name!r}: runner={self.runner!r}, want 'package.module:function'")
        if not isinstance(self.seconds, int) or self.seconds < 0:
            raise ValueError(f"experiment {self.name!r}: seconds={self.seconds!r}, want an integer >= 0")
        if not isinstance(self.data, tuple) or not all(isinstance(name, str) for name in self.data):
            raise TypeError(f"experiment {self.name!r}: data={self.data!r}, want a tuple of names")

    def reproduce(self, request: Request) -> Reproduced:
        """Compute it. UnavailableError where its runner cannot be imported; else what the runner raises."""
        module, _, function = self.runner.partition(":")
        try:
            run: Reproduce = getattr(importlib.import_module(module), function)
        except Exception as error:  # a plugin's code, imported here for the first time
            reason = f"its runner {self.runner!r} cannot be imported: {type(error).__name__}: {error}"
            raise UnavailableError(f"experiment {self.name}: {reason}") from error
        return run(self, request)
