"""Every metric against the same number computed by hand in another way; and what does not apply."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import kinds

import orfit_bench as ob
from orfit_bench.bench import Cell, Protocol, learning, measuring, roofline, run_cell
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Backend, Data, Record, Stream

N, D = 40, 3
NUMBERS = {"n": N, "d": D, "outputs": 2, "noise": 0.3}
KINDS = {"rls": "regression", "my_filter": "regression", "my_labels": "classes", "my_subspace": "regression"}
"""A method of each kind, and the stream of its cell."""


def classes_data() -> Data:
    """Two classes in a row, then both; strings, and a test set."""
    rng = np.random.default_rng(1)
    y = np.array(["b"] * 10 + ["a"] * 10 + ["a", "b"] * 10)
    X = rng.standard_normal((N, D)) + np.where(y == "a", 0.3, -0.3)[:, None]
    return Data(X, y, (X[::-3], y[::-3]), tasks=(0, 10, 20, N))


def bare_data() -> Data:
    """Rows alone, of a falling spectrum, in three tasks."""
    X = np.random.default_rng(2).standard_normal((N, 5)) * [3.0, 2.0, 1.0, 0.5, 0.1]
    return Data(X, None, (X[::4] + 0.1, None), tasks=(0, 15, 30, N))


class Streams:
    SPEC_VERSION = (1, 0)

    @ob.hookimpl
    def streams(self) -> Any:
        return [
            Stream("classes", "", classes_data, offers="labels"),
            Stream("bare", "", bare_data, offers="rows"),
        ]


@pytest.fixture(autouse=True, scope="module")
def plugins() -> Iterator[None]:
    """Methods of all kinds, and streams for them."""
    offers = kinds.Kinds(), Streams()
    for plugin in offers:
        ob.register(plugin)
    yield
    for plugin in offers:
        ob.unregister(plugin)


def cell(method: str, stream: str = "regression", settings: Any = (), protocol: Protocol | None = None) -> Cell:
    sizes = {"regression": NUMBERS, "drift": {"n": N, "d": D, "outputs": 2}}.get(stream, {})
    return Cell(method, "numpy", stream, dict(settings), sizes, protocol=protocol or Protocol())


def measured(*arguments: Any, **more: Any) -> dict[str, Any]:
    record = run_cell(cell(*arguments, **more))
    assert record["status"] == "ok", record["reason"]
    assert record["notes"] == []
    metrics: dict[str, Any] = record["metrics"]
    return metrics


def made(method: str, **settings: Any) -> Any:
    return ob.create(method, **settings)


def recorded(**given: Any) -> Record:
    """A record that holds what a metric reads, and nothing else of use."""
    learner = SimpleNamespace(method=ob.methods()["lms"])
    empty = dict.fromkeys(
        ("data", "learner", "seconds", "rows_learned", "rows", "test_error", "task_error", "stream_error", "a_priori")
    )
    more = {"latency": np.zeros(0), "host_bytes": 0.0, "device_bytes": None}
    return Record(**{**empty, "learner": learner, **more, **given})


def metric(name: str, **given: Any) -> float | None:
    return registry().metrics[name].measure(recorded(**given))


# ---------------------------------------------------------------------- errors before and after


def ahead(method: str, data: Data, order: Any, **settings: Any) -> list[float]:
    """Squared a-priori errors, row by row, asked with predict."""
    learner = made(method, **settings).partial_fit(*data.cut(0, 0))
    errors = []
    for i in order:
        X, y = data.cut(i, i + 1)
        errors.append(float(np.sum((y - learner.predict(X)) ** 2)))
        learner.partial_fit(X, y)
    return errors


@pytest.mark.parametrize(
    ("method", "settings"), [("lms", {"step_size": 0.1}), ("rls", {}), ("orfit", {"batch_size": 3}), ("my_filter", {})]
)
@pytest.mark.parametrize("stream", ["regression", "drift"])
def test_a_priori_error_and_regret(method: str, settings: dict[str, Any], stream: str) -> None:
    found, data = measured(method, stream, settings), cell(method, stream).data()
    errors = ahead(method, data, range(N), **settings)
    best = np.linalg.solve(data.X.T @ data.X, data.X.T @ data.y)
    assert found["a_priori_error"] == pytest.approx(np.mean(errors), rel=1e-10)
    assert found["regret"] == pytest.approx(sum(errors) - np.sum((data.y - data.X @ best) ** 2), rel=1e-9)


def test_a_learner_that_knows_the_truth_has_the_regret_of_the_noise() -> None:
    """By hand: w = 2, errors 1, -1, 0; the best line through (1, 3), (1, 1), (1, 2) leaves the same 2."""
    data = Data(np.ones((3, 1)), np.array([3.0, 1.0, 2.0]))
    assert metric("regret", data=data, a_priori=np.array([1.0, 1.0, 0.0])) == pytest.approx(0, abs=1e-14)
    assert metric("a_priori_error", data=data, a_priori=np.array([1.0, 1.0, 0.0])) == pytest.approx(2 / 3)


def test_only_rows_that_are_new_count_as_a_priori() -> None:
    once, twice = (measured("lms", protocol=Protocol(passes)) for passes in (1, 2))
    assert once["a_priori_error"] == twice["a_priori_error"]
    assert once["regret"] == twice["regret"]
    assert twice["mean_squared_error"] < once["mean_squared_error"]


def test_several_learners_are_each_asked_about_their_own_rows() -> None:
    data, errors = cell("lms").data(), np.zeros(N)
    learners = [made("lms", step_size=0.1).partial_fit(*data.cut(0, 0)) for _ in range(2)]
    for i in range(N):
        X, y = data.cut(i, i + 1)
        errors[i] = np.sum((y - learners[i % 2].predict(X)) ** 2)
        learners[i % 2].partial_fit(X, y)
        if i % 10 == 9:
            ob.average(learners)
    found = measured("lms", settings={"step_size": 0.1}, protocol=Protocol(1, 2, 5))
    assert found["a_priori_error"] == pytest.approx(errors.mean(), rel=1e-12)


def test_rows_that_a_filter_did_not_see_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    data = cell("my_filter").data()
    y = data.y.copy()  # type: ignore[union-attr]
    y[[0, 7, 8, 30]] = np.nan
    holed = replace(data, y=y, tasks=())
    monkeypatch.setattr(Cell, "data", lambda self: holed)
    found = measured("my_filter")
    seen = ~np.isnan(y).any(axis=1)
    errors = np.array(ahead("my_filter", holed, range(N)))
    X, Y = data.X[seen], y[seen]
    best = np.linalg.solve(X.T @ X, X.T @ Y)
    final = made("my_filter").partial_fit(data.X, y).predict(X)
    assert measured("my_filter", settings={"process_noise": 0.0})["inverse_gram_error"] < 1e-12
    assert found["a_priori_error"] == pytest.approx(errors[seen].mean(), rel=1e-12)
    assert found["regret"] == pytest.approx(errors[seen].sum() - np.sum((Y - X @ best) ** 2), rel=1e-9)
    assert found["mean_squared_error"] == pytest.approx(np.sum((Y - final) ** 2) / seen.sum(), rel=1e-12)


@pytest.mark.parametrize("method", ["lms", "my_filter"])
def test_mean_squared_error(method: str) -> None:
    data = cell(method).data()
    error = made(method).partial_fit(data.X, data.y).predict(data.X) - data.y
    assert measured(method)["mean_squared_error"] == pytest.approx(np.linalg.norm(error) ** 2 / N, rel=1e-12)


def of_rows(kind: str, learner: Any, X: Any, y: Any) -> float:
    """The mean error, by another formula than the bench's."""
    if kind == "classification":
        scores = np.asarray(learner.decision_function(X))
        return sum(learner.classes_[np.argmax(s)] != t for s, t in zip(scores, y, strict=True)) / len(X)
    if kind == "subspace":
        C = learner.components_
        return float(np.trace(X @ (np.eye(len(C.T)) - C.T @ C) @ X.T) / len(X))
    return float(np.linalg.norm(learner.predict(X) - y) ** 2 / len(X))


