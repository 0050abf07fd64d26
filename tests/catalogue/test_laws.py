"""Laws: the theorems hold, every statement of the sources is a law, and every law can fail."""

import re

import numpy as np
import pytest
from helpers.cases import EVERY, offering, stated

import orfit_bench as ob
from orfit_bench.catalogue.methods import METHODS
from orfit_bench.conformance import laws
from orfit_bench.conformance.data_sets import data_sets_of
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import bound

STATEMENTS = {
    "thesis": "Lemma 1, Proposition 2, Theorem 3, Corollary 4, Proposition 5, Theorem 6, Lemma 7, Proposition 8, "
    "Theorem 9",
    "survey": "Theorem 1, Theorem 2, Theorem 3, Theorem 4, Theorem 5, Theorem 6, Theorem 7, Proposition 1, "
    "Proposition 2, Proposition 3, Lemma 1, Lemma 2, Lemma 3",
}
"""All numbered statements of the sources; the other sources number only equations."""


@pytest.mark.parametrize("case", [c for c in laws.cases() if not c.methods], ids=lambda case: case.law.name)
def test_theorems_of_no_learner_hold(case):
    """The laws of methods are checks of the conformance kit, and not tested here."""
    for name in data_sets_of(case.law):
        found = laws.measure_law(case, name)
        assert not found.inconclusive
        assert found.holds, found
        assert found.value < 1e-9


def test_every_statement_of_the_sources_is_a_law():
    cited = {pair for case in laws.cases() for pair in citations(case.law.source)}
    wanted = {(source, statement) for source, text in STATEMENTS.items() for statement in text.split(", ")}
    assert wanted - cited == set()
    assert {c for c in cited if c[0] in STATEMENTS} <= wanted, "a law cites what no source has"


def citations(source):
    """(document, statement) pairs in, for example, "thesis, Proposition 2 and Theorem 3; survey, Theorems 4 and 5"."""
    for part in source.split(";"):
        document = part.split(",")[0].strip()
        for kind, numbers in re.findall(r"(Theorem|Lemma|Proposition|Corollary)s? (\d+(?: and \d+)?)", part):
            for number in numbers.split(" and "):
                yield document, f"{kind} {number}"


def test_every_method_has_laws_and_all_but_greedy_a_batch_solution():
    for method in registry().methods.values():
        assert method.theory.laws, f"{method.name} has no law"
        unknown = method.state.layered or method.kind == "subspace"  # whose C is not determined by a batch problem
        assert method.theory.batch or method.name == "greedy" or unknown


