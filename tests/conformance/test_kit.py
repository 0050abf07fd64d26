"""The conformance kit on learners with one fault each and on correct ones, and its totals."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from faults.fault import FAULTS, MIXED, NAME, ON_NUMPY, Fault
from faults.reference_learner import BATCHES, PLAIN, PLAIN_KERNEL, KernelModule, plain
from helpers.cases import offering
from helpers.methods import change

import orfit_bench as ob
from orfit_bench.conformance import conform
from orfit_bench.conformance.check import CHECKS, Deviation, Violation, ensure_raises, worst
from orfit_bench.conformance.counting import Counted
from orfit_bench.conformance.failures import failures
from orfit_bench.conformance.plan import contexts, plan_checks
from orfit_bench.conformance.result import EXPECTED, FAILED, PASSED, SKIPPED, PlannedCheck
from orfit_bench.conformance.runner import run_check
from orfit_bench.conformance.tolerance import PerturbedKernel
from orfit_bench.conformance.verdict import declarations, make_report
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Absent, Number, Setting

# ---------------------------------------------------------------------- faults


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_caught_by_the_checks_named(name):
    found = FAULTS[name].report(only=sorted(FAULTS[name].caught))
    assert {r.check for r in found.results if r.status == FAILED} == FAULTS[name].caught, FAULTS[name].description


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_caught_by_the_checks_named_and_by_no_other(name):
    found = FAULTS[name].report()
    failed = {r.check for r in found.results if r.status == FAILED and not r.reason.startswith("not run")}
    if FAULTS[name].explains_others:
        failed = {result.check for result in failures(found.results)[0].results}
    assert failed == FAULTS[name].caught, FAULTS[name].description
    assert found.verdict == "fails"
    assert all(r.reason for r in found.results if r.status != PASSED)


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.message])
def test_report_names_the_mistake(name):
    found = FAULTS[name].report(only=sorted(FAULTS[name].caught))
    assert found.verdict in ("fails", "unproven")
    assert FAULTS[name].message in str(found)


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.noticed_by != fault.caught])
def test_what_the_first_check_hides_is_caught_by_another(name):
    assert [r.status for r in FAULTS[name].report(only=[MIXED]).results] == [FAILED]


def test_every_check_catches_a_fault():
    caught = {check for fault in FAULTS.values() for check in fault.noticed_by}
    tries_laws = {"wrong_numbers_are_noticed", "wrong_predictions_are_noticed"}  # test_proof.py
    assert {check.name for check in CHECKS} - tries_laws <= caught


def test_every_fault_is_caught_by_two_checks():
    """If this fails for a new fault, add a check with other rows and another argument that also detects it."""
    assert not [name for name, fault in FAULTS.items() if len(fault.noticed_by) == 1]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5, 9))
def test_the_reference_passes_with_other_seeds(seed):
    report = conform(backends=["numpy"], seed=seed)
    assert report.passed, [(r.check, r.method, r.dtype, r.reason) for r in report.results if r.status == FAILED]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("reference", [None, PLAIN_KERNEL])
@pytest.mark.parametrize("method", [PLAIN, BATCHES])
def test_base_of_the_faults_is_correct(method, reference, dtype):
    found = Fault("nothing", frozenset(), method, reference=reference, dtype=dtype).report()
    assert found.verdict == "unproven", [r.reason for r in found.results if r.status != PASSED] + found.problems


# ---------------------------------------------------------------------- the echo


def jittered(a: Any) -> Any:
    """The next number up or down, by the lowest bit of each, so that the result does not depend on the chunks."""
    plain = np.ascontiguousarray(a).view(np.ndarray)
    odd = plain.view(f"i{a.itemsize}") % 2
    largest = np.copysign(np.finfo(a.dtype).max, plain)
    return np.nextafter(plain, np.where(odd, largest, 0 * plain)).view(type(a))


def jittery(kernel: Any) -> Any:
    """A kernel for which every number is one rounding off, as after another order of the same sums."""
    return PerturbedKernel(kernel, jittered)


def passes_as_echo(*methods: str, changed: Any = lambda kernel: kernel, **more: Any) -> None:
    """Assert that the changed reference passes the kit under another name, without a device."""
    ob.register(offering("echo", {name: changed(registry().kernel("numpy", name)) for name in methods}), "echo")
    try:
        found = conform("echo", backends=["echo"], **more)
        assert found.passed, [(r.check, r.method, r.reason) for r in found.results if r.status != PASSED]
        assert {r.method for r in found.results} == set(methods)
    finally:
        ob.unregister("echo")


def test_the_reference_under_another_name_passes():
    passes_as_echo("lms", dtypes=["float64"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("methods", "dtype"),
    [(("nlms", "rls", "owm"), "float64"), (("nlms", "rls"), "float32")],
    ids=["float64", "float32"],
)
def test_another_order_of_sums_passes(methods, dtype):
    passes_as_echo(*methods, changed=jittery, dtypes=[dtype])


@pytest.mark.slow
@pytest.mark.parametrize("changed", [lambda kernel: kernel, jittery], ids=["as it is", "jittered"])
def test_all_of_the_reference_under_another_name_passes(changed):
    methods = (method for backend, method in registry().kernels if backend == "numpy")
    passes_as_echo(*methods, changed=changed, dtypes=["float64"])


# ---------------------------------------------------------------------- totals


def installed(**parts: Any) -> Any:
    return Fault("", frozenset(), **parts).installed()


def some_results(**more: Any) -> Any:
    plan = plan_checks([NAME], backends=[NAME], dtypes=["float64"])[:6]
    return plan, [run_check(item) for item in plan]


def test_a_report_of_nothing_fails():
    assert not make_report([], []).passed
    with installed(kernel=Absent("a thesis is to be written first")):
        found = conform(NAME, backends=[NAME])
        assert not found.passed
        assert "no checks ran" in found.problems[0]


def test_a_backend_that_cannot_compute_here_fails_with_its_reason():
    with installed(backend=replace(ON_NUMPY, probe=lambda: "no such device")):
        found = conform(NAME, backends=[NAME])
        assert {(r.status, r.reason) for r in found.results} == {(SKIPPED, "no such device")}
        assert found.problems == ["no checks ran: no such device"]
        both = conform(NAME, "greedy", backends=[NAME, "numpy"], dtypes=["float64"])
        assert both.problems == [f"every check {of} {NAME} was skipped: no such device" for of in ("of", "on")]


def test_a_check_that_did_not_run_fails_the_report():
    with installed():
        plan, results = some_results()
        assert make_report(plan, results).passed
        missing = make_report(plan, results[:-1])
        assert not missing.passed
        assert missing.problems == [
            f"{plan[-1].check} of {NAME} on {NAME} (float64) did not run: the run ended before it"
        ]
        skipped = make_report(plan, [*results[:-1], replace(results[-1], status=SKIPPED, reason="why not")])
        assert skipped.problems[0].endswith("did not run: why not")
        assert len(make_report(plan, results[:1] + results[-1:]).problems) == 4
        assert (
            "every check" in make_report(plan, []).problems[0] or "no checks ran" in make_report(plan, []).problems[0]
        )


def doubled(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    return 2 * plain(s, X, Y, p, out)


def test_an_expected_failure_is_none_and_one_that_passes_is_one():
    expects = {"rows_are_counted": "they are counted twice", "one_row": "why not"}
    with installed(kernel=KernelModule(learn=doubled, EXPECTED_FAILURES=expects)):
        found = conform(NAME, backends=[NAME], only=["rows_are_counted", "one_row"], dtypes=["float64"])
        by_check = {r.check: r for r in found.results}
        assert by_check["rows_are_counted"].status == EXPECTED
        assert by_check["rows_are_counted"].reason.startswith(
            "they are counted twice (with the default settings: rows seen"
        )
        assert by_check["one_row"].status == FAILED
        assert "it passed: remove it" in by_check["one_row"].reason
        assert not found.passed


def test_an_expected_failure_of_one_dtype_speaks_of_that_alone():
    with installed(kernel=KernelModule(learn=doubled, EXPECTED_FAILURES={"rows_are_counted float32": "why not"})):
        found = conform(NAME, backends=[NAME], only=["rows_are_counted"])
        assert {r.dtype: r.status for r in found.results} == {"float64": FAILED, "float32": EXPECTED}


@pytest.mark.parametrize("name", ["no_such_check", "one_row float16", "one_row float64 float32 more"])
def test_an_expected_failure_of_no_check_fails_the_report(name):
    with installed(kernel=KernelModule(learn=plain, EXPECTED_FAILURES={name: "why not"})):
        found = make_report(*some_results())
        (problem,) = found.problems
        assert problem.startswith(f"{NAME} on {NAME} expects {name!r} to fail, which is not a check")


def test_a_complete_backend_has_every_method_of_the_catalogue():
    with installed(backend=replace(ON_NUMPY, complete=True)):
        found = make_report(*some_results())
        lacking = {problem.split(":")[0] for problem in found.problems}
        assert lacking == {
            f"{NAME} declares itself complete, but lacks {name}" for name in ob.methods() if name != NAME
        }
    assert conform("greedy", backends=["numpy"], dtypes=["float64"]).passed


def test_exception_of_a_plugin_is_a_failure_with_its_line():
    def raises(*arguments: Any) -> int:
        raise SystemExit("enough")

    with installed(kernel=KernelModule(learn=raises)):
        found = conform(NAME, backends=[NAME], only=["one_row"], dtypes=["float64"])
        assert found.results[0].reason.startswith("with the default settings: raised SystemExit: enough (test_kit.py:")


def test_a_failure_names_the_settings_that_the_check_has_chosen():
    def learn(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
        if p.leakage == 1:
            raise IndexError("out of range")
        return plain(s, X, Y, p, out)

    leakage = Setting("leakage", Number(0, 1), 0.5, "how fast weights are forgotten")
    only = ["ends_of_ranges_are_learned", "settings_have_effect", "invalid_settings_are_refused"]
    with installed(method=change(PLAIN, settings=(leakage,)), kernel=KernelModule(learn=learn)):
        found = conform(NAME, backends=[NAME], only=only, dtypes=["float64"])
    reasons = {r.check: r.reason for r in found.results if r.status == FAILED}
    assert reasons["ends_of_ranges_are_learned"].startswith("with leakage=1: raised IndexError: out of range (test_kit")
    assert reasons["settings_have_effect"].startswith("nothing depends on leakage")


def test_a_kernel_that_checks_rows_and_returns_the_place_of_a_bad_one_gets_a_hint():
    def learn(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
        n = int(np.isfinite(X).all(axis=1).argmin()) if not np.isfinite(X).all() else len(X)
        return plain(s, X[:n], Y[:n], p, out)

    with installed(kernel=KernelModule(learn=learn, CHECKS_ROWS=True)):
        found = conform(NAME, backends=[NAME], only=["nonfinite_input_is_refused"], dtypes=["float64"])
    hint = "with CHECKS_ROWS, `learn` returns -1 where a row is not finite and changes nothing"
    assert found.results[0].status == FAILED
    assert hint in found.results[0].reason


def test_a_kernel_that_counts_a_row_too_few_gets_a_hint():
    def learn(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
        return max(plain(s, X, Y, p, out) - 1, 0)

    with installed(kernel=KernelModule(learn=learn)):
        found = conform(NAME, backends=[NAME], only=["any_chunking"], dtypes=["float64"])
    assert "a kernel refuses a row by returning fewer rows than it was given" in found.results[0].reason


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: int("text"), "a text: the message does not contain 'row': ValueError: invalid literal"),
        (lambda: [][0], "a text: want TypeError or ValueError, got IndexError: list index out of range (test_kit.py:"),
        (lambda: 1, "a text: want TypeError or ValueError, got no error"),
    ],
)
def test_a_call_that_does_not_raise_the_error_is_a_violation(act, message):
    with pytest.raises(Violation) as found:
        ensure_raises(act, (TypeError, ValueError), "a text", "row")
    assert str(found.value).startswith(message)


def test_a_warning_is_a_failure():
    def warns(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
        warnings.warn("hm", stacklevel=1)
        return plain(s, X, Y, p, out)

    with installed(kernel=KernelModule(learn=warns)):
        found = conform(NAME, backends=[NAME], only=["one_row"], dtypes=["float64"])
        assert "UserWarning: hm" in found.results[0].reason


def test_a_bound_row_that_warns_is_named_with_its_line():
    def bind_row(s: Any, p: Any) -> Any:
        return lambda x, y: min(0, x[-1] - x[-1])  # of two infinities

    kernel = KernelModule(learn=plain, bind_row=bind_row)
    with installed(kernel=kernel):
        found = conform(NAME, backends=[NAME], only=["single_rows_give_the_same_errors"], dtypes=["float64"])
    reason = found.results[0].reason
    assert "infinity: partial_fit warns, which counts as an error: RuntimeWarning: invalid value" in reason
    assert "(test_kit.py:" in reason


def test_unknown_names_are_refused_with_a_near_one():
    for wrong, description in ((("lsm",), "lms"), (("lms",), "one_row")):
        with pytest.raises(ValueError, match=description):
            conform(*wrong, only=["one_rwo"], backends=["numpy"])


def test_a_deviation_that_is_no_number_never_holds_and_a_wide_bound_hides_no_failure():
    assert not Deviation(math.inf, math.inf).holds
    assert not Deviation(math.nan, 1.0).holds
    assert Deviation(1e-16, 1e-15).holds
    failing, inconclusive = Deviation(1e-3, 1e-6), Deviation(1e6, 0.5, inconclusive="why")
    assert worst([inconclusive, failing]) == failing
    assert worst([failing, Deviation(math.nan, 1e-6)]).ratio == math.inf


def test_exact_states_may_not_differ_by_a_rounding():
    context = next(contexts("numpy", "lms", "float64", 0))
    chunk = context.rows()
    learner, other = context.train(chunk), context.train(chunk)
    assert context.compare(chunk, (learner, other), exact=True).value == 0
    w = other.live_state.arrays.w
    w[0] = np.nextafter(w[0], np.inf)
    assert context.compare(chunk, (learner, other)).holds
    with pytest.raises(Violation, match="not equal bit by bit: w differ"):
        context.compare(chunk, (learner, other), exact=True)


@pytest.mark.parametrize(
    "product",
    [
        lambda A: A @ A,
        lambda A: A.dot(A),
        lambda A: np.dot(A, A),
        lambda A: np.einsum("ij,jk->ik", A, A),
        lambda A: np.tensordot(A, A, 1),
        lambda A: np.linalg.multi_dot([A, A]),
    ],
    ids=["@", ".dot", "dot", "einsum", "tensordot", "multi_dot"],
)
def test_flops_of_a_product_do_not_depend_on_its_form(product):
    Counted.flops = 0.0
    assert isinstance(product(np.ones((8, 8)).view(Counted)), Counted)
    assert Counted.flops == 2 * 8**3


def test_a_run_without_the_reference_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A backend does not conform just because the reference, which could contradict it, is missing."""
    monkeypatch.delitem(registry().backends, "numpy")
    plan = [PlannedCheck("one_row", "lms", "numba", "float64", 0)]
    assert declarations(plan).problems == [
        "lms on numba was not compared with the reference backend numpy: it is not installed. "
        "Install or repair orfit-bench-numpy"
    ]
