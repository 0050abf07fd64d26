"""The bench with every kind of method: what it plans, learns, names and shows, and the models it hands to them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import xarray as xr
from helpers import kinds
from rich.console import Console

import orfit_bench as ob
from orfit_bench.bench import Cell, Protocol, Suite, learning, load, run, run_cell
from orfit_bench.bench.suite import read
from orfit_bench.plugins.registry import registry
from orfit_bench.report.table import legend, results_tables
from orfit_bench.spec import Data, Stream

MINE = ("my_labels", "my_subspace", "my_filter", "my_layers")
BARE = Stream("bare", "rows alone", lambda: Data(np.arange(12.0).reshape(4, 3)), offers="rows")


class More(kinds.Kinds):
    """The methods of the tests, and a stream without y."""

    @ob.hookimpl
    def streams(self) -> Any:
        return [BARE]


@pytest.fixture(autouse=True, scope="module")
def plugin() -> Iterator[None]:
    """The methods of the tests."""
    ob.register(More())
    yield
    ob.unregister("More")


def cells(*methods: Any, **more: Any) -> list[Cell]:
    return [c for c, _ in Suite(methods=methods, backends=["numpy"], **more).cells()]


def planned(*methods: Any, **more: Any) -> set[tuple[str, str]]:
    return {(c.method, c.stream) for c in cells(*methods, **more)}


# ---------------------------------------------------------------------- what is planned


def test_without_streams_each_kind_has_its_own() -> None:
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
def test_without_methods_all_that_suit_a_stream_learn_it(streams: list[str], want: set[Any]) -> None:
    assert {pair for pair in planned(streams=streams) if pair[0] in MINE} == want
    assert [c["name"] for c in Suite(streams=streams).config()["methods"] if c["name"] in MINE] == [
        name for name in MINE if (name, streams[0]) in want
    ]


def test_named_methods_meet_the_named_streams_that_suit_them() -> None:
    streams = ["bare", "drift", "class_digits"]
    assert planned("my_labels", "my_subspace", "my_layers", streams=streams) == {
        ("my_labels", "class_digits"),
        ("my_layers", "drift"),
        *(("my_subspace", stream) for stream in streams),
    }


@pytest.mark.parametrize(
    ("methods", "streams", "said"),
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
def test_what_fits_nothing_named_is_a_mistake(methods: list[str], streams: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Suite(methods=methods, streams=streams).cells()


def test_a_stream_that_nobody_here_learns_is_a_mistake_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in registry().methods if name != "lms"]:
        monkeypatch.delitem(registry().methods, name)
    with pytest.raises(ValueError, match="which no method of the suite can learn; suitable methods: none installed"):
        Suite(streams=["class_digits"]).cells()


# ---------------------------------------------------------------------- what is learned


@pytest.mark.parametrize(
    ("method", "stream"),
    [("my_labels", "class_digits"), ("my_subspace", "drift"), ("my_filter", "drift"), ("my_layers", "drift")],
)
def test_each_kind_learns_and_is_looked_at(method: str, stream: str) -> None:
    (one,) = cells(method, streams=[stream], rows=[60])
    record = run_cell(one)
    assert record["status"] == "ok", record["reason"]
    assert record["notes"] == []
    errors, tasks = np.array(record["test_error"]), np.array(record["task_error"])
    assert len(errors) == 25
    assert np.isfinite(errors).all()
    assert errors[-1] == record["metrics"]["test_error"]
    assert np.isfinite(tasks[np.tril_indices(len(tasks))]).all()
    json.dumps(record)


def test_a_learner_of_labels_is_looked_at_from_its_first_row_on() -> None:
    """Classes come one after another: of the tenth nothing is right before its first row."""
    record = run_cell(Cell("my_labels", "numpy", "class_digits", stream_settings={"n": 30}))
    data = ob.streams()["class_digits"].load(n=30)
    learner, k = ob.create("my_labels").partial_fit(*data.cut(0, 6)), record["rows_learned"].index(6)
    wrong = sum(found != label for found, label in zip(learner.predict(data.test[0]), data.test[1], strict=True))  # type: ignore[index]
    assert record["test_error"][k] == pytest.approx(wrong / len(data.test[1]), rel=1e-12)  # type: ignore[arg-type, index]
    assert record["test_error"][0] > 0.8


@pytest.mark.parametrize("round_", [1, 4, 7, None])
def test_subspaces_are_averaged_as_by_hand(round_: int | None) -> None:
    data, protocol = ob.streams()["digits"].load(n=50), Protocol(learners=3, round=round_)
    learners = learning.initialize(lambda: ob.create("my_subspace"), data, protocol)
    learning.learn_and_record(learners, data, protocol)
    hand = [ob.create("my_subspace") for _ in range(3)]
    block = 3 * (round_ or len(data.X))
    for begin in range(0, 50, block):
        for j, learner in enumerate(hand):
            learner.partial_fit(data.X[begin : begin + block][j::3])
        ob.average(hand)
    for got, want in zip(learners, hand, strict=True):
        xr.testing.assert_identical(got.state(), want.state())
    C = learners[0].state()["basis"].values
    np.testing.assert_allclose(C.T @ C, np.eye(2), atol=1e-12)


def test_rounds_of_what_has_no_average_are_absent() -> None:
    done = run(Suite(["my_subspace", "my_labels"], ["numpy"], protocol=Protocol(learners=2, round=9)), isolate=False)
    said = dict(zip(done["method"].values, done["reason"].values, strict=True))
    assert said == {"my_subspace": "", "my_labels": "my_labels: an average of its states is not defined"}


def test_rows_alone_are_learned() -> None:
    record = run_cell(Cell("my_subspace", "numpy", "bare"))
    assert record["status"] == "ok", record["reason"]
    assert np.isnan(record["test_error"]).all()
    assert record["metrics"]["test_error"] is None
    assert record["metrics"]["compression_loss"] > 0


@pytest.mark.parametrize(
    "order", [lambda data: ob.sampling.uniform(data, 9), lambda data: ob.sampling.reshuffled(data, 3)]
)
def test_rows_alone_are_visited_in_other_orders_too(order: Any) -> None:
    data = BARE.load()
    visited = order(data)
    assert visited.y is None
    X = np.concatenate([X for X, y in visited.chunks(2) if y is None])
    assert len(X) == len(visited.X)
    assert {tuple(row) for row in X} <= {tuple(row) for row in data.X}


# ---------------------------------------------------------------------- models


def test_a_layered_method_has_a_network_where_the_suite_says_nothing() -> None:
    (plain,) = cells("my_layers", streams=["drift"])
    (wider,) = cells({"name": "my_layers", "model": {"hidden": [5]}}, streams=["drift"])
    assert plain.model == {"hidden": [32], "activation": "tanh", "bias": True}
    assert wider.model == {"hidden": [5], "activation": "tanh", "bias": True}
    assert plain.key != wider.key
    assert wider.create().model.name == "mlp(5; tanh)"
    assert json.loads(json.dumps(wider.model)) == wider.model


def test_other_methods_fit_the_linear_model_unless_told_otherwise() -> None:
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
    ("entry", "error", "said"),
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
def test_a_model_that_cannot_be_is_a_mistake(entry: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        cells(entry)


def test_a_model_in_toml(tmp_path: Any) -> None:
    path = tmp_path / "mine.toml"
    one = 'methods = [{name = "rls", model = {hidden = [4], activation = "relu"}}]\n'
    path.write_text(one + 'streams = ["drift"]\nbackends = ["numpy"]\n')
    ((one, _),) = read(path).cells()
    assert one.model == {"hidden": [4], "activation": "relu", "bias": True}
    path.write_text('methods = [{name = "rls", model = {width = 4}}]\n')
    with pytest.raises(ValueError, match=r"mine\.toml: rls: a model has no 'width'"):
        read(path)


# ---------------------------------------------------------------------- what is shown


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, plugin: None) -> xr.Dataset:
    """Every kind in one file, a network and a stream without a test set among them."""
    path = tmp_path_factory.mktemp("kinds") / "r.nc"
    methods = [*MINE, "rls", {"name": "rls", "model": {"hidden": [3]}}]
    suite = Suite(methods, ["numpy"], ["drift", "state_space", "class_digits"], rows=[60])
    made = run(suite, path, isolate=False)
    xr.testing.assert_identical(load(path), made)
    return made


def shown(item: Any) -> list[str]:
    console = Console(width=200)
    with console.capture() as captured:
        console.print(item)
    return [line.rstrip() for line in captured.get().splitlines()]


def test_the_file_says_what_each_error_is(results: xr.Dataset) -> None:
    kinds_of = dict(zip(results["method"].values, results["kind"].values, strict=True))
    assert kinds_of == {n: ob.methods()[n].kind for n in (*MINE, "rls")}
    errors = dict(zip(results["kind"].values, results["error"].values, strict=True))
    assert errors == {
        "regression": "root mean squared error",
        "filter": "root mean squared error",
        "classification": "share of wrong labels",
        "subspace": "mean compression loss",
    }
    of_rls = results.isel(cell=results["method"].values == "rls")
    assert set(of_rls["model"].values) == {"linear", "mlp(3; tanh)"}
    assert results["task_error"].attrs["units"] == "by kind"


def test_errors_of_different_kinds_stand_in_tables_of_their_own(results: xr.Dataset) -> None:
    tables = {text[0].rpartition(": ")[2]: text for text in map(shown, results_tables(results))}
    heads = {name: " ".join(text[2].split()) for name, text in tables.items()}
    speed = "method backend stream samples/s roofline state"
    assert heads == {
        "root mean squared error": f"{speed} test RMSE a-priori MSE forgetting deviation",
        "share of wrong labels": f"{speed} error rate forgetting deviation",
        "mean compression loss": f"{speed} test loss % over PCA forgetting",
    }
    rows = {name: [line.split()[0] for line in text[4:] if line] for name, text in tables.items()}
    assert rows["share of wrong labels"] == ["my_labels"]
    assert rows["mean compression loss"] == ["my_subspace"] * 3
    assert sorted(set(rows["root mean squared error"])) == ["my_filter", "my_layers", "rls"]
    (line,) = [line for line in tables["share of wrong labels"] if "my_labels" in line]
    wrong = float(results["test_error"].values[results["kind"].values == "classification"][0])
    assert f"{100 * wrong:.2f}%" in line.split()


def test_without_a_test_set_the_a_priori_error_ranks(results: xr.Dataset) -> None:
    state_space = results.isel(cell=results["stream"].values == "state_space")
    (table, *_) = results_tables(state_space)
    lines = [line for line in shown(table) if "state_space" in line]
    assert all(line.split()[-4] == "n/a" for line in lines)
    errors = [float(line.split()[-3]) for line in lines]
    assert errors == sorted(errors)
    assert lines[0].startswith(" my_filter"), "which knows that the state moves"
    (table, *_) = results_tables(results.isel(cell=results["stream"].values == "drift"))
    assert "a-priori" not in "".join(shown(table))


def test_models_are_named(results: xr.Dataset) -> None:
    (table, *_) = results_tables(results)
    text = "\n".join(shown(table))
    assert "rls (mlp(3; tanh))" in text
    assert "rls (linear)" in text
    assert "my_layers (" not in text, "all its cells fit the same"
    lines = legend(results)
    assert lines[0] == "my_layers: mlp(32; tanh)"
    assert "rls: mlp(3; tanh)" in lines
    assert any(line.startswith("% over PCA: ") for line in lines)
    assert lines[-1].startswith("n/a: not applicable")
