"""The Python code of the README runs, and its commands exist."""

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dev

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text()


def test_the_python_of_the_readme_runs():
    failed, tried = doctest.testfile(str(ROOT / "README.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert tried > 10
    assert failed == 0


@pytest.mark.parametrize(("page", "fewest"), [("learners", 40), ("streams", 12), ("signals", 25)])
def test_the_python_of_the_pages_on_learners_and_their_rows_runs(page, fewest):
    failed, tried = doctest.testfile(str(ROOT / f"docs/{page}.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert (failed, tried > fewest) == (0, True)


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


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_every_package_is_named_where_the_parts_are_listed(page):
    text = (ROOT / page).read_text()
    packages = {path.parent.name for path in (ROOT / "orfit_bench").glob("*/__init__.py")}
    assert not {name for name in packages if f"{name}/" not in text}


def test_every_command_of_developers_is_listed_for_them():
    commands = re.findall(r"^(\w+) {2,}\S", dev.__doc__, flags=re.MULTILINE)
    table = (ROOT / "CONTRIBUTING.md").read_text().split("## Where things are")[0]
    assert len(commands) > 15
    assert not {command for command in commands if f"dev.py {command}`" not in table and f"`{command}`" not in table}


def test_every_page_is_in_the_list_of_the_readme():
    listed = TEXT.split("## Documentation")[1]
    assert not {page.name for page in (ROOT / "docs").glob("*.md") if f"(docs/{page.name})" not in listed}


def test_terms_of_the_glossary_are_in_order():
    terms = re.findall(r"^\| (.+?) \| ", (ROOT / "docs/glossary.md").read_text(), flags=re.MULTILINE)[1:]
    assert len(terms) > 50
    assert terms == sorted(terms, key=str.lower)


def test_links_of_the_documents_lead_somewhere():
    for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]:
        for link in re.findall(r"\]\(([^)#:]+)\)", re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.S)):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