@pytest.mark.parametrize(
    ("method", "stream"),
    [("lms", "drift"), ("my_filter", "drift"), ("my_labels", "classes"), ("my_subspace", "bare")],
)
def test_forgetting_is_the_growth_since_a_task_was_learned(method: str, stream: str) -> None:
    data, kind = cell(method, stream).data(), ob.methods()[method].kind
    learner, ends = made(method), data.tasks[1:]
    then, last = [], []
    for a, b in itertools.pairwise(data.tasks):
        rows = data.cut(a, b)
        then.append(of_rows(kind, learner.partial_fit(*rows), *rows))
    for a, b in itertools.pairwise(data.tasks):
        last.append(of_rows(kind, learner, *data.cut(a, b)))
    grown = [last[i] - then[i] for i in range(len(ends) - 1)]
    found = measured(method, stream)
    assert found["forgetting"] == pytest.approx(sum(grown) / len(grown), rel=1e-9, abs=1e-12)
    assert found["backward_transfer"] == -found["forgetting"]
    assert found["forgetting"] <= len(ends) / (len(ends) - 1) * np.mean(last) + 1e-12  # survey, after E_t


def test_forgetting_is_zero_where_nothing_was_forgotten_and_grows_where_it_was() -> None:
    E = np.array([[0.0, np.nan, np.nan], [1.0, 2.0, np.nan], [0.5, 5.0, 9.0]])
    assert metric("forgetting", task_error=E) == ((0.5 - 0) + (5 - 2)) / 2
    assert metric("backward_transfer", task_error=E) == -1.75
    assert registry().metrics["backward_transfer"].better == "higher"
    for few in (np.zeros((0, 0)), np.zeros((1, 1))):
        assert metric("forgetting", task_error=few) is None
        assert metric("backward_transfer", task_error=few) is None


