"""New plugins: the written plugin conforms without changes, and nothing is written partially."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from helpers.distributions import install, python

from orfit_bench import conformance
from orfit_bench.cli import main
from orfit_bench.jobs import files
from orfit_bench.new_plugin import KINDS, filled, named, write
from orfit_bench.spec import SPEC_VERSION

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
CONFORMS = """
from orfit_bench.conformance import conform
report = conform("my_own")
assert report.passed, report
print(report.counts["passed"], sorted({r.backend for r in report.results}), sorted({r.method for r in report.results}))
"""


METHODS = ("classification", "filter", "subspace")
"""The kinds of methods other than regression."""
KERNELS = ("method", *METHODS, "backend", "both")
"""The kinds of plugins that have kernels."""


@pytest.fixture(scope="module", params=KERNELS)
def kind(request: pytest.FixtureRequest) -> str:
    """Each kind of plugin."""
    return str(request.param)


@pytest.fixture(scope="module")
def folder(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plugin as the command wrote it."""
    folder = tmp_path_factory.mktemp(kind) / "my-own"
    done = CliRunner().invoke(main, ["new-plugin", "my-own", "--kind", kind, "--folder", str(folder)])
    assert done.exit_code == 0, done.output
    assert f"orfit-bench conform my_own\n  orfit-bench run --method {'lms' if kind == 'backend' else 'my_own'}" in (
        done.output
    )
    return folder


@pytest.fixture(scope="module")
def site(folder: Path) -> Path:
    """The folder of that plugin, found as if it were installed."""
    return install(folder)


def test_new_plugin_conforms(kind: str, site: Path) -> None:
    done = python("-c", CONFORMS, site=site)
    assert done.returncode == 0, done.stderr
    passed, *who = done.stdout.split(maxsplit=1)
    assert int(passed) > (80 if kind == "both" else 40)
    backends, methods = ["my_own"] if kind == "backend" else ["numpy"], ["lms"] if kind == "backend" else ["my_own"]
    assert who == [f"{['my_own', 'numpy'] if kind == 'both' else backends} {methods}\n"]


def test_new_plugin_is_listed_and_runs(kind: str, site: Path, tmp_path: Path) -> None:
    listed = python("-m", "orfit_bench", "list", "my_own", site=site)
    assert listed.returncode == 0, listed.stderr
    assert "supplied by: my-own 0.1.0" in listed.stdout
    what = ["lms", "--backend", "my_own"] if kind == "backend" else ["my_own"]
    ran = python("-m", "orfit_bench", "run", "--method", *what, "--rows", "60", site=site, cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert " ok. Results: results.nc" in ran.stdout
    assert "my_own" in ran.stdout


@pytest.mark.parametrize("kind", ["stream", "metric", "model"])
def test_templates_without_kernels_have_no_faults(kind: str, tmp_path: Path) -> None:
    write("my-own", kind, tmp_path / "mine")
    source = tmp_path / "mine" / "src" / "my_own" / f"{kind}.py"
    wrong = {"stream": ("(0, n // 2, n)", "(0, n // 2)"), "metric": ("lower", "least"), "model": ("-0.5", "-0.6")}[kind]
    for change in ((), wrong):
        scope: dict[str, Any] = {}
        exec(source.read_text().replace(*change) if change else source.read_text(), scope)
        assert len(getattr(conformance, f"check_{kind}")(scope[kind.upper()])) == bool(change)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["stream", "metric", "model"])
def test_plugin_without_kernels_conforms(kind: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["new-plugin", "my-own", "--kind", kind, "--folder", str(tmp_path / "mine")])
    assert done.exit_code == 0, done.output
    site = install(tmp_path / "mine")
    test = python("-m", "pytest", "-q", str(tmp_path / "mine"), site=site)
    assert test.returncode == 0, test.stdout + test.stderr
    conforms = python("-m", "orfit_bench", "conform", "my_own", site=site)
    assert conforms.returncode == 0, conforms.stdout + conforms.stderr
    assert conforms.stdout == "Streams, metrics, models and experiments that match their declarations: 1. Conforming.\n"


