"""Plugins: a broken one stops nobody else, each is reported once; kernels, backends and models of one's own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.cases import offering
from helpers.methods import declare

import orfit_bench as ob
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Absent, Backend, Field, Integer, Matrix, MatrixOrTransition, Number, Setting

Same = Callable[[ob.Learner, ob.Learner], None]
MODELS = sorted(name for name, method in ob.methods().items() if method.kernel.models and method.kind == "regression")

# ---------------------------------------------------------------------- installed distributions, good and broken

HEAD = """
import numpy as np
from orfit_bench import hookimpl
from orfit_bench.spec import Absent, Backend, Cost, Experiment, Field, Method, StateSpec, Theory

SPEC_VERSION = (1, 0)

def method(name):
    cost = Cost(flops=lambda s, z: 1, floats=lambda s, z: 1)
    state = StateSpec((Field("w", ("parameter", "output"), "weights"),))
    return Method(name=name, summary="", formulas="", source="", state=state, theory=Theory(cost))

def backend(name, **more):
    return Backend(name, "", namespace=lambda: np, **more)
"""
GOOD = """
class Kernel:
    @staticmethod
    def learn(s, X, Y, p, out):
        s.w[...] = Y[-1]
        return len(X)

@hookimpl
def methods():
    return [method("good_method")]

@hookimpl
def backends():
    return (backend("good_backend"),)

@hookimpl
def kernels():
    return {("numpy", "good_method"): Kernel, ("good_backend", "lms"): "orfit_bench_numpy.lms",
            ("good_backend", "rls"): Absent("waits for a solver")}
"""


def hook(name: str, value: str, argument: str = "") -> str:
    return f"@hookimpl\ndef {name}({argument}):\n    return {value}\n"


LAZY = hook("methods", "[method('lazy')]") + hook("kernels", "{('numpy', 'lazy'): 'no_such_module'}")
EXPERIMENT = hook("experiments", "[Experiment('figure-1', 'a paper', 'a figure', 1, 'no.such:run')]")
PLUGINS: dict[str, tuple[str, str, str]] = {
    "a_import": ("import no_such_library\n", "broken", "ModuleNotFoundError: No module named 'no_such_library'"),
    "a_exit": ("raise SystemExit('enough')\n", "broken", "SystemExit: enough"),
    "a_syntax": ("def :\n", "broken", "SyntaxError"),
    "a_misspelt": (HEAD + hook("method", "()"), "broken", "unknown hook 'method'"),
    "a_argument": (HEAD + hook("methods", "()", "registry"), "broken", "{'registry'}"),
    "a_newer": (HEAD.replace("(1, 0)", "(1, 99)"), "broken", "requires spec 1.99, but this"),
    "a_older": (HEAD.replace("(1, 0)", "(0, 9)"), "broken", "requires spec 0.9, but this"),
    "a_version_kind": (HEAD.replace("(1, 0)", "'1.0'"), "broken", "declares no SPEC_VERSION"),
    "a_no_version": (GOOD.replace("good", "other").replace("@hookimpl", ""), "broken", "declares no SPEC_VERSION"),
    "a_raises": (HEAD + hook("streams", "1 / 0"), "broken", "ZeroDivisionError: division by zero"),
    "a_leaves": (HEAD + hook("streams", "exit(3)"), "broken", "SystemExit: 3"),
    "a_none": (HEAD + hook("methods", "None"), "broken", "hook methods: got NoneType, want a tuple of Method"),
    "a_bare": (HEAD + hook("methods", "method('bare')"), "broken", "hook methods: got Method, want a tuple of Method"),
    "a_type": (HEAD + hook("methods", "['lms']"), "broken", "hook methods: got 'lms', want Method objects"),
    "a_swapped": (HEAD + hook("backends", "[method('x')]"), "broken", "want Backend objects"),
    "a_list": (HEAD + hook("kernels", "[]"), "broken", "hook kernels: got list, want a mapping"),
    "a_key": (HEAD + hook("kernels", "{'numpy': 'm'}"), "broken", "hook kernels: got the key 'numpy'"),
    "a_value": (HEAD + hook("kernels", "{('numpy', 'x'): 3}"), "broken", "want the name of a module"),
    "a_method": (HEAD + hook("methods", "[method('lms')]"), "broken", "'lms' is already supplied by orfit-bench 0"),
    "a_twice": (HEAD + hook("methods", "[method('x'), method('x')]"), "broken", "already supplied by itself"),
    "a_experiments": (HEAD + hook("experiments", "[method('x')]"), "broken", "want Experiment objects"),
    "a_runner": (HEAD + EXPERIMENT.replace("no.such:", "no.such."), "broken", "want 'package.module:function'"),
    "b_good": (HEAD + GOOD, "ok", ""),
    "c_kernel": (HEAD + hook("kernels", "{('good_backend', 'lms'): 'm'}"), "broken", "supplied by b-good 0.1"),
    "c_lazy": (HEAD + LAZY, "ok", ""),
    "c_papers": (HEAD + EXPERIMENT, "ok", ""),
    "d_papers": (HEAD + EXPERIMENT, "broken", "its experiment 'figure-1' is already supplied by c-papers 0.1"),
    "c_probe": (HEAD + "def probe():\n    exit(3)\n" + hook("backends", "[backend('probing', probe=probe)]"), "ok", ""),
}  # fmt: skip
"""Module: its text, what becomes of it, why. The names decide the order, so broken ones come first."""


def install(site: Path, name: str, text: str, metadata: bool = True) -> None:
    """A tiny distribution: a module and what `pip install` writes beside it."""
    (site / f"{name}.py").write_text(text)
    info = site / f"{name}-0.1.dist-info"
    info.mkdir()
    if metadata:
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(f"[orfit_bench]\n{name}_point = {name}\n")


REPORT = """
import json
import orfit_bench as ob
from orfit_bench.plugins.registry import registry