# ---------------------------------------------------------------------- test errors, by kind


@pytest.mark.parametrize(
    ("method", "stream"),
    [("rls", "regression"), ("my_filter", "regression"), ("my_labels", "classes"), ("my_subspace", "bare")],
)
def test_test_error_is_that_of_the_kind(method: str, stream: str) -> None:
    data, kind = cell(method, stream).data(), ob.methods()[method].kind
    learner = made(method).partial_fit(data.X, data.y)
    want = of_rows(kind, learner, *data.test)  # type: ignore[misc]
    found = measured(method, stream)["test_error"]
    assert found == pytest.approx(want if kind in ("classification", "subspace") else np.sqrt(want), rel=1e-9)
    assert found > 0


@pytest.mark.parametrize("stream", ["bare", "regression", "classes"])
def test_compression_loss_and_its_excess(stream: str) -> None:
    """By traces and eigenvalues of the second moment, whatever else the stream offers."""
    X = cell("my_subspace", stream).data().X
    C = made("my_subspace").partial_fit(X).components_
    S = X.T @ X / len(X)
    loss, best = np.trace(S) - np.trace(C @ S @ C.T), np.sum(np.linalg.eigvalsh(S)[:-2])
    found = measured("my_subspace", stream)
    assert found["compression_loss"] == pytest.approx(loss, rel=1e-12)
    assert found["excess_loss"] == pytest.approx(100 * (loss / best - 1), rel=1e-9)
    assert found["excess_loss"] > 0


def test_excess_of_the_best_subspace_is_nothing() -> None:
    X = bare_data().X
    learner = SimpleNamespace(method=ob.methods()["oja"], settings={"n_components": 2})
    best = float(np.sum(np.linalg.svd(X, compute_uv=False)[2:] ** 2) / N)
    given = {"data": Data(X), "learner": learner, "stream_error": best}
    assert metric("excess_loss", **given) == pytest.approx(0, abs=1e-9)
    learner.settings["n_components"] = 5
    assert metric("excess_loss", **given) is None  # nothing is lost, so nothing to compare with


# ---------------------------------------------------------------------- closeness to the exact solution


@pytest.mark.parametrize("n", [2, N])
@pytest.mark.parametrize("ff", [0.9, 1.0, 1.1])
def test_deviation_of_p(ff: float, n: int) -> None:
    """P of rls, and one that is off by a known share, on the rows' span; with fewer rows than features too."""
    rng = np.random.default_rng(4)
    data = Data(rng.standard_normal((n, 3)), np.zeros(n))
    learner = made("rls", forgetting_factor=ff, ridge=0.5).partial_fit(data.X, data.y)
    given = {"data": data, "rows_learned": n}
    assert metric("inverse_gram_error", learner=learner, **given) < 1e-12  # type: ignore[operator]
    weights = ff ** np.arange(n - 1, -1, -1.0)
    exact = np.linalg.inv((data.X.T * weights) @ data.X + ff**n * 0.5 * np.eye(3))
    state = learner.state()
    np.testing.assert_allclose(state["P"], exact, rtol=1e-10, atol=1e-12)
    state["P"] *= 1 + 1e-3
    assert metric("inverse_gram_error", learner=ob.restore(state), **given) == pytest.approx(1e-3, rel=1e-6)


def test_p_off_the_span_of_the_rows_does_not_count() -> None:
    data = Data(np.array([[1.0, 0, 0], [0, 2.0, 0], [1.0, 1.0, 0]]), np.zeros(3))
    state = made("rls").partial_fit(data.X, data.y).state()
    state["P"][2, 2] = 7.0
    given = {"data": data, "rows_learned": 3}
    assert metric("inverse_gram_error", learner=ob.restore(state), **given) < 1e-12  # type: ignore[operator]
    state["P"][0, 0] *= 2
    assert metric("inverse_gram_error", learner=ob.restore(state), **given) > 0.1  # type: ignore[operator]


