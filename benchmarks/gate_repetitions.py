"""Repeat gates in the repository of a plugin, and count false alarms and detected slow kernels.

    python benchmarks/gate_repetitions.py --folder DIR --unchanged 40 --slow 20 --slowdown 1.2

writes a plugin from the template into DIR, with one commit that changes nothing and one whose kernel is slower, and
compares each repeatedly with the first commit. Verdicts are appended to DIR/repetitions.jsonl; the same command
continues there. Prints the counts, the seconds of a gate, and the load of the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from benchmarks.gate_trials import change, gate, git

METHOD = "my_rule"


def make_repository(folder: Path, slowdown: float) -> Path:
    """Write the plugin, with the tags base, unchanged and slow."""
    repository = folder / "my-rule"
    if not repository.is_dir():
        command = [sys.executable, "-m", "orfit_bench", "new-plugin", "my-rule", "--folder", str(repository)]
        subprocess.run(command, check=True, capture_output=True)
        kernel = repository / "src" / METHOD / "kernel.py"
        original = kernel.read_text()
        texts = {"base": original, "unchanged": f"{original}# the same\n"}
        texts["slow"] = original + change("slow", METHOD, "numpy", slowdown)
        git(repository, "init", "-q")
        for tag, text in texts.items():
            kernel.write_text(text)
            git(repository, "add", "-A")
            git(repository, "commit", "-q", "-m", tag)
            git(repository, "tag", tag)
    return repository


def main(arguments: list[str]) -> None:
    """Run the gates and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--unchanged", type=int, default=40)
    parser.add_argument("--slow", type=int, default=20)
    parser.add_argument("--slowdown", type=float, default=1.2)
    given = parser.parse_args(arguments)
    folder = given.folder.resolve()
    repository, log = make_repository(folder, given.slowdown), folder / "repetitions.jsonl"
    done = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    wanted = {"unchanged": given.unchanged, "slow": given.slow}
    for i in range(max(wanted.values())):
        for tag, count in wanted.items():
            if i >= count or i < sum(d["tag"] == tag for d in done):
                continue
            git(repository, "checkout", "-q", tag)
            status, findings, seconds = gate(repository)
            changes = {f["metric"]: f["change"] for f in findings if f["verdict"] not in ("same", "n/a")}
            load = round(os.getloadavg()[0], 1)
            done.append({"tag": tag, "status": status, "changes": changes, "seconds": round(seconds), "load": load})
            with log.open("a") as file:
                file.write(json.dumps(done[-1]) + "\n")
            print(done[-1], flush=True)
    for tag in wanted:
        found = [d for d in done if d["tag"] == tag]
        if found:
            seconds, loads = ([d[name] for d in found] for name in ("seconds", "load"))
            print(
                f"{tag}: a regression in {sum(d['status'] for d in found)} of {len(found)} gates, "
                f"{median(seconds)} s each, load {min(loads)} to {max(loads)}"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
