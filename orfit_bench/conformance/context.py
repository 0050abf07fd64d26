"""The context of a check: a method on a backend in a dtype with one variant of its settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from orfit_bench.conformance.check import MAX_USEFUL_BOUND, Deviation, Violation
from orfit_bench.conformance.comparison import comparable_state, max_deviation
from orfit_bench.conformance.driver import Driver
from orfit_bench.conformance.result import LACKS
from orfit_bench.conformance.rows import Chunk
from orfit_bench.conformance.tolerance import LearnFunction, learn_rows, tolerance
from orfit_bench.errors import LackingError
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import LINEAR, REFERENCE
from orfit_bench.spec.capability import lacking_setting
from orfit_bench.spec.setting import check_settings


@dataclass(frozen=True)
class CheckContext(Driver):
    """The argument of a check: a driver of learners that knows their unsupported features and compares results."""

    # ------------------------------------------------------------------ capabilities and the reference

    def allows(self, capability: str) -> bool:
        """Whether the method allows a capability. Raises LackingError with the reason if only the kernel lacks it."""
        capabilities = registry().capabilities(self.backend.name, self.method.name)
        if reason := capabilities.get(capability):
            raise LackingError(f"{LACKS} {capability}: {reason}")
        return capability in capabilities

    @cached_property
    def lacking(self) -> str:
        """Why the kernel cannot learn with this variant: a missing capability, or refused settings; empty if it can."""
        settings = check_settings(self.method.name, self.method.settings, self.variant.settings)
        if reason := self.method.refuses(settings):
            return reason
        kernel = registry().kernel(self.backend.name, self.method.name)
        key, reason = lacking_setting(kernel, self.method, settings)
        if key:
            return f"{LACKS} {key}: {reason}"
        try:
            for capability in self._needed(settings):
                self.allows(capability)
        except LackingError as error:
            return str(error)
        return ""

    def _needed(self, settings: Mapping[str, Any]) -> Iterator[str]:
        """The capabilities that the variant needs."""
        if self.variant.model is not LINEAR and not self.method.state.layered:
            yield "models"
        if (settings.get("batch_size") or 1) > 1:
            yield "blocks"

    @cached_property
    def batch_size(self) -> int:
        """Number of rows of one step."""
        return int(self.create().settings.get("batch_size", 1))

    @property
    def is_reference(self) -> bool:
        """Whether the backend is the reference."""
        return self.backend.name == REFERENCE

    @property
    def is_exact(self) -> bool:
        """Whether states are equal bit by bit for any division into calls.

        This holds on the reference, which learns row by row, except for methods with a `solution`, which sum the rows
        of a call in one product, and for models of labels, which compute fewer outputs until all classes are known.
        """
        grows = self.method.traits.labels and self.variant.model is not LINEAR
        return self.is_reference and not (self.method.state.solution or grows)

    @cached_property
    def reference_missing(self) -> str:
        """The reason why there is no reference for comparison; empty if there is one."""
        if self.is_reference:
            return "it is the reference"
        if REFERENCE not in registry().backends:
            return f"the reference backend {REFERENCE} is not installed"
        return registry().absence(REFERENCE, self.method.name)

    @cached_property
    def reference(self) -> CheckContext:
        """The same context on the reference backend; this one if there is no reference."""
        return self if self.reference_missing else replace(self, backend=registry().backends[REFERENCE])

    def with_settings(self, **settings: Any) -> CheckContext:
        """The same context with some settings changed."""
        return replace(self, variant=replace(self.variant, settings={**self.variant.settings, **settings}))

    # ------------------------------------------------------------------ comparison

    def compare(
        self,
        chunk: Chunk,
        *pairs: tuple[Any, Any],
        of: str = "",
        exact: bool = False,
        learn: LearnFunction = learn_rows,
    ) -> Deviation:
        """Compare pairs of learners, or of arrays, that should agree after these rows.

        Parameters
        ----------
        chunk : Chunk
            The rows that were learned, for which the bound holds.
        *pairs : tuple
            (result, expected): learners, or arrays in host memory.
        of : str
            Description of the comparison. If it ends with a colon, the name of the array is appended.
        exact : bool
            Whether the states of learners must be equal bit by bit; arrays are compared up to the bound.
        learn : callable
            The function that learned the rows, if not `context.learn`; the condition number is measured with it.

        Returns
        -------
        Deviation
            The largest deviation and the bound.

        Raises
        ------
        Violation
            If `exact`, and two states differ.
        """
        value, name = 0.0, of
        if exact:
            for got, want in (pair for pair in pairs if hasattr(pair[0], "state")):
                self.ensure_identical(got, want, "not equal bit by bit")
        for got, want in pairs:
            found, what = max_deviation(comparable_state(got), comparable_state(want))
            if found > value or not found >= 0:
                value, name = found, of if of and not of.endswith(":") else f"{of} {what}".strip()
        bound = tolerance(self, chunk, value, learn)
        useless = bound > MAX_USEFUL_BOUND and isfinite(value)
        inconclusive = "the problem is too ill-conditioned" if useless else ""
        return Deviation(value, bound, name, inconclusive, settings=str(self.variant))

    def ensure_identical(self, got: Any, want: Any, message: str) -> None:
        """Raise Violation unless the states of two learners are equal bit by bit."""
        if got.to_bytes() == want.to_bytes():  # twenty times faster than the comparison by names
            return
        one, other = got.state(), want.state()
        if not one.identical(other):
            parts = [name for name in other if name not in one or not np.array_equal(one[name], other[name])]
            differ = "differs" if len(parts) == 1 else "differ"
            size = _size_of_difference(one, other, parts[0]) if parts else ""
            raise Violation(f"{message}: {', '.join(map(str, parts)) or 'its attributes'} {differ}{size}")


def _size_of_difference(one: Any, other: Any, name: Any) -> str:
    """The largest difference of two numeric arrays, as a string; empty if they cannot be subtracted."""
    if name not in one or name not in other or one[name].shape != other[name].shape or one[name].dtype.kind not in "fc":
        return ""
    return f", {name} by up to {np.abs(one[name].values - other[name].values).max(initial=0):.1e}"
