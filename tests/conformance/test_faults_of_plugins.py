"""Faults of plugins that depend on names, settings or seeds: crashing merges, lost modules, ignored seeds, costs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from faults.reference_learner import COST, PLAIN, PLAIN_KERNEL, STEP, WEIGHTS, KernelModule, plain
from helpers.cases import installed, provider
from helpers.methods import declare

import orfit_bench as ob
from orfit_bench.conformance import conform
from orfit_bench.conformance.plan import plan_pair, select_pairs
from orfit_bench.conformance.stream_defects import find_stream_defects
from orfit_bench.spec import Cost, Data, Field, Integer, Merge, Number, Setting, Stream

SHARE = Setting("share", Number(0, 1), 1.0, "share of each step")


def learn_by_share(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    """LMS with a share of the step."""
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        f = x @ s.w
        if out is not None:
            out[i] = f
        w = s.w + s.w.dtype.type(STEP * p.share) * np.outer(x, y - f)
        if not np.isfinite(w).all():
            return i
        s.w[...] = w
    return len(X)


def mean(a: Any, b: Any) -> dict[str, Any]:
    return {"w": (a.rows * a.fields["w"] + b.rows * b.fields["w"]) / (a.rows + b.rows)}


def crash(a: Any, b: Any, settings: Any) -> dict[str, Any]:
    return mean(a, b) if settings["share"] == 1 else {"w": np.zeros(3) + np.zeros(4)}


def fail_to_solve(a: Any, b: Any, settings: Any) -> dict[str, Any]:
    return mean(a, b) if settings["share"] == 1 else {"w": np.linalg.solve(np.zeros((2, 2)), np.zeros(2))}


def refuse(a: Any, b: Any, settings: Any) -> dict[str, Any]:
    if settings["share"] < 1: raise ValueError("too few digits are left")  # fmt: skip  # noqa: E701
    return mean(a, b)


@pytest.mark.parametrize(
    ("rule", "message"),
    [(crash, "could not be broadcast"), (fail_to_solve, "Singular matrix"), (refuse, "")],
)
def test_a_merge_that_crashes_for_some_settings_is_no_refusal(rule: Any, message: str) -> None:
    merge = {"merge": Merge("averaged", "", rule)}
    method = declare("shared", WEIGHTS, settings=(SHARE,), theory={"cost": COST}, combine=merge)
    with installed(method, KernelModule(learn=learn_by_share)):
        report = conform("shared", backends=["numpy"], dtypes=["float64"], only=["merges_as_declared"])
    failed = [result.reason for result in report.results if result.status == "failed"]
    assert bool(failed) == bool(message)
    assert message in "".join(failed)


def test_a_merge_whose_predictions_are_no_mean_is_found() -> None:
    method = declare(
        "scored",
        WEIGHTS,
        Field("average", ("parameter", "output"), "mean of the weights"),
        state={"prediction_weights": lambda s, settings: s.average},
        theory={"cost": COST},
        combine={"merge": Merge("averaged", "", lambda a, b, _: mean(a, b) | {"average": 9 * b.fields["average"]})},
    )

    def learn(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
        n = plain(s, X, Y, p, None)
        if out is not None:
            out[...] = X @ s.average
        s.average[...] = s.w
        return n

    with installed(method, KernelModule(learn=learn)):
        report = conform("scored", backends=["numpy"], dtypes=["float64"], only=["merges_in_other_ways"])
    assert [result.status for result in report.results] == ["failed"]
    assert "merged with its copy" in report.results[0].reason


def test_a_kernel_whose_module_does_not_exist_does_not_conform() -> None:
    with installed(PLAIN, PLAIN_KERNEL, more={("numba", "plain"): "no_module.of_this_name"}):
        report = conform("plain", dtypes=["float64"], only=["learns_first_rows"])
    assert not report.passed
    assert any("plain on numba: the kernel module 'no_module.of_this_name'" in problem for problem in report.problems)


def test_a_name_of_a_method_and_a_backend_selects_the_kernels_of_either() -> None:
    method = declare("numpy", WEIGHTS, theory={"cost": COST})
    ob.register(provider({("numpy", "numpy"): PLAIN_KERNEL}, methods=[method]), "ambiguous")
    try:
        chosen = select_pairs(["numpy"])
    finally:
        ob.unregister("ambiguous")
    assert ("numpy", "numpy") in chosen
    assert ("numpy", "rls") in chosen
    assert {backend for backend, _ in chosen} == {"numpy"}


def test_numbers_of_a_cost_that_grow_too_fast_are_found() -> None:
    cost = Cost(flops=COST.flops, floats=lambda s, z: z["parameter"] ** 3)
    with installed(declare("costly", WEIGHTS, theory={"cost": cost}), PLAIN_KERNEL):
        only = ["row_of_many_features_costs_as_declared"]
        report = conform("costly", backends=["numpy"], dtypes=["float64"], only=only)
    assert [result.status for result in report.results] == ["failed"]
    assert "Cost.floats declares 134217728 numbers: declare between" in report.results[0].reason


@pytest.mark.parametrize("used", ["not at all", "rows", "noise", "test set"])
def test_streams_use_their_seed(used: str) -> None:
    def make(seed: int, noise: float) -> Data:
        X, drawn = (np.random.default_rng(s).standard_normal((20, 2)) for s in (0, seed))
        y = X[:, 0] + (noise * drawn[:, 1] if used == "noise" else 0)
        return Data(drawn if used == "rows" else X, y, test=(drawn, y) if used == "test set" else None)

    settings = Setting("seed", Integer(0), 0, "seed"), Setting("noise", Number(0), 0.0, "size of the noise")
    found = [defect.partition(":")[0] for defect in find_stream_defects(Stream("s", "", make, settings=settings))]
    assert found == ["seed=1 gives the rows of seed=0"] * (used == "not at all")


def test_streams_may_refuse_other_seeds() -> None:
    X = np.random.default_rng(0).standard_normal((20, 2))
    stream = Stream("s", "", lambda seed: Data(X, X[:, 0]), settings=(Setting("seed", Integer(0, 0), 0, "seed"),))
    assert not list(find_stream_defects(stream))


def test_a_memory_that_is_drawn_need_not_keep_the_first_or_last_directions() -> None:
    method = replace(ob.methods()["orfit"], name="drawn", theory=replace(PLAIN.theory, laws=()))
    always = replace(method, kernel=replace(method.kernel, draws=lambda settings: 1))
    for one, planned in ((method, 1), (always, 0)):
        with installed(one, "orfit_bench_numpy.orfit"):
            only = ["first_or_last_of_tied_directions_are_kept"]
            found = [item.check for item in plan_pair("numpy", "drawn", ["float64"], only, 0, slow=False)]
        assert found == only * planned


def test_classifiers_with_averages_conform() -> None:
    combine = {"averages": ("w",)}
    method = declare("voting", WEIGHTS, kind="classification", theory={"cost": COST}, combine=combine)
    names = ["averages_as_declared", "averages_count_copies", "averaging_does_not_depend_on_the_order"]
    with installed(method, KernelModule(learn=plain)):
        report = conform("voting", backends=["numpy"], dtypes=["float64"], only=names)
    assert sorted((result.check, result.status) for result in report.results) == [(name, "passed") for name in names]


def test_create_names_a_kernel_whose_method_and_backend_are_interchanged() -> None:
    ob.register(provider({("plain", "numpy"): PLAIN_KERNEL}, methods=[PLAIN]), "interchanged")
    try:
        with pytest.raises(ob.UnavailableError, match=r"The kernel of \('plain', 'numpy'\) of .* no backend 'plain'"):
            ob.create("plain", backend="numpy")
    finally:
        ob.unregister("interchanged")