def said(call):
    try:
        return repr(call())
    except Exception as error:
        return f"{type(error).__name__}: {error}"

fields = ("name", "distribution", "version", "state", "reason")
print(json.dumps({
    "plugins": [{k: getattr(p, k) for k in fields} for p in registry().plugins],
    "learns": ob.create("good_method").partial_fit([[1.0]], [2.0]).predict([[3.0]]).tolist(),
    "kernel of another": ob.create("lms", backend="good_backend").partial_fit([[1.0]], [2.0]).n_samples_seen_,
    "lms": ob.create("lms").partial_fit([[1.0]], [2.0]).n_samples_seen_,
    "absent": said(lambda: ob.create("rls", backend="good_backend")),
    "silent": said(lambda: ob.create("nlms", backend="good_backend")),
    "lazy": said(lambda: ob.create("lazy")),
    "probing": [ob.backends()["probing"].available, ob.backends()["probing"].reason],
    "probing create": said(lambda: ob.create("lms", backend="probing")),
    "strict": said(registry().require_sound),
    "again": len(registry().plugins),
}))
"""


def run(site: Path, code: str, **environment: str) -> Any:
    """What a process that has these distributions prints, as JSON; its warnings are errors."""
    env = {k: v for k, v in os.environ.items() if k != "ORFIT_BENCH_PLUGINS"} | environment
    env["PYTHONPATH"] = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all these distributions, and one whose metadata are lost."""
    folder = tmp_path_factory.mktemp("site")
    for name, (text, _, _) in PLUGINS.items():
        install(folder, name, text)
    install(folder, "d_nameless", HEAD, metadata=False)
    return folder


@pytest.fixture(scope="module")
def report(site: Path) -> Any:
    """What a process with all of them says."""
    return run(site, REPORT)


@pytest.mark.parametrize("name", PLUGINS)
def test_each_is_reported_once_with_its_cause(name: str, report: Any) -> None:
    _, state, reason = PLUGINS[name]
    (found,) = (p for p in report["plugins"] if p["distribution"] == name.replace("_", "-"))
    assert (found["name"], found["version"], found["state"]) == (f"{name}_point", "0.1", state)
    assert reason in found["reason"]
    assert bool(found["reason"]) == (state == "broken")
    assert "\n" not in found["reason"]


def test_a_distribution_without_metadata_stops_nobody(report: Any) -> None:
    assert [p["state"] for p in report["plugins"] if p["name"] == "d_nameless_point"] == ["ok"]


