"""A million ill-conditioned rows through every method that keeps a covariance P; writes docs/long-streams.md.

`python3 dev.py python -m benchmarks.endurance [ROWS]`: a quarter of an hour for a million rows.
"""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path

import numpy as np

import orfit_bench as ob
from benchmarks.endurance import presentation
from benchmarks.endurance.measurement import TASKS, LongStreamResult, Rows, measure_long_stream

STREAMS = {
    "condition 1e3, a quarter of the directions never seen, ff 1": (Rows(seen=12), 1.0),
    "condition 1e3, ff 0.999": (Rows(), 0.999),
    "a quarter of the directions never seen, ff 0.9999": (Rows(seen=12), 0.9999),
}
RIDGE = 1.0
DOCS = Path(__file__).parents[2] / "docs"
PAGE = """# Long streams

The deviation of the weights w and the matrix P from a batch solution over {rows:,} rows of 16 features, for every
method that keeps a matrix P. The exact result is computed from the triangular factor of all weighted rows, which is
updated by orthogonal factorizations (`benchmarks/endurance/measurement.py`). Errors are relative and restricted to the
directions in which there were rows. The least eigenvalue is shown as well, but a positive definite P is not necessarily
accurate.

![errors over time](long-streams.svg)

{table}

If a direction never occurs in the rows and ff < 1, P grows in that direction like ff^-t until its rounding errors
dominate the other directions (right column of the figure). The learner warns when half of the digits are lost
(triangle) and later raises an error (cross); the last rows of the table describe its state at that point; see
[decision 0004](decisions/0004-digits-of-rls.md).

Written by `python3 dev.py python -m benchmarks.endurance` on {date}, NumPy {numpy}, float64.
"""


def learners(d: int, forgetting_factor: float) -> dict[str, tuple[ob.Learner, str]]:
    """Every method with a P, and the name of P: a filter has no dynamics, a model has one layer."""
    settings = {"ridge": RIDGE, "forgetting_factor": forgetting_factor}
    start = np.zeros(d * TASKS)
    one_layer = ob.MLP(hidden=(), bias=False)
    created = {
        "rls": (ob.create("rls", **settings), "P"),
        "class_rls": (ob.create("class_rls", **settings), "P"),
        "owm": (ob.create("owm", model=one_layer, initial_weights=start, step_size=1.0, **settings), "P_1"),
    }
    if forgetting_factor == 1:
        created["kalman"] = ob.create("kalman", initial_covariance=1 / RIDGE), "covariance"
    return created


def main(rows: int = 1_000_000) -> None:
    """Measure, draw the figure and write the page."""
    found: dict[str, dict[str, LongStreamResult]] = {}
    for stream, (data, ff) in STREAMS.items():
        found[stream] = {}
        for method, (learner, P) in learners(data.d, ff).items():
            print(f"{method}: {rows:,} rows, {stream}", file=sys.stderr)
            found[stream][method] = measure_long_stream(learner, P, rows, data, RIDGE, ff)
    presentation.draw(found, DOCS / "long-streams.svg")
    page = PAGE.format(rows=rows, table=presentation.table(found), date=date.today().isoformat(), numpy=np.__version__)
    (DOCS / "long-streams.md").write_text(page)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
