"""Learners with one fault each: in a kernel, in a declaration, or in the code that is common to all learners."""

from faults import (
    authors,
    boundaries,
    columns,
    copies,
    decisions,
    declarations,
    fleets,
    halves,
    hosts,
    numbers,
    outputs,
    refusals,
    roles,
    saved,
    single_rows,
    states,
    steps,
)
from faults.fault import FAULTS, Fault

__all__ = [
    "FAULTS",
    "Fault",
    "authors",
    "boundaries",
    "columns",
    "copies",
    "decisions",
    "declarations",
    "fleets",
    "halves",
    "hosts",
    "numbers",
    "outputs",
    "refusals",
    "roles",
    "saved",
    "single_rows",
    "states",
    "steps",
]
