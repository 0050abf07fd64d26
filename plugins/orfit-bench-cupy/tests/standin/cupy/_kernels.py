"""The plugin's own kernels: one expression for every entry, valid in both C++ and Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._array import ndarray, plain
from ._counts import COUNTS
from ._rounding import flushed


class ElementwiseKernel:
    """One launch that computes `out = expression` entry by entry; the expression can read `out`."""

    def __init__(self, in_params: str, out_params: str, operation: str, name: str = "kernel") -> None:
        self.in_params, self.out_params, self.operation, self.name = in_params, out_params, operation, name
        self._names = [part.split()[-1] for part in f"{in_params}, {out_params}".split(",")]
        self._out, expression = (part.strip() for part in operation.split("=", 1))
        self._code = compile(expression, name, "eval")

    def __call__(self, *arguments: Any) -> ndarray:
        if len(arguments) != len(self._names):
            raise TypeError(f"kernel {self.name} takes {self._names}, got {len(arguments)} arguments")
        COUNTS.launches += 1
        out = arguments[self._names.index(self._out)]
        values = {name: flushed(plain(a)) for name, a in zip(self._names, arguments, strict=True)}
        with np.errstate(all="ignore"):
            out._a[...] = flushed(np.asarray(eval(self._code, {}, values), out.dtype))
        return out
