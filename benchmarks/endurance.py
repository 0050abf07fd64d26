"""A million ill-conditioned rows through every method that keeps a P: writes docs/long-streams.md and its picture.

python3 dev.py python benchmarks/endurance.py [ROWS]    (a quarter of an hour for a million)
"""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path

import numpy as np

import orfit_bench as ob
from orfit_bench.conformance.endurance import TASKS, LongStreamResult, Rows, measure_long_stream
from orfit_bench.report import endurance

STREAMS = {
    "condition 1e3, a quarter of the directions never seen, ff 1": (Rows(seen=12), 1.0),
    "condition 1e3, ff 0.999": (Rows(), 0.999),
    "a quarter of the directions never seen, ff 0.9999": (Rows(seen=12), 0.9999),
}
RIDGE = 1.0
DOCS = Path(__file__).parent.parent / "docs"
PAGE = """# Long streams

How far the weights w and the matrix P of every method that keeps a P are from a batch solution, over {rows:,} rows of
16 features. The truth is the triangular factor of all weighted rows, updated by orthogonal factorisations
(`orfit_bench/conformance/endurance.py`); errors are relative, on the directions that rows were seen in. The smallest
eigenvalue is shown too, but alone it proves nothing: a P can be positive and wrong.

![errors over time](long-streams.svg)

{table}

Where a direction is never visited and ff < 1, P grows there like ff^-t until its rounding drowns the rest (third
column). The learner warns once half of its digits are gone (triangle), and later refuses to go on (cross) with the
state that the table's last rows describe; see [0004](decisions/0004-digits-of-rls.md).

Made by `python3 dev.py python benchmarks/endurance.py` on {date}, NumPy {numpy}, float64.
"""


def learners(d: int, forgetting_factor: float) -> dict[str, tuple[ob.Learner, str]]:
    """Every method with a P, at rest where it has dynamics, on one layer where it learns networks; and P's name."""
    settings = {"ridge": RIDGE, "forgetting_factor": forgetting_factor}
    start = np.zeros(d * TASKS)
    one_layer = ob.MLP(hidden=(), bias=False)
    made = {
        "rls": (ob.create("rls", **settings), "P"),
        "class_rls": (ob.create("class_rls", **settings), "P"),
        "owm": (ob.create("owm", model=one_layer, initial_weights=start, step_size=1.0, **settings), "P_1"),
    }
    if forgetting_factor == 1:
        made["kalman"] = ob.create("kalman", initial_covariance=1 / RIDGE), "covariance"
    return made


def main(rows: int = 1_000_000) -> None:
    """Run, draw, print."""
    found: dict[str, dict[str, LongStreamResult]] = {}
    for stream, (data, ff) in STREAMS.items():
        found[stream] = {}
        for method, (learner, P) in learners(data.d, ff).items():
            print(f"{method}: {rows:,} rows, {stream}", file=sys.stderr)
            found[stream][method] = measure_long_stream(learner, P, rows, data, RIDGE, ff)
    endurance.draw(found, DOCS / "long-streams.svg")
    page = PAGE.format(rows=rows, table=endurance.table(found), date=date.today().isoformat(), numpy=np.__version__)
    (DOCS / "long-streams.md").write_text(page)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
