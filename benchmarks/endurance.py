"""A million ill-conditioned rows through every method that keeps a P: writes docs/long-streams.svg and prints a table.

python3 dev.py python benchmarks/endurance.py [ROWS]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import orfit_bench as ob
from orfit_bench.conformance.endurance import TASKS, Endured, Rows, endure
from orfit_bench.report import endurance

STREAMS = {
    "condition 1e3, a quarter of the directions never seen, ff 1": (Rows(seen=12), 1.0),
    "condition 1e3, ff 0.999": (Rows(), 0.999),
    "a quarter of the directions never seen, ff 0.9999": (Rows(seen=12), 0.9999),
}
RIDGE = 1.0


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
    found: dict[str, dict[str, Endured]] = {}
    for stream, (data, ff) in STREAMS.items():
        found[stream] = {}
        for method, (learner, P) in learners(data.d, ff).items():
            print(f"{method}: {rows:,} rows, {stream}", file=sys.stderr)
            found[stream][method] = endure(learner, P, rows, data, RIDGE, ff)
    endurance.draw(found, Path(__file__).parent.parent / "docs" / "long-streams.svg")
    print(endurance.table(found))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
