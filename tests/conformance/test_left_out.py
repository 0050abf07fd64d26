"""Capabilities and settings that a kernel leaves out by LACKS are skipped with the reason, and counted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest
from helpers.cases import offering

import orfit_bench as ob
from orfit_bench.conformance import Report, conform, export
from orfit_bench.conformance.result import FAILED, LACKS, PASSED, SKIPPED
from orfit_bench.errors import LackingError, UnavailableError
from orfit_bench.plugins.registry import registry

WHY = "the limit needs a basis, which is not written yet"


@contextmanager
def echo(lacks: dict[str, str], method: str = "rls") -> Iterator[None]:
    """The reference kernel of a method as the backend "echo", with these LACKS."""
    kernel = vars(registry().kernel("numpy", method)) | {"LACKS": lacks}
    ob.register(offering("echo", {method: SimpleNamespace(**kernel)}), "echo")
    try:
        yield
    finally:
        ob.unregister("echo")


def report(lacks: dict[str, str], *checks: str) -> Report:
    with echo(lacks):
        return conform("echo", dtypes=["float64"], only=checks)


def test_setting_that_is_lacking_is_refused_by_create_with_the_reason() -> None:
    interpolating = ob.create("rls", backend="numpy", forgetting_factor=0).partial_fit([[1.0]], [1.0])
    with echo({"forgetting_factor=0": WHY}):
        assert ob.create("rls", backend="echo", forgetting_factor=0.5).backend.name == "echo"
        with pytest.raises(LackingError, match=f"^rls on echo lacks forgetting_factor=0: {WHY}; choose another value"):
            ob.create("rls", backend="echo", forgetting_factor=0.0)
        with pytest.raises(UnavailableError, match="lacks forgetting_factor=0"):
            ob.restore(interpolating.state(), backend="echo")


def test_word_and_none_can_be_lacking() -> None:
    with echo({"summary=latest": "later", "memory=2": "later"}, "orfit"):
        for settings in ({"summary": "latest"}, {"memory": 2}):
            with pytest.raises(LackingError, match="lacks"):
                ob.create("orfit", backend="echo", **settings)
        assert ob.create("orfit", backend="echo", memory=3).backend.name == "echo"


def test_variant_and_law_that_need_a_setting_are_left_out_and_counted() -> None:
    found = report(
        {"forgetting_factor=0": WHY}, "any_chunking", "law_min_norm_interpolation", "law_constraint_merge_is_exact"
    )
    assert found.verdict == "conforms"
    (chunking,) = (r for r in found.results if r.check == "any_chunking")
    assert chunking.status == PASSED
    assert f"lacks forgetting_factor=0: {WHY}" in chunking.reason
    laws = [r for r in found.results if r.check != "any_chunking"]
    assert {(r.status, r.cause) for r in laws} == {(SKIPPED, LACKS)}
    line = f"forgetting_factor=0 of rls on echo: {WHY} (left out of {len(laws) + 1} checks)"
    assert line in list(found.unsupported())
    assert line in str(found)
    xml = ET.fromstring(export.as_junit(found, export.RunInfo.now("", 1.0, {})))
    assert line in {each.get("value") for each in xml.iter("property")}


def test_law_that_needs_a_capability_is_left_out() -> None:
    found = report({"blocks": "row by row only"}, "law_blocks_equal_least_squares", "one_row")
    assert found.verdict == "conforms"
    assert found.counts[SKIPPED] == 1
    assert not found.counts[FAILED]


def test_checks_and_variants_that_need_a_capability_are_left_out_and_counted() -> None:
    found = report({"models": "later"}, "any_chunking", "linear_model_agrees_with_rows")
    assert found.verdict == "conforms"
    chunking, linear = sorted(found.results, key=lambda r: r.check)
    assert chunking.status == PASSED
    assert "model mlp(12; tanh), 2 outputs and 5 more: lacks models: later" in chunking.reason
    assert (linear.status, linear.cause, linear.reason) == (SKIPPED, LACKS, "lacks models: later")
    assert "models of rls on echo: later (left out of 2 checks)" in found.unsupported()


def test_blocks_that_are_lacking_are_left_out_of_variants_and_checks() -> None:
    with echo({"blocks": "later"}, "sgd"):
        found = conform("echo", dtypes=["float64"], only=["batch_is_one_step", "settings_have_effect", "one_row"])
    assert found.verdict == "conforms"
    assert not found.counts[FAILED]


def test_batches_of_a_kernel_without_blocks_are_refused() -> None:
    with echo({"blocks": "later"}, "sgd"):
        assert ob.create("sgd", backend="echo", batch_size=1).settings["batch_size"] == 1
        with pytest.raises(LackingError, match="sgd on echo lacks blocks"):
            ob.create("sgd", backend="echo", batch_size=4)
        found = conform("echo", dtypes=["float64"], only=["sparse_rows_in_several_calls"])
    assert found.verdict == "conforms"
    assert not found.counts[FAILED]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("forgeting_factor=0", "rls has no setting 'forgeting_factor'. Did you mean 'forgetting_factor'?"),
        ("forgetting_factor=-1", "forgetting_factor=-1: want"),
        ("forgetting_factor=1", "which is the default: offer Absent"),
        ("modles", "want some of models"),
    ],
)
def test_lacks_that_names_nothing_is_refused(key: str, message: str) -> None:
    with echo({key: "why"}), pytest.raises(UnavailableError) as caught:
        ob.create("rls", backend="echo")
    assert message in str(caught.value)
