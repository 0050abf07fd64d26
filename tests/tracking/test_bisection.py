"""The search for the first bad commit."""

import pytest

from orfit_bench.tracking.bisection import first_bad

COMMITS = [str(i) for i in range(13)]


@pytest.mark.parametrize("culprit", range(13))
def test_first_bad_commit_is_found_in_few_steps(culprit):
    asked = []
    assert first_bad(COMMITS, lambda sha: asked.append(sha) or int(sha) >= culprit) == (str(culprit), 0)
    assert len(asked) <= 4


def test_commits_that_cannot_be_measured_are_skipped_and_counted():
    assert first_bad(COMMITS, lambda sha: None if sha in "567" else int(sha) >= 6) == ("8", 3)
    assert first_bad(COMMITS, lambda sha: None) == ("12", 12)
