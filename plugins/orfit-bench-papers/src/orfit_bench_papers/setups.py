"""Find the procedure of an experiment by its name, and choose the numbers of one run."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from orfit_bench.errors import UnavailableError, suggest
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Integer, Number
from orfit_bench_papers import data as data_sets
from orfit_bench_papers.declarations import EXPERIMENTS
from orfit_bench_papers.procedure import Procedure, Setup


def find(name: str) -> Procedure:
    """The procedure of the experiment with this name; if there is none, a ValueError suggests the nearest name."""
    if name not in EXPERIMENTS:
        raise ValueError(f"no experiment {name!r}{suggest(name, EXPERIMENTS)}")
    module = import_module(f"orfit_bench_papers.{name.replace('-', '_')}")
    procedure: Procedure = module.PROCEDURE
    return procedure


def make_setup(procedure: Procedure, data: str | None = None, **protocol: Any) -> Setup:
    """Choose data, backend and protocol of a run; the backend is numba if it is installed, otherwise numpy.

    Raises ValueError for data that the experiment does not support, unknown protocol names, and numbers outside their
    range; TypeError for a number of another kind than the default; and UnavailableError if the data are not available.
    """
    chosen = data or next(iter(procedure.data), "its own")
    if data and data not in procedure.data:
        takes = f"want one of {', '.join(procedure.data)}" if procedure.data else "it makes its own rows"
        raise ValueError(f"{procedure.name} with data {data!r}: {takes}")
    if reason := data_sets.why_absent(chosen):
        raise UnavailableError(f"{procedure.name} with data {chosen!r}: {reason}")
    for name in protocol:
        if name not in procedure.protocol:
            raise ValueError(f"{procedure.name} has no {name!r} to set{suggest(name, procedure.protocol)}")
    every = {**procedure.protocol, **protocol}
    every = {name: _checked(procedure, name, every) for name in every}
    here = [b for b in ("numba", "numpy") if b in registry().backends and not registry().backends[b].reason]
    if not here:
        raise UnavailableError("neither the numba nor the numpy backend is installed")
    return Setup(chosen, here[0], every)


def _checked(procedure: Procedure, name: str, protocol: Mapping[str, Any]) -> Any:
    """The number (or tuple of numbers) with this name, checked for the kind of the default and the range."""
    value, default = protocol[name], procedure.protocol[name]
    many = isinstance(default, tuple)
    one = default[0] if many else default
    interval = procedure.ranges.get(name, Integer(1) if isinstance(one, int) else Number(1))
    interval = interval(protocol) if callable(interval) else interval
    wanted = f"a tuple, each greater than the one before and {interval}" if many else str(interval)
    refusal = f"{procedure.name}: {name}={value!r}, want {wanted}"
    given = value if many else (value,)
    if not isinstance(given, (tuple, list)):
        raise TypeError(refusal)
    try:
        found = tuple(interval.check(v) for v in given)
    except (TypeError, ValueError) as error:
        raise type(error)(refusal) from None
    if not found or any(np.diff(found) <= 0):
        raise ValueError(refusal)
    return found if many else found[0]
