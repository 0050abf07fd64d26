"""What holds for every metric."""

from __future__ import annotations

import pytest
from helpers.records import NUMBERS

import orfit_bench as ob
from orfit_bench.bench import Cell, Protocol, roofline, run_cell

ALWAYS = {"throughput", "seconds_per_sample", "latency_p50", "latency_p99", "host_memory", "state_bytes"}
NUMERIC = {"test_error", "mean_squared_error", "a_priori_error", "regret"}


@pytest.mark.parametrize(
    ("method", "stream", "applies"),
    [
        ("lms", "regression", {*NUMERIC, "deviation"}),
        ("rls", "regression", {*NUMERIC, "deviation", "inverse_gram_error"}),
        ("greedy", "drift", {*NUMERIC, "forgetting", "backward_transfer"}),
        ("my_filter", "regression", NUMERIC),
        ("my_filter", "state_space", {*NUMERIC, "forgetting", "backward_transfer"} - {"test_error"}),
        ("my_labels", "classes", {"test_error", "forgetting", "backward_transfer", "deviation"}),
        ("my_subspace", "regression", {"test_error", "compression_loss", "excess_loss"}),
        (
            "my_subspace",
            "bare",
            {"test_error", "compression_loss", "excess_loss", "forgetting", "backward_transfer"},
        ),
    ],
)
def test_metrics_that_do_not_apply_are_none(
    method: str, stream: str, applies: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The share of a limit is tested in tests/bench/test_roofline.py."""
    monkeypatch.setattr(roofline, "load", lambda: None)
    record = run_cell(
        Cell(method, "numpy", stream, stream_settings=NUMBERS if stream == "regression" else {}, protocol=Protocol())
    )
    assert record["status"] == "ok", record["reason"]
    assert {name for name, value in record["metrics"].items() if value is not None} == ALWAYS | applies
    assert set(record["metrics"]) == set(ob.metrics())


def test_every_metric_is_described() -> None:
    for declared in ob.metrics().values():
        assert declared.better in ("lower", "higher")
        assert declared.unit
        assert declared.formula
        assert declared.source
        assert len(declared.summary) <= 48, "a line of `orfit-bench list` at 80 columns holds half of that"
    assert {m.name for m in ob.metrics().values() if m.better == "higher"} == {
        "throughput",
        "share_of_limit",
        "backward_transfer",
    }
