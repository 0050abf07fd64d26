"""Every law of every method on the reference backend, against a truth computed by another road."""

import numpy as np
import pytest
from cases import EVERY, offering, said

import orfit_bench as ob
from orfit_bench.catalogue.methods import METHODS
from orfit_bench.conformance import laws
from orfit_bench.host.registry import registry

CASES = [
    pytest.param(method, law, dtype, id=f"{method.name}-{law.name}-{dtype}")
    for method in registry().methods.values()
    for law in method.laws
    for dtype in ("float64", "float32")
]
FOUND: list[laws.Finding] = []


@pytest.fixture(scope="module", autouse=True)
def printed(request):
    """Print the table of deviation / bound once all laws of this file were measured."""
    yield
    if FOUND:
        capture = request.config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled():
            print("\n\nlaws on numpy: deviation / bound; in brackets: the law promises nothing there")
            print(laws.table(FOUND))
            worst = max((f for f in FOUND if not f.void), key=lambda f: f.ratio)
            print(f"largest ratio: {worst.ratio:.2g} ({worst.method}, {worst.law.name}, {worst.rows}, {worst.dtype})")


@pytest.mark.parametrize(("method", "law", "dtype"), CASES)
def test_law(method, law, dtype):
    measured = [laws.measure(method, law, kind, dtype=dtype) for kind in laws.KINDS]
    FOUND.extend(measured)
    held = [f for f in measured if not f.void]
    assert len(held) >= 3
    for f in held:
        assert f.ratio < 1, str(f)
        if dtype == "float64" and f.measured.condition < 100:
            assert f.measured.deviation < 1e-9


def test_every_method_has_laws_and_all_on_linear_models_but_greedy_a_batch_solution():
    for method in registry().methods.values():
        assert method.laws, f"{method.name} has no law"
        assert method.batch or method.name == "greedy" or method.layered


@pytest.mark.parametrize(("name", "settings"), EVERY, ids=said)
def test_batch_solutions_agree_with_the_learners(name, settings):
    """The deviation metric's truth, with several outputs and a repeated row, also where the step changes."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((9, 6)) / 3
    X[4] = X[1]
    Y = rng.standard_normal((9, 2))
    learner = ob.create(name, **settings).partial_fit(X, Y)
    if learner.method.batch is None:
        pytest.skip(f"{name} declares no batch solution")
    want = learner.method.batch(X, Y, np.zeros((6, 2)), learner.settings)
    if want is None:
        pytest.skip(f"{name} has no batch solution for these rows")
    np.testing.assert_allclose(learner.state()["w"].values, want, rtol=1e-9, atol=1e-12)


def test_bound_grows_with_what_it_derives_from():
    assert laws.bound("float64", 100, 10.0, 1) == pytest.approx(100 * laws.bound("float64", 1, 1.0, 1))
    assert laws.bound("float32", 4, 5.0, 2) > 1e8 * laws.bound("float64", 4, 5.0, 2)


@pytest.mark.parametrize("write", [np.nan, 0.0, 1e150], ids=["nan", "nothing", "huge"])
@pytest.mark.parametrize("method", [m for m in METHODS if m.name != "greedy"], ids=lambda m: m.name)
def test_every_law_fails_a_kernel_that_writes_rubbish(method, write):
    """No law may hide NaN behind max(), nor compare a learner with itself alone."""

    def spoil(s):
        for name in set(s._fields) - {"count"}:
            getattr(s, name)[...] = write
        return True

    class Rubbish:
        @staticmethod
        def learn(s, X, Y, p, out):
            if out is not None:
                out[...] = write
            return len(X) * spoil(s)

        step = staticmethod(lambda s, A, Y, p: spoil(s))
        update = staticmethod(lambda s, J, E, p: spoil(s))
        store = staticmethod(lambda s, J, p: None)
        ahead = staticmethod(lambda s, p: s.w)
        transit = staticmethod(lambda s, mean, p: spoil(s))
        rts = staticmethod(lambda *moments: None)

    ob.register(offering("rubbish", {method.name: Rubbish}), "rubbish")
    try:
        for law in method.laws:
            with np.errstate(all="ignore"):
                found = [_ratio(method, law, kind) for kind in ("gaussian", "condition 1e6")]
            bounded = write == 0.0 and law.source in BOUNDS  # learning nothing keeps an upper bound of an error
            assert bounded or max(found) > 1, law.name
    finally:
        ob.unregister("rubbish")


BOUNDS = {"survey, Theorem 2"}


def _ratio(method, law, kind):
    try:
        return laws.measure(method, law, kind, backend="rubbish").ratio
    except (ValueError, IndexError, ArithmeticError, np.linalg.LinAlgError):
        return np.inf
