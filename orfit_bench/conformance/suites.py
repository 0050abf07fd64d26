"""The checks as tests of pytest: `test_conforms = suite("myplugin")` is a third party's whole suite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from orfit_bench.conformance.kit import run
from orfit_bench.conformance.plan import Item
from orfit_bench.conformance.record import EXPECTED, PASSED, SKIPPED, Record, where
from orfit_bench.plugins.registry import HERE, registry


def suite(*names: str, backends: Sequence[str] = ()) -> Callable[..., None]:
    """A test function of every check of the methods, backends or plugins named; of all that is here, where none is.

    It is one test a check, which the package's pytest plugin makes of it when pytest collects. Without a name it takes
    those of the option --orfit.
    """
    import pytest

    @pytest.mark.orfit(*names, backends=tuple(backends))
    def conforms(orfit_item: Item, request: pytest.FixtureRequest) -> None:
        """The rule of one check is kept."""
        record = run(orfit_item)
        request.node.user_properties.extend(properties(record).items())
        if record.status == SKIPPED:
            pytest.skip(record.reason)
        if record.status == EXPECTED:
            pytest.xfail(record.reason)
        if record.status != PASSED:  # also where --runxfail lets xfail return
            pytest.fail(_said(record, request.node.nodeid), pytrace=False)

    return conforms


def properties(record: Record) -> dict[str, Any]:
    """The record as the properties of a test, which pytest's reports carry from process to process and into JUnit.

    Plain numbers, since nothing else passes from xdist's workers; what was not measured is left out.
    """
    numbers = {name: value for name in ("deviation", "bound") if (value := getattr(record, name)) is not None}
    plain = {name: value for name, value in asdict(record).items() if value is not None}
    return plain | {name: float(value) for name, value in numbers.items()} | {"repeat": record.repeat}


def recorded(said: dict[str, Any]) -> Record | None:
    """The record that a test's properties tell of; None where the test is not of this kit."""
    names = Record.__dataclass_fields__
    needed = names.keys() - {"deviation", "bound"} | {"repeat"}
    values: dict[str, Any] = {name: said.get(name) for name in names}
    return Record(**values) if needed <= said.keys() else None


def _said(record: Record, nodeid: str) -> str:
    """Why a check failed, and how to repeat it: by pytest where no other process knows the plugin."""
    pair = record.backend, record.method
    names = {"methods": record.method, "backends": record.backend, "kernels": pair}
    here = HERE in {registry().suppliers[hook, name] for hook, name in names.items()}
    again = f"pytest {nodeid!r} --orfit-seed {record.seed}" if here else record.repeat
    return f"{where(record)}: {record.reason}\nagain: {again}"
