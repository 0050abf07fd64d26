"""How an experiment is computed: its protocol, what is measured in each cell, what its page shows."""

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
"""One place on every axis, as plain values."""
Axes = dict[str, list[Any]]
Range = Integer | Number


@dataclass(frozen=True, slots=True)
class Setup:
    """Everything that decides the numbers of a run: the data, who computes, and the numbers of the protocol."""

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
    """What computes an experiment.

    `axes` names what is varied, so that a cell is one place on every axis; `measure` returns a Dataset of one cell,
    which may depend on setup and cell alone. Variables in seconds are wall times, and differ between runs.
    """

    experiment: Experiment
    protocol: Mapping[str, Any]
    """The numbers of the source's protocol, and ours where it leaves them open: integers, numbers, tuples of these.

    Others that are given must be of the same kind.
    """
    axes: Callable[[Setup], Axes]
    measure: Callable[[Setup, Cell], xarray.Dataset]
    sections: Callable[[xarray.Dataset, Setup], Sequence[Section]]
    ranges: Mapping[str, Range | Callable[[Mapping[str, Any]], Range]] = field(default_factory=dict)
    """Intervals of numbers of the protocol, or functions of the protocol; numbers without one are at least 1."""

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self.experiment.name

    @property
    def data(self) -> tuple[str, ...]:
        """The data sets that the experiment can learn, the first by default."""
        return self.experiment.data


def about(units: str, long_name: str) -> dict[str, str]:
    """Attributes of a variable."""
    return {"units": units, "long_name": long_name}
