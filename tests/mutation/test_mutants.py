"""Mutants: what is changed, what judges it, and how an interrupted run is resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers.distributions import install, python

from orfit_bench.mutation import children
from orfit_bench.mutation.mutants import Mutant, make_mutants
from orfit_bench.mutation.run import MutantResult, MutationReport
from orfit_bench.mutation.sources import Source
from orfit_bench.new_plugin import write

CODE = '''"""A file."""


def update(s: int, x: float) -> float:
    """Add."""
    if x > 1:
        s.used[...] += 1
    return s.w + x * 2


def other(x: int) -> int:
    return x + 1
'''


def mutants_of(tmp_path: Path, lines: list[tuple[int, int]]) -> list[Mutant]:
    path = tmp_path / "kernel.py"
    path.write_text(CODE)
    return list(make_mutants(Source("kernel", str(path), lines, [])))


def test_statements_operators_numbers_and_branches_are_changed(tmp_path: Path) -> None:
    found = {(m.line, m.after.replace(" ", "")) for m in mutants_of(tmp_path, [(5, 8)])}
    assert (7, "pass") in found
    assert (7, "s.used[...]-=1") in found
    assert (8, "returns.w-x*2") in found
    assert (8, "returns.w+x*3") in found
    assert (6, "ifx>=1:") in found
    assert (6, "ifnotx>1:") in found


def test_only_the_lines_of_the_kernel_are_changed_and_every_mutant_is_another_program(tmp_path: Path) -> None:
    found = mutants_of(tmp_path, [(5, 8)])
    assert {m.line for m in found} == {6, 7, 8}
    assert len({m.code for m in found}) == len(found)
    assert all(m.before != m.after for m in found)
    assert {m.line for m in mutants_of(tmp_path, [(11, 12)])} == {12}


JUDGE = """
import json, sys
from pathlib import Path
from orfit_bench.conformance.result import PlannedCheck
from orfit_bench.mutation import children
from orfit_bench.mutation.children import Question, Timed
from orfit_bench.mutation.mutants import Mutant
(source,) = children.find(Question(["lms"], ["numpy"], ["float64"], [], 0))
code = Path(source.path).read_text()
checks = [Timed(PlannedCheck("agrees_with_batch_solution", "lms", "numpy", "float64", 0), -0.7)]
for before, after in json.loads(sys.argv[1]):
    assert code.count(before) == 1
    child = children.judge(Mutant(source.module, 0, before, after, code.replace(before, after)), checks)
    print(json.dumps(children.verdict(*child.wait())))
"""


@pytest.mark.parametrize(
    ("survived", "n", "total", "interval"),
    [(0, 4, 4, (100, 100)), (5, 50, 900, (78.6, 95.7)), (0, 10, 50, (72.2, 100))],
)
def test_the_score_of_a_sample_has_a_confidence_interval(
    survived: int, n: int, total: int, interval: tuple[float, float]
) -> None:
    results = [MutantResult("m", "p", 1, "a", "b", i >= survived) for i in range(n)]
    assert MutationReport(results, 0, total).interval == pytest.approx(interval, abs=0.05)


@pytest.mark.slow
def test_a_mutant_is_killed_by_wrong_numbers_a_hang_and_a_death() -> None:
    step = "w = s.w + p"
    hang, death = f"while True: pass\n    {step}", f"import os; os._exit(0)\n    {step}"
    changes = [(step, "w = s.w - p"), (step, hang), (step, death), (step, "w = p"), ("step_size[0]", "step_size[-1]")]
    done = python("-c", JUDGE, json.dumps(changes))
    assert done.returncode == 0, done.stderr
    numbers, late, dead, error, survived = map(json.loads, done.stdout.splitlines())
    check = "agrees_with_batch_solution of lms on numpy (float64)"
    assert numbers[:2] == [True, check]
    assert late == [True, check, "time limit"]
    assert dead == [True, check, "the process died (status 0)"]
    assert error[0]
    assert survived == [False, "", ""]


def test_a_process_that_has_imported_the_kernel_cannot_judge_it() -> None:
    with pytest.raises(RuntimeError, match="judge mutants in a new process"):
        children.judge(Mutant("orfit_bench", 1, "", "", ""), [])


@pytest.mark.slow
def test_a_kernel_that_fails_unchanged_is_refused(tmp_path: Path) -> None:
    write("my-own", folder=tmp_path / "mine")
    kernel = tmp_path / "mine/src/my_own/kernel.py"
    kernel.write_text(kernel.read_text().replace("return True", "return None"))
    done = python("-m", "orfit_bench", "mutants", "my_own", site=install(tmp_path / "mine"), cwd=tmp_path)
    assert done.returncode == 2
    assert "the unchanged kernel fails" in done.stderr
    assert "orfit-bench conform my_own" in done.stderr


@pytest.mark.slow
def test_a_plugin_is_evaluated_and_a_killed_run_resumes(tmp_path: Path) -> None:
    write("my-own", folder=tmp_path / "mine")
    site = install(tmp_path / "mine")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "orfit_bench", "mutants", "my_own", "--fail-under", "80"]
    begun = subprocess.Popen(command, env=environment, cwd=tmp_path, start_new_session=True)
    records = tmp_path / "mutants.journal"
    while len(list(records.glob("*.json"))) < 5:
        time.sleep(0.1)
    os.killpg(begun.pid, signal.SIGKILL)
    begun.wait()
    before = {path: path.stat().st_mtime_ns for path in records.glob("*.json")}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(before)} of them in an earlier run" in done.stdout
    assert {path: path.stat().st_mtime_ns for path in before} == before
    part = subprocess.run([*command, "--sample", "9"], env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert part.stdout.rpartition("survived: ")[2].count("9 mutants, 9 of them in an earlier run: ") == 1
    assert "of all" in part.stdout
    again = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.stdout.count("survived: ") == done.stdout.count("survived: ")
