"""docs/sources.md lists the papers that methods and their laws cite, each with the methods."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import orfit_bench as ob
from orfit_bench.conformance.check import CHECKS

PAGE = Path(__file__).parents[2] / "docs" / "sources.md"
ROWS = [line for line in PAGE.read_text("utf8").splitlines() if line.startswith("| ")]
LINES = [[cell.strip() for cell in line.split("|")[1:-1]] for line in ROWS[2:]]  # below the head of the table
METHODS_OF = {name: used for name, _, used in LINES}


@pytest.mark.parametrize("name", ob.methods())
def test_papers_are_listed_with_the_methods_that_cite_them(name: str) -> None:
    cited = [paper for paper in METHODS_OF if paper in ob.methods()[name].source]
    assert cited
    assert [paper for paper in cited if f"`{name}`" not in METHODS_OF[paper]] == []


@pytest.mark.parametrize("name", ob.methods())
def test_laws_cite_papers_of_the_page_or_decisions(name: str) -> None:
    known = ["docs/decisions/", *METHODS_OF]
    assert [law.name for law in ob.methods()[name].theory.laws if not any(k in law.source for k in known)] == []


@pytest.mark.parametrize("name", ob.methods())
def test_claims_of_laws_read_alone(name: str) -> None:
    """Claims are listed separately, so that each must be understandable without the one before it."""
    claims = [law.claim for law in ob.methods()[name].theory.laws]
    assert claims
    assert [claim for claim in claims if claim.startswith("The same in")] == []


def test_requirements_of_checks_read_alone() -> None:
    requirements = [known.requirement for known in CHECKS]
    assert requirements
    assert [text for text in requirements if re.match("The same (for|in|while|after) ", text)] == []


def test_every_decision_is_listed() -> None:
    folder = PAGE.parent / "decisions"
    pages = sorted(folder.glob("0*.md"))
    lines = [f"- [{page.read_text('utf8').splitlines()[0].removeprefix('# ')}]({page.name})" for page in pages]
    assert [line for line in (folder / "README.md").read_text("utf8").splitlines() if line.startswith("- ")] == lines
