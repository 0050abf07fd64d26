"""How many checks of the kit notice a fault: those of tests/faults, and mutants of the NumPy reference.

`python3 dev.py redundancy lms rls --mutants 40` judges mutants of the kernels of these methods, drawn at random: first
by all checks until one notices it, then by all others until a second one does.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Sequence

from orfit_bench.mutation import children
from orfit_bench.mutation.children import Question, Timed
from orfit_bench.mutation.mutants import Mutant, make_mutants


def first_to_notice(mutant: Mutant, checks: Sequence[Timed]) -> str:
    """The label of the check that notices a mutant, "" if none does."""
    return children.verdict(*children.judge(mutant, checks).wait())[1]


def noticing(mutant: Mutant, checks: Sequence[Timed]) -> list[str]:
    """The names of the checks that notice a mutant: none, the first, or the first and another one."""
    names: list[str] = []
    for _ in range(2):
        others = [timed for timed in checks if timed.check.check not in names]
        label = first_to_notice(mutant, others)
        found = [timed.check.check for timed in others if timed.check.label == label]
        if label and not found:  # the import failed
            return ["import", "import"]
        names += found[:1]
        if not found:
            break
    return names


def main() -> int:
    """Judge a sample of mutants, and print how many checks notice each."""
    parser = argparse.ArgumentParser(prog="dev.py redundancy", description=__doc__)
    parser.add_argument("methods", nargs="*", default=["lms", "rls"])
    parser.add_argument("--mutants", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    question = Question(chosen.methods, ["numpy"], ["float64"], (), chosen.seed)
    sources = children.find(question)
    mutants = [(mutant, source) for source in sources for mutant in make_mutants(source)]
    sample = random.Random(chosen.seed).sample(mutants, min(chosen.mutants, len(mutants)))
    checks = sorted(children.measure(question), key=lambda timed: timed.seconds)
    counts: Counter[int] = Counter()
    for mutant, source in sample:
        own = [timed for timed in checks if (timed.check.backend, timed.check.method) in source.pairs]
        names = noticing(mutant, own)
        counts[len(names)] += 1
        if len(names) < 2:
            noticed = names[0] if names else "no check"
            print(f"{mutant.module}:{mutant.line}: {mutant.before} -> {mutant.after}: {noticed}", flush=True)
    total = counts.total()
    print(
        f"{total} of {len(mutants)} mutants: {counts[2]} noticed by two checks, {counts[1]} by one, {counts[0]} by none"
    )
    print(faults())
    return 0


def faults() -> str:
    """How many faults of tests/faults are noticed by how many checks."""
    from faults.fault import FAULTS  # loads the plugins, after which mutants cannot be judged

    counts = Counter(len(fault.noticed_by) > 1 for fault in FAULTS.values())
    return f"{counts.total()} faults: {counts[True]} noticed by several checks, {counts[False]} by a single one"


if __name__ == "__main__":
    sys.exit(main())
