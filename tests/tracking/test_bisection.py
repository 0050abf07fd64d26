"""The search for the first bad commit."""

import contextlib
import re
from types import SimpleNamespace

import pytest
from helpers.gate import commit

from orfit_bench.tracking import bisection
from orfit_bench.tracking.bisection import first_bad, first_with_regression, has_regression, narrow, outcomes
from orfit_bench.tracking.commit_process import MeasureError
from orfit_bench.tracking.comparison import Comparison
from orfit_bench.tracking.environment import git
from orfit_bench.tracking.gate import Gate
from orfit_bench.tracking.workloads import STARTS

AUTHOR = "-c", "user.name=me", "-c", "user.email=me@here"
COMMITS = [str(i) for i in range(13)]


@pytest.mark.parametrize("culprit", range(13))
def test_first_bad_commit_is_found_in_few_steps(culprit):
    asked = []
    assert first_bad(COMMITS, lambda sha: asked.append(sha) or int(sha) >= culprit) == (str(culprit), 0)
    assert len(asked) <= 4


def test_commits_that_cannot_be_measured_are_skipped_and_counted():
    assert first_bad(COMMITS, lambda sha: None if sha in "567" else int(sha) >= 6) == ("8", 3)
    assert first_bad(COMMITS, lambda sha: None) == ("12", 12)


def found(**verdicts):
    """Comparisons of lms on numpy by metric, and of the package."""
    learner = ("lms", "numpy", 64)
    return [
        Comparison(metric, *(("", "", 0) if metric in STARTS else learner), 1.0, 2.0, verdict)
        for metric, verdict in verdicts.items()
    ]


def regressions(**verdicts):
    return outcomes(found(**verdicts))


class TestRegression:
    """A commit is bad if it has a regression found, and is skipped if it fails in another way."""

    @pytest.mark.parametrize(
        ("of_commit", "want"),
        [
            ({"latency": "worse"}, True),
            ({"latency": "same", "import_seconds": "same"}, False),
            ({"latency": "better", "import_seconds": "worse"}, True),
            ({"latency": "broken", "import_seconds": "same"}, None),
            ({"latency": "failing", "import_seconds": "same"}, None),
            ({"method": "gone", "import_seconds": "same"}, None),
            ({"method": "gone", "import_seconds": "worse"}, True),
        ],
    )
    def test_worse(self, of_commit, want):
        assert has_regression(found(**of_commit), regressions(latency="worse", import_seconds="worse")) is want

    def test_a_broken_plugin_is_not_a_removed_method(self):
        removed = found(method="gone")
        broken = [removed[0]._replace(note="the plugin of mine is broken")]
        assert has_regression(broken, outcomes(removed)) is None
        assert has_regression(broken, outcomes(broken)) is True
        assert has_regression(found(latency="n/a"), regressions(latency="worse")) is None

    def test_gone_and_broken(self):
        assert has_regression(found(latency="same"), regressions(method="gone")) is False
        assert has_regression(found(method="gone"), regressions(method="gone")) is True
        assert has_regression(found(latency="worse"), regressions(latency="broken")) is False
        assert has_regression(found(latency="broken"), regressions(latency="broken")) is True


@pytest.mark.parametrize(
    ("names", "learners", "starts"),
    [(("latency",), True, False), (("import_seconds",), False, True), (("latency", "import_seconds"), True, True)],
)
def test_only_quantities_with_a_regression_are_measured_again(names, learners, starts):
    gate = narrow(Gate(None, None), regressions(**dict.fromkeys(names, "worse")))
    assert (gate.measures_learners, gate.measures_starts) == (learners, starts)
    assert (gate.methods, gate.backends) == ((["lms"], ["numpy"]) if learners else ([], []))