@pytest.mark.slow
def test_a_model_with_a_wrong_jacobian_does_not_conform(tmp_path: Path) -> None:
    write("my-own", "model", tmp_path / "mine")
    source = tmp_path / "mine/src/my_own/model.py"
    source.write_text(source.read_text().replace("* differences).ravel()", "* -differences).ravel()"))
    conforms = python("-m", "orfit_bench", "conform", "my_own", site=install(tmp_path / "mine"))
    assert conforms.returncode == 1, conforms.stdout + conforms.stderr
    assert "model 'my_own'" in conforms.stdout


@pytest.mark.parametrize("right", ["(1 - p.leak * step) * s.w", pytest.param("step * J.T @ E", marks=pytest.mark.slow)])
def test_its_laws_can_fail(right: str, tmp_path: Path) -> None:
    write("my-own", folder=tmp_path / "mine")
    kernel = tmp_path / "mine/src/my_own/kernel.py"
    assert kernel.read_text().count(f" {right}\n") + kernel.read_text().count(f" {right} +") == 1
    kernel.write_text(kernel.read_text().replace(right, f"0.999 * {right}"))
    code = (
        "from orfit_bench.conformance import conform\n"
        "print(*(r.check for r in conform('my_own', dtypes=['float64']).results if r.status == 'failed'))\n"
    )
    failed = set(python("-c", code, site=install(tmp_path / "mine")).stdout.split())
    assert failed >= {"law_repeated_row", "agrees_with_batch_solution"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "right", "laws"),
    [
        ("classification", "p.step_size / size", {"law_repeated_row", "agrees_with_batch_solution"}),
        ("filter", "(E / size)", {"law_repeated_row", "law_moving_state", "agrees_with_batch_solution"}),
        ("subspace", "p.step_size / (x @ x)", {"law_spans_a_product"}),
    ],
)
def test_laws_of_the_other_kinds_can_fail(kind: str, right: str, laws: set[str], tmp_path: Path) -> None:
    write("my-own", kind, tmp_path / "mine")
    kernel = tmp_path / "mine/src/my_own/kernel.py"
    assert kernel.read_text().count(right) == 1
    kernel.write_text(kernel.read_text().replace(right, f"0.999 * {right}"))
    code = (
        "from orfit_bench.conformance import conform\n"
        "print(*(r.check for r in conform('my_own', dtypes=['float64']).results if r.status == 'failed'))\n"
    )
    done = python("-c", code, site=install(tmp_path / "mine"))
    assert set(done.stdout.split()) >= laws, done.stderr


def test_git_ignores_what_the_commands_of_the_documentation_write(folder: Path) -> None:
    written = {".asv/", ".orfit-bench-gate/", "wheels/"}  # docs/tracking.md
    assert written <= set((folder / ".gitignore").read_text().split())


def test_new_plugin_declares_the_current_spec_version(folder: Path) -> None:
    texts = {path: path.read_text() for path in folder.rglob("*") if path.suffix in (".py", ".md", ".toml")}
    assert {line for text in texts.values() for line in re.findall(r"^SPEC_VERSION = .*", text, re.M)} == {
        f"SPEC_VERSION = {SPEC_VERSION}"
    }
    for path, text in texts.items():
        assert not re.search("my.plugin", text + str(path.relative_to(folder)))
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert project["entry-points"] == {"orfit_bench": {"my_own": "my_own"}}


