"""Which methods a suite runs on which streams, and with which models."""

from __future__ import annotations

import json
from typing import Any

import pytest
from helpers.plans import MINE, cells

from orfit_bench.bench import Suite, run_cell
from orfit_bench.bench.suite import read
from orfit_bench.plugins.registry import registry


def planned(*methods: Any, **more: Any) -> set[tuple[str, str]]:
    return {(c.method, c.stream) for c in cells(*methods, **more)}


def test_default_streams_depend_on_the_kind() -> None:
    assert planned(*MINE) == {
        *((method, stream) for method in ("my_filter", "my_layers") for stream in ("rotated_digits", "drift")),
        ("my_labels", "class_digits"),
        ("my_subspace", "digits_pca"),
    }
    assert set(MINE) <= {method for method, _ in planned()}


@pytest.mark.parametrize(
    ("streams", "want"),
    [
        (["class_digits"], {("my_labels", "class_digits"), ("my_subspace", "class_digits")}),
        (["bare"], {("my_subspace", "bare")}),
        (["drift"], {("my_subspace", "drift"), ("my_filter", "drift"), ("my_layers", "drift")}),
    ],
)
def test_default_methods_are_those_that_can_learn_the_stream(streams: list[str], want: set[Any]) -> None:
    assert {pair for pair in planned(streams=streams) if pair[0] in MINE} == want
    assert [c["name"] for c in Suite(streams=streams).config()["methods"] if c["name"] in MINE] == [
        name for name in MINE if (name, streams[0]) in want
    ]


def test_named_methods_run_on_the_named_streams_that_they_can_learn() -> None:
    streams = ["bare", "drift", "class_digits"]
    assert planned("my_labels", "my_subspace", "my_layers", streams=streams) == {
        ("my_labels", "class_digits"),
        ("my_layers", "drift"),
        *(("my_subspace", stream) for stream in streams),
    }


@pytest.mark.parametrize(
    ("methods", "streams", "message"),
    [
        (
            ["lms"],
            ["class_digits"],
            r"method 'lms' \(regression\) cannot learn from class_digits; suitable streams: .*drift",
        ),
        (
            ["rls", "my_labels"],
            ["drift"],
            r"'my_labels' \(classification\) cannot learn .*streams: .*class_digits",
        ),
        (["my_filter"], ["bare", "class_digits"], "cannot learn from bare, class_digits"),
        (["lms"], ["drift", "class_digits"], "'class_digits' provides labels, which no method .*: .*my_labels"),
        (
            ["my_labels"],
            ["class_digits", "bare"],
            "stream 'bare' provides rows, which no method of the suite can learn",
        ),
    ],
)
def test_method_or_stream_without_a_match_is_refused(methods: list[str], streams: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Suite(methods=methods, streams=streams).cells()


def test_stream_that_no_installed_method_learns_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in registry().methods if name != "lms"]:
        monkeypatch.delitem(registry().methods, name)
    with pytest.raises(ValueError, match="which no method of the suite can learn; suitable methods: none installed"):
        Suite(streams=["class_digits"]).cells()


def test_default_model_of_a_layered_method_is_a_network() -> None:
    (plain,) = cells("my_layers", streams=["drift"])
    (wider,) = cells({"name": "my_layers", "model": {"hidden": [5]}}, streams=["drift"])
    assert plain.model == {"hidden": [32], "activation": "tanh", "bias": True}
    assert wider.model == {"hidden": [5], "activation": "tanh", "bias": True}
    assert plain.key != wider.key
    assert wider.create().model.name == "mlp(5; tanh)"
    assert json.loads(json.dumps(wider.model)) == wider.model


def test_default_model_of_other_methods_is_linear() -> None:
    one, other = cells("rls", {"name": "rls", "model": {"hidden": [3]}}, streams=["drift"], rows=[60])
    assert one.model == {}
    assert one.create().model.name == "linear"
    assert other.create().model.name == "mlp(3; tanh)"
    records = [run_cell(c) for c in (one, other)]
    assert [r["status"] for r in records] == ["ok", "ok"]
    assert records[0]["metrics"]["deviation"] < 1e-12
    assert records[1]["metrics"]["deviation"] is records[1]["metrics"]["inverse_gram_error"] is None
    assert records[1]["metrics"]["test_error"] != records[0]["metrics"]["test_error"]


@pytest.mark.parametrize(
    ("entry", "error", "message"),
    [
        (
            {"name": "greedy", "model": {"hidden": [3]}},
            ValueError,
            "greedy: model=.*: this method learns linear",
        ),
        (
            {"name": "my_subspace", "model": {}},
            ValueError,
            "my_subspace: model=.*: this method learns linear",
        ),
        ({"name": "rls", "model": "mlp"}, TypeError, "rls: model='mlp': want a table of hidden, activation, bias"),
        ({"name": "rls", "model": {"hiden": [3]}}, ValueError, "rls: a model has no 'hiden'. Did you mean 'hidden'"),
        ({"name": "rls", "model": {"activation": "tan"}}, ValueError, "no activation 'tan'. Did you mean 'tanh'"),
        ({"name": "rls", "model": {"hidden": 3}}, TypeError, "hidden=3, want the widths of the hidden layers"),
        ({"name": "rls", "modl": {}}, ValueError, "an entry of methods has no 'modl'. Did you mean 'model'"),
    ],
)
def test_invalid_model_is_refused(entry: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        cells(entry)


def test_model_in_a_toml_file(tmp_path: Any) -> None:
    path = tmp_path / "mine.toml"
    one = 'methods = [{name = "rls", model = {hidden = [4], activation = "relu"}}]\n'
    path.write_text(one + 'streams = ["drift"]\nbackends = ["numpy"]\n')
    ((one, _),) = read(path).cells()
    assert one.model == {"hidden": [4], "activation": "relu", "bias": True}
    path.write_text('methods = [{name = "rls", model = {width = 4}}]\n')
    with pytest.raises(ValueError, match=r"mine\.toml: rls: a model has no 'width'"):
        read(path)
