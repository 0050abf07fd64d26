"""Counts of what CuPy would do on a device: kernel launches, uploads, waits for results, bytes in both directions."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace


@dataclass
class Counts:
    """Totals since the start of the process; subtract an earlier `copy()`."""

    launches: int = 0
    uploads: int = 0
    waits: int = 0
    bytes_there: int = 0
    bytes_back: int = 0

    def copy(self) -> Counts:
        """A copy of the current totals."""
        return replace(self)

    def __sub__(self, other: Counts) -> Counts:
        mine, others = asdict(self), asdict(other)
        return Counts(**{name: mine[name] - others[name] for name in mine})


COUNTS = Counts()

LAUNCHES = {  # if it is not one; read in the source of CuPy 14.2
    "all": 2,
    "any": 2,
    "argwhere": 4,
    "array_equal": 3,
    "count_nonzero": 2,
    "cumsum": 3,
    "empty": 0,
    "eye": 2,
    "isin": 6,
    "nonzero": 4,
    "reshape": 0,
    "unique": 8,
    "vdot": 2,
}
REDUCTIONS = ("max", "min", "sum", "mean", "argmax", "argmin", "prod")
"""Over all entries they take two launches, along an axis one."""
JOINS = ("concatenate", "concat", "stack", "vstack", "hstack")
"""Up to eight arrays are copied one after another; more in one launch that reads an uploaded table."""


def count_call(name: str, arguments: tuple[object, ...], options: dict[str, object]) -> None:
    """Count a call of a function of the namespace."""
    if name in JOINS:
        count_join(len(arguments[0]))  # type: ignore[arg-type]
    elif name in REDUCTIONS:
        COUNTS.launches += 1 if "axis" in options or len(arguments) > 1 else 2
    else:
        COUNTS.launches += LAUNCHES.get(name, 1)


def count_join(arrays: int) -> None:
    """Count the launches that join this number of arrays."""
    COUNTS.launches += arrays if arrays <= 8 else 1
    COUNTS.uploads += 0 if arrays <= 8 else 3