def test_the_good_ones_work_beside_them(report: Any) -> None:
    assert report["learns"] == [6.0]
    assert report["kernel of another"] == report["lms"] == 1
    assert {p["name"] for p in report["plugins"] if p["state"] == "ok"} >= {"catalogue", "numpy", "b_good_point"}


def test_absence_is_said_with_its_reason(report: Any) -> None:
    assert report["absent"] == "UnavailableError: rls on good_backend: waits for a solver"
    assert "nlms on good_backend: no installed plugin provides a good_backend kernel for nlms" in report["silent"]
    assert report["lazy"] == (
        "UnavailableError: lazy on numpy: the kernel module 'no_such_module' of c-lazy 0.1 cannot be imported: "
        "ModuleNotFoundError: No module named 'no_such_module'"
    )
    assert report["probing"] == [False, "its probe failed: SystemExit: 3"]
    assert report["probing create"] == "UnavailableError: lms on probing: its probe failed: SystemExit: 3"


def test_strict_names_every_broken_one(report: Any) -> None:
    broken = [name for name, (_, state, _) in PLUGINS.items() if state == "broken"]
    assert report["strict"].startswith(f"PluginError: {len(broken)} broken plugin(s):\n")
    for name in broken:
        assert report["strict"].count(f"{name}_point ({name.replace('_', '-')} 0.1): ") == 1
    assert report["again"] == len(report["plugins"])  # asking twice loads nothing twice


@pytest.mark.parametrize("only", ["b_good_point", " b_good_point , numpy", ""])
def test_the_environment_restricts_what_is_loaded(only: str, site: Path) -> None:
    code = (
        "import json, sys; from orfit_bench.plugins.registry import registry; "
        "print(json.dumps([{p.name: [p.state, p.reason] for p in registry().plugins}, list(sys.modules)]))"
    )
    plugins, modules = run(site, code, ORFIT_BENCH_PLUGINS=only)
    wanted = {"catalogue", *(name.strip() for name in only.split(",") if name.strip())}
    assert {name for name, (state, _) in plugins.items() if state == "ok"} == wanted
    assert {state for name, (state, _) in plugins.items() if name not in wanted} == {"blocked"}
    assert plugins["a_import_point"][1] == f"not listed in ORFIT_BENCH_PLUGINS={only}"
    assert {"a_misspelt", "a_raises", "c_lazy"}.isdisjoint(modules)
    assert ("orfit_bench_numpy" in modules) == ("numpy" in wanted)


def test_import_is_light(site: Path) -> None:
    code = "import json, sys, orfit_bench; print(json.dumps([m.split('.')[0] for m in sys.modules]))"
    modules = set(run(site, code))
    assert {"orfit_bench", "numpy"} <= modules
    assert modules.isdisjoint({"orfit_bench_numpy", "xarray", "scipy", "pandas", "h5py", "b_good", "a_import"})


def test_learning_needs_no_xarray(site: Path) -> None:
    code = "import json, sys, orfit_bench as ob; ob.create('lms').partial_fit([[1.0]], [2.0]).copy(); " + (
        "print(json.dumps([m.split('.')[0] for m in sys.modules]))"
    )
    assert set(run(site, code)).isdisjoint({"xarray", "pandas"})


# ---------------------------------------------------------------------- in this process


class Plugin:
    """A backend and a method in a class: hooks may be methods of an object."""

    SPEC_VERSION = (1, 0)

    def __init__(self, method: str = "mine", backend: str = "own", kernels: Any = None) -> None:
        self.method, self.backend, self.given = method, backend, kernels or {}

    @ob.hookimpl
    def methods(self) -> Any:
        return (declare(self.method, Field("w", ("parameter", "output"), "weights"), combine={"averages": ("w",)}),)

    @ob.hookimpl
    def backends(self) -> Any:
        return (Backend(self.backend, "", namespace=lambda: np),)

    @ob.hookimpl
    def kernels(self) -> Any:
        return {(self.backend, method): kernel for method, kernel in self.given.items()}


