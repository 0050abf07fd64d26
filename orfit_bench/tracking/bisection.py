"""Search for the first commit with a regression, by bisection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from orfit_bench.tracking.comparison import METHOD, Comparison, Key, Verdict
from orfit_bench.tracking.environment import environment, git
from orfit_bench.tracking.gate import Gate

UNMEASURED: tuple[Verdict, ...] = ("gone", "broken", "failing", "n/a")
Regressions = Mapping[tuple[str, Key], Verdict]
"""Verdicts by metric and key."""


def first_with_regression(root: Path, gate: Gate, found: Sequence[Comparison]) -> str:
    """Return a sentence that names the first commit with one of the regressions found; "" if there are none.

    Only quantities with a regression are measured. Commits that cannot be measured are skipped.
    """
    regressions = {(f.metric, f.key): f.verdict for f in found if f.is_regression}
    if not regressions:
        return ""
    narrowed = narrow(gate, regressions)

    def is_bad(sha: str) -> bool | None:
        try:
            return has_regression(replace(narrowed, head=environment(root, sha)).compare(), regressions)
        except (ValueError, RuntimeError):  # it cannot be installed or imported
            return None

    base, head = gate.base.commit, gate.head.commit
    commits = git(root, "rev-list", "--reverse", "--first-parent", f"{base}..{head}").split()
    if not commits:
        return f"no commit between {base[:12]} and {head[:12]} can be searched"
    try:
        shared = git(root, "merge-base", base, head).strip()
    except ValueError:
        return f"no first bad commit: {base[:12]} and {head[:12]} have no common ancestor"
    if shared != base and is_bad(shared) is not False:
        return (
            f"no first bad commit: {shared[:12]}, the last common ancestor, is no better than {head[:12]} or cannot be "
            f"measured; {base[:12]} has an improvement that {head[:12]} lacks"
        )
    first, skipped = first_bad(commits, is_bad)
    subject = git(root, "show", "--no-patch", "--format=%h %s", first).strip()
    return f"first bad commit: {subject}" + f" (or one of {skipped} before it that cannot be measured)" * bool(skipped)


def narrow(gate: Gate, regressions: Regressions) -> Gate:
    """The gate with the methods, backends and start times that have a regression."""
    keys = [key for _, key in regressions]
    return replace(
        gate,
        methods=sorted({method for method, _, _ in keys if method}),
        backends=sorted({backend for _, backend, _ in keys if backend}),
        measures_learners=any(method for method, _, _ in keys),
        measures_starts=not all(method for method, _, _ in keys),
    )


def has_regression(found: Sequence[Comparison], regressions: Regressions) -> bool | None:
    """Whether a commit has one of the regressions; None if it lacks some of their quantities for another reason."""
    verdicts = {(f.metric, f.key): f.verdict for f in found}
    if any(verdicts.get(what) == verdict for what, verdict in regressions.items()):
        return True
    measured = {what for what, verdict in verdicts.items() if verdict not in UNMEASURED}
    return False if all(what in measured or what[0] == METHOD for what in regressions) else None


def first_bad(commits: Sequence[str], is_bad: Callable[[str], bool | None]) -> tuple[str, int]:
    """Find the first bad one of the commits, the last of which is bad.

    Parameters
    ----------
    commits : sequence of str
        The oldest first.
    is_bad : callable
        Returns whether a commit is bad, or None if that cannot be determined.

    Returns
    -------
    commit : str
        The first commit known to be bad.
    skipped : int
        Number of commits directly before it for which this cannot be determined.
    """
    left, skipped = list(commits), set[str]()
    while len(left) > 1:
        middle = left[(len(left) - 1) // 2]
        verdict = is_bad(middle)
        if verdict is None:
            skipped.add(middle)
            left.remove(middle)
        else:
            place = left.index(middle)
            left = left[: place + 1] if verdict else left[place + 1 :]
    count, place = 0, list(commits).index(left[0])
    while count < place and commits[place - 1 - count] in skipped:
        count += 1
    return left[0], count
