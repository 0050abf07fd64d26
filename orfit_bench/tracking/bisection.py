"""Search for the first commit with a regression, by bisection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from orfit_bench.tracking.comparison import METHOD, Comparison, Key, Verdict
from orfit_bench.tracking.environment import environment, git
from orfit_bench.tracking.gate import Gate

UNMEASURED: tuple[Verdict, ...] = ("gone", "broken", "failing", "n/a")
Outcome = tuple[Verdict, bool]
"""The verdict, and whether a broken plugin is the reason why a method is gone or new."""
Regressions = Mapping[tuple[str, Key], Outcome]
"""Outcomes by metric and key."""


def first_with_regression(root: Path, gate: Gate, found: Sequence[Comparison]) -> str:
    """Return a sentence that names the first commit with one of the regressions found; "" if there are none.

    Only methods, backends and start times with a regression are measured. Commits that cannot be measured are skipped.
    """
    regressions = outcomes(f for f in found if f.is_regression)
    if not regressions:
        return ""
    narrowed, reasons = narrow(gate, regressions), [""]

    @cache
    def is_bad(sha: str) -> bool | None:
        try:
            return has_regression(replace(narrowed, head=environment(root, sha)).compare(), regressions)
        except (ValueError, RuntimeError) as error:  # it cannot be installed or imported
            reasons.append(f": {error}")
            return None

    base, head = gate.base.commit, gate.head.commit
    try:
        shared = git(root, "merge-base", base, head).strip()
    except ValueError:
        return f"no first bad commit: {base[:12]} and {head[:12]} have no common ancestor"
    # commits of a branch into which the ancestor was merged later do not contain it
    search = "rev-list", "--reverse", "--first-parent", "--ancestry-path", f"{shared}..{head}"
    commits = git(root, *search).split()
    if not commits:
        return f"no commit between {base[:12]} and {head[:12]} can be searched"
    if shared != base and is_bad(shared) is not False:
        return (
            f"no first bad commit: {shared[:12]}, the last common ancestor, is no better than {head[:12]} or cannot be "
            f"measured; {base[:12]} has an improvement that {head[:12]} lacks"
        )
    first, skipped = first_bad(commits, is_bad)
    merges = list[str]()
    while not skipped and (merged := _merged_commits(root, first, is_bad)):
        merges.append(first)
        first, skipped = first_bad(merged, is_bad)
    doubt = f" (or one of {skipped} before it that cannot be measured{reasons[-1]})" if skipped else ""
    merge = f", merged by {_describe(root, merges[0])}" if merges else ""
    return f"first bad commit: {_describe(root, first)}{merge}{doubt}"


def _describe(root: Path, commit: str) -> str:
    """The short hash and the subject of a commit."""
    return git(root, "show", "--no-patch", "--format=%h %s", commit).strip()


def _merged_commits(root: Path, merge: str, is_bad: Callable[[str], bool | None]) -> list[str]:
    """The commits, oldest first, of a branch merged by a commit whose start is not bad, but whose end is; or none."""
    parent, *branches = git(root, "show", "--no-patch", "--format=%P", merge).split() or [""]
    for branch in branches:
        commits = git(root, "rev-list", "--reverse", "--first-parent", f"{parent}..{branch}").split()
        try:
            start = git(root, "rev-parse", "--verify", "--quiet", f"{commits[0]}^").strip() if commits else ""
        except ValueError:  # another history, without a common start
            continue
        if commits and is_bad(start) is False and is_bad(branch):
            return commits
    return []


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
    here = outcomes(found)
    if any(here.get(what) == outcome for what, outcome in regressions.items()):
        return True
    measured = {what for what, (verdict, _) in here.items() if verdict not in UNMEASURED}
    has_method = {what for what in regressions if what[0] == METHOD and what not in here}
    return False if all(what in measured or what in has_method for what in regressions) else None


def outcomes(found: Iterable[Comparison]) -> Regressions:
    """The outcome of each comparison by metric and key."""
    return {(f.metric, f.key): (f.verdict, f.metric == METHOD and bool(f.note)) for f in found}


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