@pytest.fixture
def registered() -> Iterator[Callable[..., str]]:
    """Registers plugins for one test alone."""
    names = []

    def add(plugin: Any, name: str = "mine") -> str:
        ob.register(plugin, name)
        names.append(name)
        return name

    before = set(ob.methods()), set(ob.backends()), set(registry().kernels)
    yield add
    for name in names:
        ob.unregister(name)
    assert (set(ob.methods()), set(ob.backends()), set(registry().kernels)) == before


def last_row(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    if out is not None:
        out[...] = X @ s.w
    s.w[...] = Y[-1]
    return len(X)


def test_register_and_unregister(registered: Callable[..., str]) -> None:
    name = registered(Plugin(kernels={"mine": SimpleNamespace(learn=last_row), "rls": Absent("not yet")}))
    assert ob.create("mine", backend="own").partial_fit([[1.0]], [2.0]).predict([[3.0]]) == [6.0]
    with pytest.raises(ob.UnavailableError, match="rls on own: not yet"):
        ob.create("rls", backend="own")
    with pytest.raises(ob.UnavailableError, match="mine on numpy: no installed plugin provides a numpy kernel"):
        ob.create("mine")
    ob.unregister(name)
    with pytest.raises(ValueError, match="no method 'mine'"):
        ob.create("mine")
    ob.unregister(name)  # nothing left to forget


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (Plugin(method="lms", backend="other"), "plugin 'second': its method 'lms' is already supplied by orfit-bench"),
        (Plugin(method="other", backend="numpy"), "its backend 'numpy' is already supplied by orfit-bench-numpy"),
        (Plugin(method="other"), "its backend 'own' is already supplied by this process"),
        (object(), "declares no SPEC_VERSION"),
        (SimpleNamespace(SPEC_VERSION=(2, 0)), "requires spec 2.0"),
    ],
    ids=["method", "backend", "both mine", "no version", "newer"],
)
def test_a_refused_plugin_leaves_nothing(plugin: Any, message: str, registered: Callable[..., str]) -> None:
    registered(Plugin())
    held = set(ob.methods()), set(ob.backends()), len(registry().plugins)
    with pytest.raises(ob.PluginError, match=message):
        ob.register(plugin, "second")
    assert (set(ob.methods()), set(ob.backends()), len(registry().plugins)) == held
    with pytest.raises(ob.PluginError, match="a plugin named 'mine' is already loaded"):
        ob.register(Plugin("third", "third"), "mine")


def test_what_is_declared_is_read_only() -> None:
    for declared in (ob.methods(), ob.backends(), ob.streams(), ob.metrics()):
        with pytest.raises(TypeError):
            declared["x"] = 1  # type: ignore[index]


def test_a_sound_registry_is_sound() -> None:
    registry().require_sound()


# ---------------------------------------------------------------------- a kernel that fails half-way


