"""docs/conformance.md names checks that exist."""

import re
from pathlib import Path

from orfit_bench.conformance.check import CHECKS

PAGE = Path(__file__).parents[2] / "docs/conformance.md"


def test_table_of_mistakes_names_existing_checks() -> None:
    text = PAGE.read_text(encoding="utf-8")
    table = text[text.index("## Mistakes and the checks") : text.index("## How the kit itself")]
    cells = [line.split("|")[2] for line in table.splitlines() if line.startswith("| ")]
    named = {name for cell in cells for name in re.findall(r"`([a-z0-9_]+)`", cell)}
    assert len(named) > 15
    assert named <= {check.name for check in CHECKS}
