"""Mutants of learner code: which modules have them, and that the checks of a kernel judge them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.distributions import python

from orfit_bench.mutation.children import Question
from orfit_bench.mutation.learner_code import is_learner_code, modules_of
from orfit_bench.mutation.mutants import Mutant
from orfit_bench.mutation.run import make_mutant_key
from orfit_bench.mutation.sources import Source, find_sources

RULE = "orfit_bench.learners.rule"
PAIRS = [("numpy", "lms")]


def test_a_package_stands_for_its_modules() -> None:
    found = modules_of("orfit_bench.learners")
    assert RULE in found
    assert "orfit_bench.learners.filtering.rule" in found
    assert modules_of(RULE) == [RULE]


def test_every_function_of_learner_code_can_be_changed() -> None:
    (source,) = find_sources(PAIRS, [RULE])
    text = Path(source.path).read_text().splitlines()
    assert source.module == RULE
    assert source.pairs == PAIRS
    assert source.contains(1 + next(i for i, line in enumerate(text) if "state.n_samples += X.shape[0]" in line))
    assert not source.contains(1)


def test_learner_code_and_modules_of_kernels_can_be_named_together() -> None:
    found = [source.module for source in find_sources(PAIRS, [RULE, "orfit_bench.kernels.guards"])]
    assert found == [RULE, "orfit_bench.kernels.guards"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "orfit_bench.learners.rul",
            "no module of the learner code .* Did you mean 'orfit_bench.learners.rule'",
        ),
        ("orfit_bench.conformance.check", "none of the kernels uses a module .* is not learner code"),
        ("orfit_bench.learnersx", "none of the kernels uses a module"),
    ],
)
def test_other_modules_are_refused(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        find_sources(PAIRS, [name])


def test_what_judges_and_what_starts_processes_is_no_learner_code() -> None:
    assert not any(
        map(is_learner_code, ["orfit_bench", "orfit_bench.conformance", "orfit_bench.spec", "orfit_bench.jobs"])
    )


def test_verdicts_on_learner_code_are_kept_with_the_kernels() -> None:
    question = Question([], [], ["float64"], [], 0)

    def key(module: str, *pairs: tuple[str, str]) -> str:
        return make_mutant_key(Mutant(module, 1, "", "", "x = 1"), Source(module, "", [], list(pairs)), question)

    assert key(RULE, ("numpy", "lms")) != key(RULE, ("numpy", "rls"))
    assert key("kernel", ("numpy", "lms")) == key("kernel", ("numpy", "rls"))


JUDGE = """
import json, sys
from pathlib import Path
from orfit_bench.mutation import children
from orfit_bench.mutation.children import Question, Timed
from orfit_bench.conformance.result import PlannedCheck
from orfit_bench.mutation.mutants import Mutant
(source,) = children.find(Question(["lms"], ["numpy"], ["float64"], ["orfit_bench.learners.rule"], 0))
code = Path(source.path).read_text()
checks = [Timed(PlannedCheck(name, "lms", "numpy", "float64", 0), 0.0) for name in ("one_row", "rows_are_counted")]
for before, after in json.loads(sys.argv[1]):
    assert code.count(before) == 1
    child = children.judge(Mutant(source.module, 0, before, after, code.replace(before, after)), checks)
    print(json.dumps(children.verdict(*child.wait())))
"""


@pytest.mark.slow
def test_learner_code_is_replaced_in_a_child_alone() -> None:
    counted = "            self.advance(state, X, Y, 1, out, inputs)\n        state.n_samples += X.shape[0]"
    hang = counted.replace("state.n_samples", "while True: pass\n        state.n_samples")
    changes = [(counted, counted.replace("+=", "-=")), (counted, hang), (counted, f"{counted} + 0")]
    done = python("-c", JUDGE, json.dumps(changes))
    assert done.returncode == 0, done.stderr
    miscounted, late, survived = map(json.loads, done.stdout.splitlines())
    assert miscounted[:2] == [True, "rows_are_counted of lms on numpy (float64)"]
    assert late[0]
    assert late[2] == "time limit"
    assert survived == [False, "", ""]


@pytest.mark.slow
def test_a_process_that_has_loaded_a_plugin_cannot_judge_learner_code() -> None:
    done = python(
        "-c",
        "import orfit_bench_numpy\nfrom orfit_bench.mutation import children\n"
        f"from orfit_bench.mutation.mutants import Mutant\nchildren.judge(Mutant({RULE!r}, 1, '', '', ''), [])",
    )
    assert "RuntimeError: orfit_bench_numpy" in done.stderr
    assert "judge mutants in a new process" in done.stderr


@pytest.mark.slow
def test_the_command_judges_learner_code(tmp_path: Path) -> None:
    command = ["-m", "orfit_bench", "mutants", "lms", "--backend", "numpy", "--module", "orfit_bench.state.pending"]
    done = python(*command, "--sample", "2", "--workers", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "2 mutants: " in done.stdout
    assert "of all" in done.stdout
    assert "2 of them in an earlier run" in python(*command, "--sample", "2", cwd=tmp_path).stdout