@pytest.mark.parametrize(
    ("method", "settings", "protocol", "applies"),
    [
        ("rls", {}, Protocol(), True),
        ("rls", {"forgetting_factor": 0.97}, Protocol(), True),
        ("rls", {"forgetting_factor": 0.0}, Protocol(), False),
        ("rls", {}, Protocol(2), False),
        ("lms", {}, Protocol(), False),
        ("my_filter", {"process_noise": 0.0}, Protocol(), True),
        ("my_filter", {}, Protocol(), False),
        ("kalman", {"initial_covariance": [[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 3.0]]}, Protocol(), True),
        ("kalman", {"observation_noise": 0.25}, Protocol(), True),
        ("kalman", {"initial_covariance": [1.0, 0.0, 1.0]}, Protocol(), False),
        ("kalman", {"observation_noise": 0.0}, Protocol(), False),
        ("kalman", {"transition": 0.9}, Protocol(), False),
    ],
)
def test_deviation_of_p_stands_where_the_method_declares_it(
    method: str, settings: dict[str, Any], protocol: Protocol, applies: bool
) -> None:
    found = measured(method, settings=settings, protocol=protocol)["inverse_gram_error"]
    assert (found < 1e-12) if applies else (found is None)


def test_deviation_of_p_of_a_classifier() -> None:
    assert measured("class_rls", "classes", {"forgetting_factor": 0.9})["inverse_gram_error"] < 1e-12


def test_a_p_that_would_overflow_has_no_deviation() -> None:
    rows = ob.methods()["rls"].theory.inverse_gram[1]  # type: ignore[index]
    settings = {"forgetting_factor": 2.0, "ridge": 1.0}
    assert rows(np.ones((900, 1)), settings) is not None
    assert rows(np.ones((2000, 1)), settings) is None


@pytest.mark.parametrize(
    ("method", "stream", "settings"),
    [("my_labels", "classes", {}), ("my_filter", "regression", {"process_noise": 0.0}), ("rls", "regression", {})],
)
def test_deviation_of_weights_of_every_kind(method: str, stream: str, settings: dict[str, Any]) -> None:
    assert measured(method, stream, settings)["deviation"] < 1e-12
    method_ = ob.methods()[method]
    data = cell(method, stream).data()
    learner = made(method, **settings).partial_fit(data.X, data.y)
    state = learner.state()
    state[method_.state.weights] *= 1.25
    off = metric("deviation", data=data, learner=ob.restore(state), rows_learned=N)
    assert off == pytest.approx(0.25, rel=1e-9)


# ---------------------------------------------------------------------- time


def test_speed_is_rows_over_seconds() -> None:
    assert metric("throughput", seconds=0.5, rows_learned=20) == 40
    assert metric("seconds_per_sample", seconds=0.5, rows_learned=20) == 0.025


def test_percentiles_of_the_latency() -> None:
    calls = np.random.default_rng(0).permutation(np.arange(101.0))
    assert metric("latency_p50", latency=calls) == 50
    assert metric("latency_p99", latency=calls) == 99
    assert metric("latency_p50") is None