class TestFirst:
    """The sentence for commits of a repository, in which a file holds the verdict of each commit."""

    @pytest.fixture
    def search(self, repository, monkeypatch):
        def environment(root, sha):
            verdict = git(root, "show", f"{sha}:README.md").splitlines()[0]
            if verdict == "cannot be installed":
                raise ValueError(verdict)
            return SimpleNamespace(commit=sha, distributions=("mine",), verdict=verdict)

        def compare(gate):
            if gate.head.verdict == "cannot be imported":
                raise MeasureError("SyntaxError")
            return found(latency=gate.head.verdict)

        monkeypatch.setattr(bisection, "environment", environment)
        monkeypatch.setattr(Gate, "compare", compare)

        def search(*verdicts, base="main"):
            for i, verdict in enumerate(verdicts):
                (repository / "README.md").write_text(f"{verdict}\n{i} of {len(verdicts)} {base}\n")
                commit(repository, f"it is {verdict}")
            sides = [SimpleNamespace(commit=git(repository, "rev-parse", name).strip()) for name in (base, "HEAD")]
            return first_with_regression(repository, Gate(*sides), found(latency="worse"))

        git(repository, "checkout", "-q", "-b", "work")
        return search

    def test_the_first_is_named(self, search):
        assert re.fullmatch("first bad commit: [0-9a-f]+ it is worse", search("same", "worse", "same again", "worse"))

    @pytest.mark.parametrize("skipped", ["cannot be installed", "cannot be imported", "broken", "gone"])
    def test_the_sentence_counts_commits_that_cannot_be_measured(self, skipped, search):
        sentence = search("same", "same", skipped, "worse")
        assert re.fullmatch(
            r"first bad commit: \S+ \S.* \(or one of \d before it that cannot be measured.*\)", sentence
        )
        reasons = {"cannot be installed": ": cannot be installed)", "cannot be imported": ": SyntaxError)"}
        assert sentence.endswith(reasons.get(skipped, "measured)"))

    def test_commits_of_a_merged_branch_are_searched(self, search, repository):
        git(repository, "checkout", "-q", "-b", "side")
        search("same", "worse", "worse")
        git(repository, "checkout", "-q", "work")
        (repository / "other.md").write_text("other\n")
        commit(repository, "meanwhile")
        git(repository, *AUTHOR, "merge", "-q", "--no-ff", "-m", "merge", "side")
        sentence = search("worse")
        assert re.fullmatch("first bad commit: [0-9a-f]+ it is worse, merged by [0-9a-f]+ merge", sentence)

    def test_a_branch_into_which_main_was_merged_is_searched(self, search, repository):
        git(repository, "checkout", "-q", "-b", "side")
        search("same", "worse")
        git(repository, "checkout", "-q", "work")
        (repository / "other.md").write_text("other\n")
        commit(repository, "meanwhile")
        git(repository, "checkout", "-q", "side")
        git(repository, *AUTHOR, "merge", "-q", "--no-ff", "-m", "back", "work")
        git(repository, "checkout", "-q", "work")
        git(repository, *AUTHOR, "merge", "-q", "--no-ff", "-m", "merge", "side")
        assert re.fullmatch("first bad commit: [0-9a-f]+ it is worse, merged by [0-9a-f]+ merge", search())

    def test_a_merge_of_good_branches_is_named(self, search, repository):
        git(repository, "checkout", "-q", "-b", "side")
        search("same")
        git(repository, "checkout", "-q", "work")
        search("same")
        with contextlib.suppress(ValueError):  # a conflict
            git(repository, *AUTHOR, "merge", "-q", "--no-ff", "--no-commit", "side")
        (repository / "README.md").write_text("worse\n")
        git(repository, "add", "README.md")
        git(repository, *AUTHOR, "commit", "-q", "-m", "merge")
        assert re.fullmatch("first bad commit: [0-9a-f]+ merge", search())

    def test_a_branch_that_lacks_an_improvement_has_no_bad_commit(self, search, repository):
        (repository / "README.md").write_text("worse\n")
        commit(repository, "slow from the start")
        git(repository, "checkout", "-q", "-b", "faster")
        (repository / "README.md").write_text("same\n")
        commit(repository, "faster")
        git(repository, "checkout", "-q", "work")
        assert "has an improvement that" in search("worse", "worse", base="faster")

    def test_commits_of_a_branch_before_the_ancestor_was_merged_are_not_searched(self, search, repository):
        (repository / "README.md").write_text("worse\n")
        commit(repository, "slow from the start")
        git(repository, "checkout", "-q", "-b", "faster")
        (repository / "quick.md").write_text("quick\n")
        commit(repository, "faster")
        git(repository, "checkout", "-q", "work")
        (repository / "README.md").write_text("worse\n0\n")
        commit(repository, "old work")
        git(repository, *AUTHOR, "merge", "-q", "--no-ff", "--no-edit", "faster")
        assert re.fullmatch("first bad commit: [0-9a-f]+ it is worse", search("same", "worse", base="faster"))

    def test_an_ancestor_that_cannot_be_measured_ends_the_search(self, search, repository):
        (repository / "README.md").write_text("cannot be installed\n")
        commit(repository, "not installed")
        git(repository, "checkout", "-q", "-b", "other")
        (repository / "README.md").write_text("same\n")
        commit(repository, "other")
        git(repository, "checkout", "-q", "work")
        assert "no first bad commit: " in search("worse", base="other")

    def test_other_histories(self, search, repository):
        git(repository, "checkout", "-q", "--orphan", "alone")
        assert "have no common ancestor" in search("worse")
        assert "can be searched" in search("same", base="HEAD")
