"""Launches, waits and memory of a chunk of rows, counted on the stand-in for CuPy: the table of docs/gpu.md.

    python3 dev.py python -m benchmarks.launches

Launches are those of CuPy; launches inside a call of cuBLAS or cuSOLVER are not counted separately. Rows are in host
memory; the learner has already learned two chunks.
"""

import sys
from pathlib import Path

import numpy as np

STANDIN = Path(__file__).resolve().parents[1] / "plugins" / "orfit-bench-cupy" / "tests" / "standin"
CASES = [
    ("lms", 784, {"step_size": 1e-4}, (1, 256)),
    ("oja", 784, {"n_components": 20, "step_size": 1e-4}, (1, 256)),
    ("orfit", 20_000, {"memory": 50}, (1, 256)),
    ("rls", 1024, {}, (1, 256)),
    ("rls", 1024, {"forgetting_factor": 0.8}, (12,)),
    ("rls", 2048, {}, (1024,)),
    ("kalman", 1024, {"observation_noise": 0.1}, (1, 256)),
    ("ridge", 1024, {}, (256,)),
    ("kalman", 420, {"transition": 0.9, "process_noise": 0.1}, (1, 16)),
]
HEAD = (
    "| method | d | settings | rows | launches | uploads | waits | kB to the device | kB to the host "
    "| state and rows, MB | peak, MB |\n|---|--:|---|" + "--:|" * 8
)


def line(method, d, settings, rows):
    """A row of the table."""
    counts, held, most = counted(method, d, settings, rows)
    stated = ", ".join(f"{name} = {value:g}" for name, value in settings.items() if name != "step_size")
    numbers = [counts.launches, counts.uploads, counts.waits, counts.bytes_there / 1e3, counts.bytes_back / 1e3]
    cells = [f"{n:,.0f}" for n in numbers] + [f"{held / 1e6:,.1f}", f"{most / 1e6:,.1f}"]
    return f"| {method} | {d:,} | {stated} | {rows} | {' | '.join(cells)} |"


def counted(method, d, settings, rows):
    """The counts for one more chunk, the bytes of the state and of its rows, and the peak memory of arrays."""
    import cupy

    import orfit_bench as ob

    X = np.random.default_rng(0).standard_normal((3 * rows, d))
    learner = ob.create(method, backend="cupy", **settings)
    pool = cupy.get_default_memory_pool()
    for part in np.split(np.arange(3 * rows), 3):
        pool.free_all_blocks()
        before = cupy.COUNTS.copy()
        learner.partial_fit(X[part], *([] if learner.method.kind == "subspace" else [X[part, 0]]))
    return cupy.COUNTS - before, learner.state_bytes + rows * d * 8, pool.total_bytes()


def main():
    """Print the table."""
    sys.path.insert(0, str(STANDIN))
    print(HEAD)
    for method, d, settings, chunks in CASES:
        for rows in chunks:
            print(line(method, d, settings, rows), flush=True)


if __name__ == "__main__":
    main()
