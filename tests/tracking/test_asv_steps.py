"""asv itself, over a history with three faults: the changes that it finds are those commits."""

import json
import os
import subprocess
import sys

import pytest

from benchmarks.gate_trials import change, git, kernel, scratch

HISTORY = [("", ""), ("", ""), ("", ""), ("slow", "lms"), ("", ""), ("", ""), ("", ""), ("memory", "rls"), ("", "")]
HISTORY += [("", ""), ("", ""), ("error", "nlms"), ("", ""), ("", ""), ("", "")]
FEW = """
METHODS = ["lms", "nlms", "rls"]


def pairs():
    return dict.fromkeys([(method, "numpy") for method in METHODS], "")
"""
WANTED = {
    "slow": "learners.Quick.track_kernel_seconds_a_sample('lms', 'numpy')",
    "memory": "learners.Quick.track_peak_bytes('rls', 'numpy')",
    "error": "learners.Quick.track_frozen_deviation('nlms', 'numpy')",
}


@pytest.mark.slow  # builds an environment and measures fifteen commits
def test_steps_are_found_at_their_commits(tmp_path):
    pytest.importorskip("asv", reason="asv is not installed: python3 dev.py track")
    repository = scratch(tmp_path)
    faults = {}
    for i, (fault, method) in enumerate(HISTORY):
        with kernel(repository, method or "oja", "numpy").open("a") as file:
            file.write(change(fault, method, "numpy") if fault else f"\n# commit {i}\n")
        git(repository, "commit", "-q", "-a", "-m", fault or "nothing")
        if fault:
            faults[fault] = git(repository, "rev-parse", "HEAD")
    few = repository / "orfit_bench/tracking/workloads/__init__.py"  # of the tree: what is measured, not what is
    few.write_text(few.read_text() + FEW)

    def asv(*arguments):
        command = [sys.executable, "-m", "asv", *arguments]
        environment = {**os.environ, "HOME": str(tmp_path)}
        done = subprocess.run(command, cwd=repository, capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]

    asv("machine", "--yes")
    asv("run", "base..main", "--bench", "Quick")
    asv("publish")
    pages = repository / ".asv" / "html"
    commits = json.loads((pages / "index.json").read_text())["revision_to_hash"]
    found = json.loads((pages / "regressions.json").read_text())["regressions"]
    steps = {name: {commits[str(jump[1])] for jump in jumps} for name, *_, jumps in found}
    assert {fault: steps.get(name) for fault, name in WANTED.items()} == {f: {c} for f, c in faults.items()}