def failing(error: BaseException | None) -> SimpleNamespace:
    """A kernel that writes half a step and fails on a row of nines."""

    def learn(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
        for x, y in zip(X, Y, strict=True):
            s.w[...] += y
            if x[0] == 9:
                raise error or AssertionError
        return len(X)

    return SimpleNamespace(learn=learn, step=lambda s, A, Y, p: bool(learn(s, A, Y, p, None)))


@pytest.mark.parametrize("error", [RuntimeError("a kernel's bug"), KeyboardInterrupt()], ids=repr)
def test_a_kernel_that_fails_closes_its_learner(
    error: BaseException, registered: Callable[..., str], same_state: Same, tmp_path: Path
) -> None:
    """Its arrays may be half written, and nobody can tell: so nothing goes on from there, but from a copy."""
    registered(Plugin(kernels={"mine": failing(error)}))
    learner = ob.create("mine", backend="own").partial_fit([[1.0]], [1.0])
    kept = learner.copy()
    with pytest.raises(type(error)):
        learner.partial_fit([[1.0], [9.0], [1.0]], [1.0, 1.0, 1.0])
    X, y = [[1.0]], [1.0]
    for call in (
        lambda: learner.partial_fit(X, y),
        lambda: learner.prequential(X, y),
        lambda: learner.predict(X),
        learner.state,
        learner.copy,
        lambda: learner.save(tmp_path / "state.npz"),
        lambda: ob.average([kept, learner]),
    ):
        with pytest.raises(RuntimeError, match=f"mine: {type(error).__name__} interrupted its kernel.* copy\\(\\)"):
            call()
    assert not list(tmp_path.iterdir())
    assert learner.n_samples_seen_ == 1
    assert kept.partial_fit(X, y).predict(X) == [2.0]


def test_a_kernel_that_fails_at_once_leaves_a_fresh_learner(registered: Callable[..., str], same_state: Same) -> None:
    registered(Plugin(kernels={"mine": failing(RuntimeError("bug"))}))
    learner = ob.create("mine", backend="own")
    with pytest.raises(RuntimeError, match="bug"):
        learner.partial_fit([[9.0, 9.0]], [1.0])
    same_state(learner, ob.create("mine", backend="own"))
    assert learner.partial_fit([[1.0]], [1.0]).predict([[1.0]]) == [1.0]


# ---------------------------------------------------------------------- a model of one's own


@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("method", MODELS)
def test_a_model_of_ones_own(method: str, dtype: str, outputs: int | None, cubic: ob.Model, rows: Any) -> None:
    """Two functions are enough for every method that learns models."""
    X, _ = rows(40)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    truth = ob.create("lms", model=cubic, random_state=5).partial_fit(X[:0], X[:0, 0] if outputs is None else X[:0, :2])
    y = truth.predict(X)
    learner = ob.create(method, model=cubic, dtype=dtype).partial_fit(X[:0], y[:0])
    at_first = np.abs(learner.predict(X) - y).mean()
    told = learner.prequential(X, y)
    assert told.shape == y.shape
    assert told.dtype == learner.predict(X).dtype == dtype
    assert learner.state()["w"].shape == (3 * (outputs or 1), 1)
    assert np.abs(learner.predict(X) - y).mean() < at_first


@pytest.mark.parametrize("method", MODELS)
def test_a_linear_model_of_ones_own_learns_as_the_linear_one(method: str, rows: Any) -> None:
    """The same update through two functions: to rounding the same predictions."""
    X, y = rows(12, d=6)
    mine = ob.Model(
        "mine", lambda w, X: (X @ w)[:, None], lambda w, x: x[None], lambda d, c: d, lambda draw, d, c: np.zeros(d)
    )
    told = ob.create(method, model=mine).prequential(X, y)
    np.testing.assert_allclose(told, ob.create(method).prequential(X, y), rtol=1e-7, atol=1e-9)


def test_a_kernel_that_lacks_what_its_method_declares_is_named(registered: Any) -> None:
    """Said when a learner is made, not at its first row."""

    class Bare:
        learn = staticmethod(lambda s, X, Y, p, out: len(X))

    registered(offering("bare", {"lms": Bare, "greedy": Bare}))
    ob.create("greedy", backend="bare")
    with pytest.raises(ob.UnavailableError, match=r"lms on bare: the kernel of .* has no update\(\)"):
        ob.create("lms", backend="bare")


def test_a_block_goes_to_step_and_rows_to_learn(registered: Any) -> None:
    called = []

    class Told:
        learn = staticmethod(lambda s, X, Y, p, out: called.append(("learn", len(X), p.batch_size)) or len(X))
        step = staticmethod(lambda s, A, Y, p: called.append(("step", len(A), p.batch_size)) or True)
        update = staticmethod(lambda s, J, E, p: True)

    registered(offering("told", {"orfit": Told}))
    X, y = np.ones((8, 2)), np.ones(8)
    ob.create("orfit", backend="told", batch_size=3).partial_fit(X, y).flush().step(X[:5], y[:5])
    assert called == [("learn", 6, 3), ("step", 2, 2), ("step", 5, 5)]


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: Setting("step", "float", 1.0, ""), "setting 'step': type='float', want for example Number"),
        (lambda: Setting("t", Number(0, 1, closed="right"), 1.0, ""), "a Python identifier other than t, draws, at"),
        (lambda: Setting("step", Number(1, 0), 0.5, ""), "low=1, high=0, closed='both': no interval"),
        (
            lambda: Setting("step", Number(0, 1, closed="right"), 2.0, ""),
            "setting 'step': its default is wrong: step=2.0: want a number in",
        ),
        (lambda: declared(Field("w", ("parametr", "output"), "")), "field 'w' has the dimension 'parametr'"),
        (lambda: declared(Field("v", ("parameter",), "")), "neither a field 'w' nor a solution nor predict"),
        (lambda: declared(W, combine={"averages": ("v",)}), "'v' is averaged, but no field"),
        (lambda: declared(W, theory={"inverse_gram": ("P", max)}), "'P' is an inverse Gram matrix, but no field"),
        (lambda: declared(W, settings=(STEP, STEP)), "two settings are named 'step'"),
        (
            lambda: declared(W, settings=(Setting("batch_size", Number(1, 9), 1.0, ""),)),
            "batch_size is no integer",
        ),
        (lambda: declared(W, settings=(BATCH,)), "batch_size needs kernel=KernelSpec(blocks=True)"),
        (
            lambda: declared(W, kind="subspace"),
            "a subspace needs a field 'basis'",
        ),
        (
            lambda: declared(Field("basis", ("feature",), ""), kind="subspace"),
            "a subspace needs a setting 'n_components'",
        ),
        (
            lambda: declared(*MOMENTS, kind="filter", state={"weights": "mean"}, settings=MOTION),
            "a filter needs a field 'moved': every filter has mean, covariance, moved",
        ),
        (
            lambda: declared(*MOMENTS, MOVED, kind="filter", state={"weights": "mean"}, settings=MOTION[1:]),
            "a filter needs a setting 'transition'",
        ),
    ],
)
def test_a_declaration_that_cannot_work_is_refused_at_once(declare: Callable[[], Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        declare()


W = Field("w", ("parameter", "output"), "weights")
MOMENTS = Field("mean", ("parameter", "output"), ""), Field("covariance", ("parameter", "parameter"), "")
MOVED = Field("moved", (), "")
MOTION = (
    Setting("transition", MatrixOrTransition(), 1.0, ""),
    Setting("process_noise", Matrix(covariance=True), 0.0, ""),
    Setting("observation_noise", Matrix(covariance=True), 1.0, ""),
    Setting("initial_mean", Matrix(), None, "", optional=True),
)
BATCH = Setting("batch_size", Integer(1, 9), 1, "")
STEP = Setting("step", Number(0, 1, closed="right"), 1.0, "")


declared = partial(declare, "mine")


@pytest.mark.parametrize("way", ["partial_fit", "step", "model"])
def test_a_kernel_that_says_nothing_is_told_so(way: str, registered: Callable[..., str], cubic: ob.Model) -> None:
    silent = SimpleNamespace(learn=lambda *a: None, step=lambda *a: None, update=lambda *a: None)

    class Silent(Plugin):
        @ob.hookimpl
        def kernels(self) -> Any:
            return {("own", "icl"): silent}

    registered(Silent())
    learner = ob.create("icl", backend="own", **({"model": cubic} if way == "model" else {}))
    with pytest.raises(TypeError, match="None"):
        (learner.step if way == "step" else learner.partial_fit)([[1.0]], [1.0])


def test_registering_again_and_registering_a_class_say_what_to_do(registered: Callable[..., str]) -> None:
    registered(Plugin(kernels={}), "mine")
    with pytest.raises(ob.PluginError, match=r"call orfit_bench.unregister\('mine'\) first"):
        ob.register(Plugin(kernels={}), "mine")
    with pytest.raises(ob.PluginError, match="got a class, want an instance"):
        ob.register(Plugin)


def test_a_device_that_cannot_be_described_ends_nothing():
    def broken():
        raise RuntimeError("driver gone")

    backend = Backend("mine", "", namespace=lambda: None, device_info=broken)
    assert backend.described == {"unknown": "its device_info failed: RuntimeError: driver gone"}


def test_the_registry_keeps_declarations_as_they_are():
    from orfit_bench.catalogue import METHODS, METRICS, STREAMS

    for declared, table in (
        (METHODS, registry().methods),
        (STREAMS, registry().streams),
        (METRICS, registry().metrics),
    ):
        assert all(table[item.name] is item for item in declared)
