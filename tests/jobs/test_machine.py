"""What computes: machines that are alike and plugins of one version are told apart."""

import json
import os
import shutil
import subprocess

import pytest
from helpers.distributions import install, python

from orfit_bench.jobs import provenance

pytestmark = pytest.mark.integration

PLUGIN = """
[project]
name = "my-plugin"
version = "0.1.0"
[project.entry-points.orfit_bench]
mine = "my_plugin"
"""
ASK = "import json; from orfit_bench.jobs.provenance import plugin_commits; print(json.dumps(plugin_commits()))"


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
        return json.loads(python("-c", ASK, site=site).stdout).get("my-plugin")

    package = tmp_path / "src" / "my_plugin"
    package.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(PLUGIN)
    (package / "__init__.py").write_text("from orfit_bench.spec import SPEC_VERSION as SPEC_VERSION\n")
    site = install(tmp_path)
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
