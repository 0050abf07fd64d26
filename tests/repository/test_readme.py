"""The README's Python is run, and its commands exist."""

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text()


def test_the_python_of_the_readme_runs():
    failed, tried = doctest.testfile(str(ROOT / "README.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert tried > 10
    assert failed == 0


def test_the_python_of_the_learners_page_runs():
    failed, tried = doctest.testfile(
        str(ROOT / "docs/learners.md"), module_relative=False, optionflags=doctest.ELLIPSIS
    )
    assert (failed, tried > 30) == (0, True)


def test_the_python_of_the_page_on_other_libraries_runs():
    failed, tried = doctest.testfile(str(ROOT / "docs/other-libraries.md"), module_relative=False)
    assert (failed, tried > 20) == (0, True)


def test_the_python_of_the_page_on_fleets_runs():
    failed, tried = doctest.testfile(str(ROOT / "docs/fleets.md"), module_relative=False)
    assert (failed, tried > 8) == (0, True)


def test_the_python_of_the_page_on_pipelines_runs():
    failed, tried = doctest.testfile(str(ROOT / "docs/pipelines.md"), module_relative=False)
    assert (failed, tried > 12) == (0, True)


@pytest.mark.parametrize("line", re.findall(r"orfit-bench (\w+ [^#`\n]*--\w[^#`\n]*)", TEXT))
def test_the_options_of_the_readme_exist(line):
    word, *arguments = line.split()
    helped = subprocess.run(
        [sys.executable, "-m", "orfit_bench", word, "--help"], capture_output=True, text=True, check=True
    )
    for option in arguments:
        assert not option.startswith("--") or option in helped.stdout


def test_links_of_the_documents_lead_somewhere():
    for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]:
        for link in re.findall(r"\]\(([^)#:]+)\)", re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.S)):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
