"""The figure and the table of long streams."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import fill

from benchmarks.endurance.measurement import LongStreamResult
from orfit_bench.report.plotting import pyplot, save

PANELS = {
    "w_error": "error of w",
    "P_error": "error of P",
    "min_eigenvalue": "least eigenvalue of P / largest",
    "asymmetry": "asymmetry of P (0 is drawn at 1e-17)",
}
STYLES = ("-", "--", "-.", ":")
FLOOR = 1e-17
"""The value at which zero is drawn on a logarithmic axis."""


def draw(found: Mapping[str, Mapping[str, LongStreamResult]], path: Path) -> None:
    """One column per stream, row per quantity and line per method; triangles mark warnings, crosses refusals."""
    figure, axes = pyplot().subplots(
        len(PANELS), len(found), figsize=(11, 11), sharex="col", sharey="row", squeeze=False
    )
    for column, (stream, learners) in zip(axes.T, found.items(), strict=True):
        column[0].set_title(fill(stream, 34), fontsize=10)
        for panel, name in zip(column, PANELS, strict=True):
            for style, (method, result) in zip(STYLES, learners.items(), strict=False):
                rows = [one.rows for one in result.errors]
                values = [max(getattr(one, name), FLOOR) for one in result.errors]
                (line,) = panel.loglog(rows, values, style, label=method, linewidth=1.6)
                for row, mark in ((result.warned, "^"), (result.refused, "x")):
                    if row:
                        panel.plot(row, values[-1] if mark == "x" else FLOOR, mark, color=line.get_color())
            panel.grid(alpha=0.3)
        column[-1].set_xlabel("rows")
    for panel, label in zip(axes[:, 0], PANELS.values(), strict=True):
        panel.set_ylabel(label)
    for panel in axes[0]:
        panel.legend(fontsize=8)
    figure.tight_layout()
    save(figure, path)


def table(found: Mapping[str, Mapping[str, LongStreamResult]]) -> str:
    """The last measurement of every learner, and when it warned or refused, in Markdown."""
    lines = [
        "| stream | method | rows | error of w | error of P | least eigenvalue | asymmetry | warned | refused |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for stream, learners in found.items():
        for method, (errors, warned, refused) in learners.items():
            last = errors[-1]
            numbers = " | ".join(f"{value:.1e}" for value in last[1:])
            when = " | ".join(f"{row:,}" if row else "never" for row in (warned, refused))
            lines.append(f"| {stream} | {method} | {last.rows:,} | {numbers} | {when} |")
    return "\n".join(lines)
