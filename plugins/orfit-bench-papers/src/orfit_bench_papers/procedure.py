"""How an experiment is computed: its protocol, the measurement of each cell, and its page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from orfit_bench import create
from orfit_bench.report.page import Section
from orfit_bench.spec import Experiment, Integer, Number

if TYPE_CHECKING:
    import xarray

Cell = dict[str, Any]
"""One position on every axis, as plain values."""
Axes = dict[str, list[Any]]
Range = Integer | Number


@dataclass(frozen=True, slots=True)
class Setup:
    """Everything that determines the numbers of a run: the data, the backend, and the numbers of the protocol."""

    data: str
    backend: str
    protocol: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.protocol[name]

    def create(self, method: str, seed: int = 0, **settings: Any) -> Any:
        """A new learner on the backend of this run."""
        return create(method, backend=self.backend, random_state=seed, **settings)


@dataclass(frozen=True, slots=True)
class Procedure:
    """The computation of an experiment.

    `axes` names what is varied, so a cell is one position on every axis. `measure` returns a Dataset for one cell,
    which must depend only on the setup and the cell. Variables in seconds are wall times, and differ between runs.
    """

    experiment: Experiment
    protocol: Mapping[str, Any]
    """The numbers of the protocol in the source, and ours if it does not specify them: integers, numbers, or tuples.

    Numbers that replace them must be of the same kind.
    """
    axes: Callable[[Setup], Axes]
    measure: Callable[[Setup, Cell], xarray.Dataset]
    sections: Callable[[xarray.Dataset, Setup], Sequence[Section]]
    ranges: Mapping[str, Range | Callable[[Mapping[str, Any]], Range]] = field(default_factory=dict)
    """Intervals of numbers of the protocol, or functions of the protocol; numbers without one are at least 1."""

    @property
    def name(self) -> str:
        """The name of the experiment."""
        return self.experiment.name

    @property
    def data(self) -> tuple[str, ...]:
        """The data sets that the experiment can learn, the first by default."""
        return self.experiment.data


def about(units: str, long_name: str) -> dict[str, str]:
    """Attributes of a variable."""
    return {"units": units, "long_name": long_name}
