"""Plugins in installed distributions: a broken one affects no other, and each is reported once with its cause."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.integration

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
    "a_surrogate": (r"raise ValueError('\ud800 bad')" + "\n", "broken", r"ValueError: \ud800 bad"),
    "a_exit": ("raise SystemExit('enough')\n", "broken", "SystemExit: enough"),
    "a_syntax": ("def :\n", "broken", "SyntaxError"),
    "a_misspelt": (HEAD + hook("method", "()"), "broken", "unknown hook 'method'. Did you mean 'methods'?"),
    "a_later": (HEAD + hook("later", "()").replace("@hookimpl", "@hookimpl(optionalhook=True)"), "ok", ""),
    "a_unmarked": (HEAD + "def methods():\n    return ()\n", "broken", "put @hookimpl above it"),
    "a_argument": (HEAD + hook("methods", "()", "registry"), "broken", "{'registry'}"),
    "a_newer": (HEAD.replace("(1, 0)", "(1, 99)"), "broken", "requires spec 1.99, but this"),
    "a_older": (HEAD.replace("(1, 0)", "(0, 9)"), "broken", "requires spec 0.9, but this"),
    "a_version_kind": (HEAD.replace("(1, 0)", "'1.0'"), "broken", "requires: got '1.0', want (1, 0)"),
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
    "a_twice": (HEAD + hook("methods", "[method('x'), method('x')]"), "broken", "declares 2 methods with the name 'x'"),
    "a_experiments": (HEAD + hook("experiments", "[method('x')]"), "broken", "want Experiment objects"),
    "a_runner": (HEAD + EXPERIMENT.replace("no.such:", "no.such."), "broken", "want 'package.module:function'"),
    "b_good": (HEAD + GOOD, "ok", ""),
    "c_kernel": (HEAD + hook("kernels", "{('good_backend', 'lms'): 'm'}"), "broken", "supplied by b-good 0.1"),
    "c_lazy": (HEAD + LAZY, "ok", ""),
    "c_papers": (HEAD + EXPERIMENT, "ok", ""),
    "d_papers": (HEAD + EXPERIMENT, "broken", "its experiment 'figure-1' is already supplied by c-papers 0.1"),
    "c_probe": (HEAD + "def probe():\n    exit(3)\n" + hook("backends", "[backend('probing', probe=probe)]"), "ok", ""),
}  # fmt: skip
"""Module: its text, its state and the reason. Plugins are loaded by name, so that broken ones come first."""


def install(site: Path, name: str, text: str, metadata: bool = True) -> None:
    """A tiny distribution: a module and the metadata that `pip install` writes next to it."""
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

def describe(call):
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
    "absent": describe(lambda: ob.create("rls", backend="good_backend")),
    "silent": describe(lambda: ob.create("nlms", backend="good_backend")),
    "lazy": describe(lambda: ob.create("lazy")),
    "probing": [ob.backends()["probing"].available, ob.backends()["probing"].reason],
    "probing create": describe(lambda: ob.create("lms", backend="probing")),
    "strict": describe(registry().require_sound),
    "again": len(registry().plugins),
}))
"""


def run(site: Path, code: str, **environment: str) -> Any:
    """The JSON output of a process that has these distributions; its warnings are errors."""
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
    """The report of a process with all these distributions."""
    return run(site, REPORT)


@pytest.mark.parametrize("name", PLUGINS)
def test_each_plugin_is_reported_once_with_its_cause(name: str, report: Any) -> None:
    _, state, reason = PLUGINS[name]
    (found,) = (p for p in report["plugins"] if p["distribution"] == name.replace("_", "-"))
    assert (found["name"], found["version"], found["state"]) == (f"{name}_point", "0.1", state)
    assert reason in found["reason"]
    assert bool(found["reason"]) == (state == "broken")
    assert "\n" not in found["reason"]


def test_distribution_without_metadata_is_loaded(report: Any) -> None:
    assert [p["state"] for p in report["plugins"] if p["name"] == "d_nameless_point"] == ["ok"]


def test_sound_plugins_work_next_to_broken_ones(report: Any) -> None:
    assert report["learns"] == [6.0]
    assert report["kernel of another"] == report["lms"] == 1
    assert {p["name"] for p in report["plugins"] if p["state"] == "ok"} >= {"catalogue", "numpy", "b_good_point"}


def test_missing_kernel_is_reported_with_its_reason(report: Any) -> None:
    assert report["absent"] == "UnavailableError: rls on good_backend: waits for a solver"
    assert "nlms on good_backend: no installed plugin has a good_backend kernel for nlms" in report["silent"]
    assert report["lazy"] == (
        "UnavailableError: lazy on numpy: the kernel module 'no_such_module' of c-lazy 0.1 does not exist"
    )
    assert report["probing"] == [False, "its probe failed: SystemExit: 3"]
    assert report["probing create"] == "UnavailableError: lms on probing: its probe failed: SystemExit: 3"


def test_require_sound_names_every_broken_plugin(report: Any) -> None:
    broken = [name for name, (_, state, _) in PLUGINS.items() if state == "broken"]
    assert report["strict"].startswith(f"PluginError: {len(broken)} broken plugin(s):\n")
    for name in broken:
        assert report["strict"].count(f"{name}_point ({name.replace('_', '-')} 0.1): ") == 1
    assert report["again"] == len(report["plugins"])  # a second request loads nothing again


@pytest.mark.parametrize("only", ["b_good_point", " b_good_point , numpy", ""])
def test_environment_variable_restricts_loaded_plugins(only: str, site: Path) -> None:
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


def test_import_loads_no_plugin(site: Path) -> None:
    code = "import json, sys, orfit_bench; print(json.dumps([m.split('.')[0] for m in sys.modules]))"
    modules = set(run(site, code))
    assert {"orfit_bench", "numpy"} <= modules
    assert modules.isdisjoint({"orfit_bench_numpy", "xarray", "scipy", "pandas", "h5py", "b_good", "a_import"})


def test_learning_needs_no_xarray(site: Path) -> None:
    code = "import json, sys, orfit_bench as ob; ob.create('lms').partial_fit([[1.0]], [2.0]).copy(); " + (
        "print(json.dumps([m.split('.')[0] for m in sys.modules]))"
    )
    assert set(run(site, code)).isdisjoint({"xarray", "pandas"})


MALFORMED = """
import json
from orfit_bench.jobs.provenance import provenance
from orfit_bench.jobs.sources import plugin_sources
from orfit_bench.plugins.registry import registry
provenance({})
print(json.dumps([[(p.name, p.state, p.reason) for p in registry().plugins], sorted(plugin_sources())]))
"""


def test_malformed_entry_points_are_reported_and_stop_nothing(tmp_path: Path) -> None:
    install(tmp_path, "b_good", HEAD + GOOD)
    values = {"dash": "my-plugin", "empty": "", "colons": "a:b:c"}
    for name, value in values.items():
        install(tmp_path, name, HEAD)
        (tmp_path / f"{name}-0.1.dist-info" / "entry_points.txt").write_text(f"[orfit_bench]\n{name} = {value}\n")
    plugins, sources = run(tmp_path, MALFORMED)
    for name, value in values.items():
        (found,) = (tuple(rest) for plugin, *rest in plugins if plugin == name)
        assert found[0] == "broken"
        assert f"its entry point is {name} = {value!r}, want the name of a module" in found[1]
    assert ["b_good_point", "ok", ""] in plugins
    assert "b-good" in sources
