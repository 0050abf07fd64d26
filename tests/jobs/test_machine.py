"""Descriptions of machine and code distinguish similar machines, and plugins with the same version."""

import json
import os
import shutil
import subprocess

import pytest
from helpers.distributions import python, write

from orfit_bench.jobs import provenance

pytestmark = pytest.mark.integration

PLUGIN = "from orfit_bench.spec import SPEC_VERSION as SPEC_VERSION\n"
ASK = "import json; from orfit_bench.jobs.{1} import plugin_{0}; print(json.dumps(plugin_{0}()))"


def test_equal_machines_have_different_anonymous_keys(monkeypatch):
    here = provenance.machine()
    assert provenance.machine() == here
    monkeypatch.setattr("platform.node", lambda: "a-private-name")
    there = provenance.machine()
    assert {name for name in here if here[name] != there[name]} == {"host"}
    assert "private" not in json.dumps(there)


def test_the_version_of_cupy_whatever_its_distribution_is_called(tmp_path, monkeypatch):
    info = tmp_path / "cupy_cuda99x-1.2.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: cupy-cuda99x\nVersion: 1.2.3\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert provenance.versions()["cupy-cuda99x"] == "1.2.3"


@pytest.mark.skipif(shutil.which("git") is None, reason="no git on the PATH")
def test_states_of_a_plugin_of_one_version(tmp_path):
    def git(*arguments):
        who = {f"GIT_{role}_{what}": "x" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        subprocess.run(["git", "-C", tmp_path, *arguments], check=True, capture_output=True, env=os.environ | who)

    def reported():
        return json.loads(python("-c", ASK.format("commits", "provenance"), site=site).stdout).get("my-plugin")

    site = write(tmp_path, "my_plugin", PLUGIN)
    package = site / "my_plugin"
    assert reported() is None  # nothing tracks it
    git("init", "-q")
    git("add", "-A")
    git("commit", "-q", "-m", "first")
    first = reported()
    assert (len(first["id"]), first["dirty"]) == (40, False)
    with (package / "__init__.py").open("a") as file:
        file.write("# changed\n")
    changed = reported()
    assert (changed["id"], changed["dirty"], len(changed["changes"])) == (first["id"], True, 16)
    git("commit", "-q", "-a", "-m", "second")
    assert reported()["id"] not in ("", first["id"])


def test_modules_of_a_plugin_that_nothing_tracks(tmp_path):
    def reported(site):
        return json.loads(python("-c", ASK.format("sources", "sources"), site=site).stdout).get("my-plugin")

    site = write(tmp_path / "mine", "my_plugin", PLUGIN)
    first = reported(site)
    assert len(first) == 64
    assert reported(site) == first
    (site / "my_plugin" / "kernel.py").write_text("step = 1\n")
    added = reported(site)
    (site / "my_plugin" / "kernel.py").write_text("step = 2\n")
    assert len({first, added, reported(site)}) == 3
    assert reported(write(tmp_path / "site-packages", "my_plugin", PLUGIN)) is None  # its version says what it is


def test_a_kernel_and_what_it_imports_belong_to_the_code_of_a_plugin(tmp_path):
    """An entry point of one file names a kernel in another one, which imports a third; a fourth is unused."""
    files = {
        "my_plugin": "from orfit_bench import hookimpl\n"
        "SPEC_VERSION = (1, 0)\n"
        "@hookimpl\ndef kernels():\n    return {('numpy', 'nothing'): 'my_kernel'}\n",
        "my_kernel": "import json, my_helper\n",
        "my_helper": "STEP = 1\n",
        "unused": "",
    }
    info = tmp_path / "my_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[orfit_bench]\nmy_plugin = my_plugin\n")
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)

    def reported():
        return json.loads(python("-c", ASK.format("sources", "sources"), site=tmp_path).stdout)["my-plugin"]

    first = reported()
    (tmp_path / "unused.py").write_text("1\n")
    assert reported() == first
    found = {first}
    for changed in ("my_helper", "my_kernel", "my_plugin"):
        (tmp_path / f"{changed}.py").write_text(f"{files[changed]}# changed\n")
        found.add(reported())
    assert len(found) == 4
