"""Commands that are killed at random moments end with the same results, and the trials notice those that do not."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from helpers.kill_trials import TRIALS, Trial, try_often

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
START = "import os, sys, time; from pathlib import Path; out = Path('out')\n"
IN_PLACE = "with out.open('w') as f:\n    for i in range(10): f.write('x'); f.flush(); time.sleep(0.02)\n"
COUNTS = "n = Path('n'); n.write_text(n.read_text() + 'x' if n.exists() else 'x'); time.sleep(0.2)\n"
COUNTS += "out.write_text(n.read_text())\n"
LEAVES = "Path('half.tmp').write_text('x'); time.sleep(0.2); os.replace('half.tmp', out)\n"
GOES_ON_ONCE = "Path('mine').mkdir(); time.sleep(0.2); out.write_text('x')\n"
ROUNDS = 20  # a kill at a random moment can miss the fault, more often on a busy machine


def ten(path: Path) -> str:
    text = path.read_text()
    if len(text) != 10:
        raise ValueError(text)
    return text


@pytest.mark.integration
@pytest.mark.parametrize(
    ("source", "reader", "problem"),
    [
        (IN_PLACE, ten, "damaged after a kill"),
        (IN_PLACE, Path.read_text, "neither old nor new after a kill"),
        (COUNTS, Path.exists, ""),
        (COUNTS, Path.read_text, "the results are others"),
        (LEAVES.replace("'half.tmp'", "f'{os.getpid()}.tmp'"), Path.read_text, "files are left"),
        (LEAVES, Path.read_text, ""),
        (GOES_ON_ONCE, Path.read_text, "exit status 1"),
    ],
)
def test_a_command_that_cannot_be_killed_is_noticed(source, reader, problem):
    trial, rng = Trial([sys.executable, "-I", "-c", START + source], {"out": reader}), random.Random(0)
    kills, noticed = 0, []
    for _ in range(ROUNDS):
        counts, found = try_often(trial, 8, rng)
        assert counts["fine"] == 8 - len(found)
        kills += counts["kills"]
        noticed += found
        if kills and (not problem or any(problem in text for text in noticed)):
            break
    assert kills > 0
    assert any(problem in text for text in noticed) if problem else noticed == []


@pytest.mark.slow
@pytest.mark.parametrize("name", TRIALS)
def test_commands_that_are_killed_end_with_the_same_results(name, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))  # one command is a helper
    counts, problems = try_often(TRIALS[name], 3, random.Random(0))
    assert problems == []
    assert counts["fine"] == 3
