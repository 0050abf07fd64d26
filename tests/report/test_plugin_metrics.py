"""Metrics of plugins are columns of tables and pages."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray

from orfit_bench.report import table


def test_metrics_of_plugins_become_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    suppliers = {
        ("metrics", "mae"): "mine 1.0",
        ("metrics", "none"): "mine 1.0",
        ("metrics", "speed"): "orfit-bench 0.1",
    }
    known = SimpleNamespace(metrics=("mae", "none", "speed"), suppliers=suppliers)
    monkeypatch.setattr(table, "registry", lambda: known)
    values = {"mae": [np.nan, 2.0], "none": [np.nan, np.nan], "speed": [1.0, 2.0]}
    results = xarray.Dataset({name: ("cell", value) for name, value in values.items()})
    assert table.plugin_metrics(results, [0, 1]) == {"mae": ("mae", ".4g")}
    assert table.plugin_metrics(results, [0]) == {}