@pytest.fixture(scope="module")
def every_kind(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a plugin of each kind."""
    folder = tmp_path_factory.mktemp("kinds")
    for kind in KINDS:
        files.new_folder(folder / f"of_{kind}", filled(kind, named(f"own-{kind}")))
    return folder


def check(*arguments: str | Path, **environment: str) -> None:
    """Run a module in a separate process, and assert that it reports no problem."""
    command, env = [sys.executable, "-m", *map(str, arguments)], os.environ | environment
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=env)
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(not find_spec("ruff"), reason="ruff is not installed")
@pytest.mark.parametrize("name", ["z", "my-own", "recursive-total-least-squares"])
def test_new_plugin_passes_linting(name: str, tmp_path: Path) -> None:
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]
    ignored = ",".join(rule for rule in rules["ignore"] if rule != "RUF012")
    for kind in KINDS:
        files.new_folder(tmp_path / kind, filled(kind, named(name)))
    check("ruff", "check", "--select", ",".join(rules["select"]), "--ignore", ignored, "--no-cache", tmp_path)
    check("ruff", "format", "--check", "--no-cache", tmp_path)


@pytest.mark.skipif(not find_spec("mypy"), reason="mypy is not installed")
def test_new_plugin_passes_strict_typing(every_kind: Path) -> None:
    sources = [*every_kind.glob("*/src/*"), *every_kind.glob("*/benchmarks/asv/*.py")]
    assert len(sources) > len(KINDS)
    path = os.pathsep.join([*map(str, every_kind.glob("*/src")), str(every_kind), os.environ.get("PYTHONPATH", "")])
    check("mypy", "--config-file", "pyproject.toml", "--explicit-package-bases", *sources, MYPYPATH=path)


@pytest.mark.parametrize(
    ("name", "distribution", "package"),
    [("my-own", "my-own", "my_own"), ("My_Own.2", "my-own-2", "my_own_2"), ("z", "z", "z")],
)
def test_names(name: str, distribution: str, package: str) -> None:
    assert named(name) == (distribution, package)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "want letters"),
        ("2fast", "starting with a letter"),
        ("-x", "starting with a letter"),
        ("x-", "not ending with a dash"),
        ("my own", "want letters"),
        ("../own", "want letters"),
        ("größer", "want letters"),
        ("lambda", "not a keyword of Python"),
        ("lms", "the method 'lms' is already supplied by orfit-bench 0.1.0: choose another name, e.g. my-lms"),
        ("class-rls", "the method 'class_rls' is already supplied by orfit-bench 0.1.0: .* e.g. my-class-rls"),
        ("numpy", "the backend 'numpy' is already supplied by orfit-bench-numpy"),
        ("drift", "the stream 'drift' is already supplied by"),
        ("catalogue", "a plugin 'catalogue' is already installed by orfit-bench"),
        ("json", "a module 'json' already exists .*: choose another name, e.g. my-json"),
    ],
)
def test_names_that_cannot_be_or_are_taken(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        write(name, folder=tmp_path / "made")
    assert not list(tmp_path.iterdir())


def test_a_metric_has_no_name_of_the_results(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"the results have 'status' already, .* e\.g\. my-status"):
        write("status", "metric", tmp_path / "made")
    assert not list(tmp_path.iterdir())
    assert write("status", "stream", tmp_path / "made").package == "status"


def test_a_kind_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="want one of method, classification, filter"):
        write("my-own", "streams", tmp_path / "made")


def test_folders_that_are_not_new(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for where, message in (
        ("full", "is not empty"),
        ("file", "this is a file, want a new folder"),
        ("none/made", "there is no folder"),
    ):
        done = CliRunner().invoke(main, ["new-plugin", "my-own", "--folder", str(tmp_path / where)])
        assert done.exit_code == 2
        assert message in done.output
    assert {p.name for p in tmp_path.rglob("*")} == {"full", "mine.txt", "file"}
    assert (tmp_path / "full" / "mine.txt").read_text() == (tmp_path / "file").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    write("my-own", folder=tmp_path / "empty")
    assert (tmp_path / "empty" / "pyproject.toml").exists()


def test_folder_has_the_given_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["new-plugin", "My_Own"]).exit_code == 0
    assert (tmp_path / "My_Own/src/my_own/method.py").exists()


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()], ids=repr)
def test_interrupted_command_leaves_no_files(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, written = Path.write_text, []

    def failing(self: Path, text: str, **more: str) -> int:
        if len(written) == 3:
            raise error
        written.append(self)
        return plain(self, text, **more)

    monkeypatch.setattr(Path, "write_text", failing)
    with pytest.raises(type(error)):
        write("my-own", folder=tmp_path / "made")
    assert len(written) == 3
    assert not list(tmp_path.iterdir())
