"""Cells of a suite with methods of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
from helpers import kinds

import orfit_bench as ob
from orfit_bench.bench import Cell, Suite
from orfit_bench.spec import Data, Stream

MINE = ("my_labels", "my_subspace", "my_filter", "my_layers")
BARE = Stream("bare", "rows alone", lambda: Data(np.arange(12.0).reshape(4, 3)), offers="rows")


class More(kinds.Kinds):
    """The methods of the tests, and a stream without y."""

    @ob.hookimpl
    def streams(self) -> Any:
        return [BARE]


def cells(*methods: Any, **more: Any) -> list[Cell]:
    return [c for c, _ in Suite(methods=methods, backends=["numpy"], **more).cells()]