@pytest.mark.parametrize(("name", "settings"), EVERY, ids=stated)
def test_batch_solutions_agree_with_the_learners(name, settings):
    """The exact solution of the deviation metric, with several outputs and a repeated row, also if the step changes."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((9, 6)) / 3
    X[4] = X[1]
    Y = rng.standard_normal((9, 2))
    learner = ob.create(name, **settings).partial_fit(X, Y)
    if learner.method.theory.batch is None:
        pytest.skip(f"{name} declares no batch solution")
    want = learner.method.theory.batch(X, Y, np.zeros((6, 2)), learner.settings)
    if want is None:
        pytest.skip(f"{name} has no batch solution for these rows")
    np.testing.assert_allclose(learner.array("w"), want, rtol=1e-9, atol=1e-12)


def test_bound_increases_with_rows_and_condition():
    assert bound("float64", 100, 10.0, 1) == pytest.approx(100 * bound("float64", 1, 1.0, 1))
    assert bound("float32", 4, 5.0, 2) > 1e8 * bound("float64", 4, 5.0, 2)


@pytest.mark.slow
@pytest.mark.parametrize("write", [np.nan, 0.0, 1e150], ids=["nan", "nothing", "huge"])
@pytest.mark.parametrize("method", [m for m in METHODS if m.name != "greedy"], ids=lambda m: m.name)
def test_every_law_fails_a_kernel_that_writes_rubbish(method, write):
    """A law must not hide NaN in max(), nor compare a learner only with itself."""

    def spoil(s):
        for name in set(s._fields) - {"count"}:
            getattr(s, name)[...] = write
        return True

    class Rubbish:
        COMPLEX = True

        @staticmethod
        def learn(s, X, Y, p, out):
            if out is not None:
                out[...] = write
            return len(X) * spoil(s)

        step = staticmethod(lambda s, A, Y, p: spoil(s))
        update = staticmethod(lambda s, J, E, p: spoil(s))
        store = staticmethod(lambda s, J, p: None)
        ahead = staticmethod(lambda s, p: s.w)
        predict_step = staticmethod(lambda s, mean, p: spoil(s))
        rts_smooth = staticmethod(lambda *moments: None)
        solve = staticmethod(lambda s: (np.full_like(s.moment, write), 1.0))

    ob.register(offering("rubbish", {method.name: Rubbish}), "rubbish")
    try:
        for law in method.theory.laws:
            with np.errstate(all="ignore"):
                found = [_ratio(method, law, kind) for kind in ("gaussian", "condition 1e6")]
            bounded = write == 0.0 and law.source in BOUNDS  # learning nothing keeps an upper bound of an error
            assert bounded or max(found) > 1, law.name
    finally:
        ob.unregister("rubbish")


BOUNDS = {"survey, Theorem 2"}


class Perturbed:
    """The reference kernel of a method, with an entry of every field a millionth off after each step."""

    def __init__(self, method):
        self.real = registry().kernel("numpy", method)

    def __getattr__(self, name):
        if name == "slopes":
            raise AttributeError(name)  # so that networks are learned by update
        if name not in ("learn", "update", "step"):
            return getattr(self.real, name)
        act = getattr(self.real, name)

        def perturbed(s, X, Y, p, *out):
            B = p.batch_size if name == "learn" else len(X)
            for i in range(0, len(X), B):
                here = [None if o is None else o[i : i + B] for o in out]
                if not act(s, X[i : i + B], Y[i : i + B], p.at(i // B) if name == "learn" else p, *here):
                    return i
                for field in set(s._fields) - {"count", "precision_lost", "moved", "average_weight"}:
                    a = getattr(s, field)
                    if a.size:
                        a.flat[0] += 1e-6 * abs(a).max()
            return len(X)

        return perturbed


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_every_law_sees_a_kernel_that_is_a_millionth_off(method):
    ob.register(offering("nudged", {method.name: Perturbed(method.name)}), "nudged")
    try:
        for law in method.theory.laws:
            if law.name not in INEQUALITIES:
                seen = [_ratio(method, law, kind, "nudged") for kind in data_sets_of(law)[:3]]
                assert max(seen) > 1, law.name
    finally:
        ob.unregister("nudged")


@pytest.mark.parametrize("edge", [e for e in laws.edges() if not e.batch], ids=lambda e: f"{e.one}-{e.other}")
@pytest.mark.parametrize("side", ["one", "other"])
def test_every_equality_sees_a_side_that_is_a_millionth_off(edge, side):
    case, off = laws.edges()[edge], getattr(edge, side)
    if reason := case.absence("numpy"):
        pytest.skip(reason)
    kernels = {name: registry().kernel("numpy", name) for name in case.methods} | {off: Perturbed(off)}
    ob.register(offering("nudged", kernels), "nudged")
    try:
        seen = [laws.measure_law(case, kind, "nudged").ratio for kind in data_sets_of(case.law)[:3]]
    finally:
        ob.unregister("nudged")
    assert max(seen) > 1


INEQUALITIES = {
    *("expected_convergence_rate", "recurring_tasks_convergence_rate", "convergence_rate", "never_increases_the_loss"),
    *("random_memory_is_uniform", "imprecise_step_is_refused", "overflowing_first_block_is_refused"),
    *("overflowing_memory_is_refused", "overflowing_average_weight_is_refused", "overflowing_step_is_refused"),
    "underflowing_information_is_warned_of",
    *("transition_overflow_is_refused", "overflow_of_a_moved_root_is_refused"),
    *("overflowing_mean_is_refused", "overflowing_mean_of_a_root_is_refused"),
    *("forecasts_of_a_growing_state", "forecasts_by_a_root", "predictions_while_forgetting", "predictions_by_a_root"),
    "forecasts_after_cancelling_moves",
    "cancelling_moves_by_a_root",
    "only_rounding_counts_as_known",
    "forecasts_from_a_vague_state",
    *("overflowing_weights_are_refused", "overflowing_information_is_refused"),
    "warns_once_half_of_the_digits_are_lost",
    *("warns_on_precision_loss", "filter_warns_on_precision_loss", "layer_warns_on_precision_loss"),
}
"""Laws that state a bound or a yes-or-no property, which a change of a millionth need not break."""


def _ratio(method, law, data_set, backend="rubbish"):
    try:
        return laws.measure_law(laws.LawCase((method.name,), law), data_set, backend).ratio
    except (ValueError, IndexError, ArithmeticError, np.linalg.LinAlgError):
        return np.inf