class Clock:
    """Stands a millisecond later each time it is looked at, and counts the rows of each call in between."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1e-3
        return self.now


@pytest.mark.parametrize(("n", "calls"), [(3, 3), (40, 40), (1500, 1000)])
@pytest.mark.parametrize("batch_size", [1, 7])
def test_latency_is_of_calls_with_one_row(n: int, calls: int, batch_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    fed: list[int] = []

    def make() -> Any:
        learner = made("orfit", batch_size=batch_size)
        plain = learner.partial_fit

        def partial_fit(X: Any, y: Any) -> Any:
            fed.append(len(X))
            return plain(X, y)

        learner.partial_fit = partial_fit
        return learner

    monkeypatch.setattr(measuring, "perf_counter", Clock())
    data = ob.streams()["regression"].load(n=n, d=2)
    found = measuring.latency(make, data)
    np.testing.assert_allclose(found, np.full(calls, 1e-3), rtol=1e-6)
    warm = min(n, measuring.WARM_ROWS)
    assert fed == [0, *[1] * warm, 0, *[1] * calls]


# ---------------------------------------------------------------------- memory


class Greedy:
    """A backend on NumPy arrays whose kernel asks for a megabyte at its second call, and whose device counts."""

    SPEC_VERSION = (1, 0)

    def __init__(self, device: bool) -> None:
        self.used, self.device = [0], device

    @ob.hookimpl
    def backends(self) -> Any:
        memory = self.memory if self.device else None
        return [Backend("greedy_device", "", namespace=lambda: np, memory=memory)]

    @ob.hookimpl
    def kernels(self) -> Any:
        return {("greedy_device", "greedy"): SimpleNamespace(learn=self.learn)}

    def memory(self) -> int:
        most, self.used = max(self.used), self.used[-1:]
        return most

    def learn(self, s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
        waste = np.ones(125_000)
        s.last[...] = waste[0] * Y[-1]
        self.used += [5000, 7]
        if out is not None:
            out[...] = 0
        return len(X)


@pytest.mark.parametrize("device", [True, False])
def test_memory(device: bool) -> None:
    plugin = Greedy(device)
    ob.register(plugin)
    try:
        plugin.used = [10**9]  # what was in use before is not this learner's
        record = run_cell(Cell("greedy", "greedy_device", "regression", {}, {**NUMBERS, "n": 3000}))
    finally:
        ob.unregister(plugin)
    assert record["status"] == "ok", record
    assert 1e6 < record["metrics"]["host_memory"] < 1.05e6
    assert record["metrics"]["device_memory"] == (5000 if device else None)
    assert not tracemalloc.is_tracing()


def test_host_memory_is_the_state_and_what_passes() -> None:
    """P of rls and one array of its size while it is changed; the data and what stood before do not count."""
    data, protocol = ob.streams()["regression"].load(n=2000, d=150), Protocol()
    P = 150 * 150 * 8
    measuring.warm_up(lambda: made("rls"), data)
    first, _ = measuring.peak_memory(lambda: made("rls"), data, protocol)
    ballast = np.ones(1_000_000)
    again, device = measuring.peak_memory(lambda: made("rls"), data, protocol)
    assert 2 * P < first < 3 * P < data.X.nbytes < ballast.nbytes
    assert again == pytest.approx(first, abs=4000)
    assert device is None


def test_one_pass_is_enough_for_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    learned = []
    monkeypatch.setattr(measuring, "learn", lambda learners, data, protocol: learned.append((len(learners), protocol)))
    measuring.peak_memory(lambda: made("lms"), ob.streams()["regression"].load(n=20, d=2), Protocol(50, 2, 3))
    assert learned == [(2, Protocol(1, 2, 3))]


def test_tracing_that_somebody_else_began_goes_on() -> None:
    data = ob.streams()["regression"].load(n=20, d=2)
    tracemalloc.start()
    try:
        kept = np.ones(100_000)
        np.ones(1_000_000).sum()  # a peak of somebody else's
        peak, _ = measuring.peak_memory(lambda: made("lms"), data, Protocol())
        assert tracemalloc.is_tracing()
        assert 0 < peak < kept.nbytes
    finally:
        tracemalloc.stop()


def test_state_bytes() -> None:
    assert measured("rls")["state_bytes"] == 8 * (D * 2 + D * D + 1)


# ---------------------------------------------------------------------- what does not apply


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
def test_what_does_not_apply_is_none(
    method: str, stream: str, applies: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The share of a limit: tests/bench/test_roofline.py."""
    monkeypatch.setattr(roofline, "load", lambda: None)
    record = run_cell(
        Cell(method, "numpy", stream, stream_settings=NUMBERS if stream == "regression" else {}, protocol=Protocol())
    )
    assert record["status"] == "ok", record["reason"]
    assert {name for name, value in record["metrics"].items() if value is not None} == ALWAYS | applies
    assert set(record["metrics"]) == set(ob.metrics())


def test_every_metric_says_what_it_is() -> None:
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


def test_recording_and_plain_learning_end_in_the_same_state(same_state: Callable[..., None]) -> None:
    for method, stream in KINDS.items():
        one = cell(method, stream)
        data, protocol = one.data(), Protocol()
        seen, plain = (learning.initialize(one.create, data, protocol) for _ in range(2))
        learning.learn_and_record(seen, data, protocol)
        learning.learn(plain, data, protocol)
        same_state(seen[0], plain[0])


@pytest.mark.parametrize("n", [3, 500])
def test_the_first_learner_learns_a_block_so_that_none_is_compiled_while_time_is_taken(n: int) -> None:
    X = np.random.default_rng(0).standard_normal((n, 4))
    seen: list[ob.Learner] = []
    measuring.warm_up(lambda: seen.append(ob.create("rls")) or seen[0], Data(X, X[:, 0]))
    assert [learner.n_samples_seen_ for learner in seen] == [min(n, measuring.BLOCK_ROWS)]
    assert measuring.BLOCK_ROWS >= 64, "kernels that work in blocks begin to at 16 rows"
