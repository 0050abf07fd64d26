"""The findings of the gate as a table, Markdown or JSON."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from orfit_bench.counts import describe_count
from orfit_bench.report.table import grid
from orfit_bench.tracking.comparison import Comparison, Verdict
from orfit_bench.tracking.quantities import QUANTITIES

UNCHANGED = ("same", "n/a")
NO_CHANGE = "No change in speed, memory or accuracy."
NO_MEASURED_CHANGE = "No change in what was measured."
HEADINGS = ("method", "backend", "features", "metric", "base", "head", "change")


def findings_table(findings: Sequence[Comparison]) -> Table:
    """One row per value that changed or cannot be measured in either commit, regressions first."""
    table = grid("Changes", *HEADINGS)
    for row in _rows(findings):
        table.add_row(*map(Text, row))
    return table


def notes(findings: Sequence[Comparison]) -> list[str]:
    """The reasons for missing values and for metrics that were not measured at all, each once."""
    noted: dict[tuple[str, str], list[Comparison]] = {}
    for f in findings:
        if f.note and f.verdict not in UNCHANGED:
            noted.setdefault((f.verdict, f.note), []).append(f)
    known = {f.metric for f in findings if f.verdict != "n/a"}
    nowhere = {f"{f.metric} was not measured: {f.note}": f for f in findings if f.metric not in known}
    return [*nowhere, *(f"{verdict}: {_what(found)}: {note}" for (verdict, note), found in noted.items())]


def _what(findings: Sequence[Comparison]) -> str:
    """The measured pair and its metric, or their numbers."""
    pairs = list(dict.fromkeys(f"{f.method} on {f.backend}" if f.method else "the package" for f in findings))
    metrics = list(dict.fromkeys(f.metric for f in findings))
    what = pairs[0] if len(pairs) == 1 else f"{len(pairs)} pairs of method and backend"
    return f"{what}, {metrics[0] if len(metrics) == 1 else f'{len(metrics)} metrics'}"


def summary(findings: Sequence[Comparison]) -> str:
    """The number of values by verdict."""
    counts = Counter(f.verdict for f in findings)
    known: tuple[Verdict, ...] = ("worse", "gone", "broken", "failing", "better", "new", "same", "n/a")
    total = describe_count(len(findings), "value")
    return f"{total}: " + ", ".join(f"{counts[name]} {name}" for name in known if counts[name])


def as_markdown(findings: Sequence[Comparison], base: str, head: str, culprit: str = "") -> str:
    """A summary in Markdown, for a comment on a pull request; always the same text if nothing changed."""
    rows, unmeasured = _rows(findings), notes(findings)
    if not rows:
        listed = [NO_MEASURED_CHANGE, "", *(f"- {note}" for note in unmeasured)] if unmeasured else [NO_CHANGE]
        return "\n".join([*listed, ""])
    table = ["| " + " | ".join(row) + " |" for row in (HEADINGS, ["---"] * len(HEADINGS), *rows)]
    text = [summary(findings), *(f"- {note}" for note in [*unmeasured, culprit] if note)]
    return "\n".join([f"### {base} to {head}", "", *table, "", *text, ""])


def as_json(findings: Sequence[Comparison], base: str, head: str) -> str:
    """All values, null for missing ones."""
    rows = [{k: _plain(v) for k, v in f._asdict().items()} | {"change": _plain(f.change)} for f in findings]
    return json.dumps({"base": base, "head": head, "findings": rows}, indent=1)


def _rank(finding: Comparison) -> tuple[bool, str, tuple[str, str, int]]:
    """Regressions first, then by verdict."""
    return not finding.is_regression, finding.verdict, finding.key


def _rows(findings: Sequence[Comparison]) -> list[list[str]]:
    changed = sorted((f for f in findings if f.verdict not in UNCHANGED), key=_rank)
    return [
        [
            f.method or "the package",
            f.backend or "-",
            str(f.features or "-"),
            f.metric,
            _number(f, f.base),
            _number(f, f.head),
            _change(f),
        ]
        for f in changed
    ]


def _number(finding: Comparison, value: float) -> str:
    if math.isnan(value):
        return "n/a"
    unit = QUANTITIES[finding.metric].unit if finding.metric in QUANTITIES else ""
    return f"{value:.3g} {unit}".strip() if unit != "relative" else f"{value:.1e}"


def _change(finding: Comparison) -> str:
    known = math.isfinite(finding.change) and abs(finding.change) < 1000
    return f"{finding.change:+.0%} {finding.verdict}" if known else finding.verdict


def _plain(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value
