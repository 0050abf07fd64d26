"""Search for the first commit with a regression, by bisection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from orfit_bench.tracking.comparison import Comparison
from orfit_bench.tracking.environment import environment, git
from orfit_bench.tracking.gate import Gate


def first_with_regression(root: Path, gate: Gate, found: Sequence[Comparison]) -> str:
    """Return a sentence that names the first commit with one of the regressions found; "" if there are none.

    Only the methods and backends with a regression are measured. Commits that cannot be installed are skipped.
    """
    bad = {(f.metric, f.key) for f in found if f.is_regression}
    if not bad:
        return ""
    methods, backends = sorted({key[0] for _, key in bad} - {""}), sorted({key[1] for _, key in bad} - {""})
    narrowed = replace(gate, methods=methods or gate.methods, backends=backends or gate.backends)

    def is_bad(sha: str) -> bool | None:
        try:
            head = environment(root, sha)
        except ValueError:
            return None
        return any(f.is_regression and (f.metric, f.key) in bad for f in replace(narrowed, head=head).compare())

    between = f"{gate.base.commit}..{gate.head.commit}"
    commits = git(root, "rev-list", "--reverse", "--first-parent", between).split()
    if not commits:
        return f"no commit between {gate.base.commit[:12]} and {gate.head.commit[:12]} can be searched"
    first, skipped = first_bad(commits, is_bad)
    subject = git(root, "show", "--no-patch", "--format=%h %s", first).strip()
    return f"first bad commit: {subject}" + (
        f" (or one of {skipped} before it that cannot be installed)" * bool(skipped)
    )


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
