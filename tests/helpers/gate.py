"""Findings and repositories of the tests of the gate."""

from benchmarks.gate_trials import git
from orfit_bench.tracking.comparison import classify

KEY = ("rls", "numba", 64)


def verdict(metric, base, head, **tolerated):
    return classify(metric, KEY, (base, head), tolerated).verdict


def commit(folder, message, *before):
    for arguments in filter(None, [before, ["add", "-A"], ["commit", "-q", "-m", message]]):
        git(folder, *arguments)
