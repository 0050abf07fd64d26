"""Speed, memory and exactness of every method on every backend, over commits.

The measurements are defined in orfit_bench/tracking/workloads of this tree, for any installed commit; the gate uses the
same code. A commit is measured once, in `setup_cache`, and each benchmark looks up its number. n/a means that a commit
does not have a method or backend, and an error that it fails. For all quantities, larger is worse.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parents[2] / "orfit_bench" / "tracking" / "workloads" / "__init__.py"


def _loaded(file):
    spec = importlib.util.spec_from_file_location("orfit_bench_workloads", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


workloads = _loaded(HERE)
CALLS = ("latency", "learn_one_seconds", "predict_one_seconds", "prediction_seconds")
TIMED = dict.fromkeys(("seconds_per_sample", "kernel_seconds_per_sample", *CALLS), "s")
UNTIMED = {"state_bytes": "B", "batch_deviation": "relative", "frozen_deviation": "relative"}
OF_DEVICES = {"device_seconds_per_sample": "s", "device_peak_bytes": "B"}
PUBLISHED = {
    "seconds_per_sample": "seconds_a_sample",
    "kernel_seconds_per_sample": "kernel_seconds_a_sample",
    "latency": "seconds_a_row",
    "device_seconds_per_sample": "device_seconds_a_sample",
}
"""These benchmarks keep the names under which asv has their history; with other names it would start again."""
NOT_HERE = "n/a: "


def answered(work, measure):
    """A number, or a string with the reason why there is none, which starts with NOT_HERE if it does not apply."""
    try:
        if measure == "frozen_deviation":
            return workloads.trajectory_deviation(work.trajectory(), workloads.stored_trajectory(work.method))
        return getattr(work, measure)()
    except workloads.Missing as error:
        return f"{NOT_HERE}{error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def measured(measures, backends, sizes):
    """Every measure of every installed pair: {"measure method backend features": number or string}."""
    found = {}
    for method, backend in [pair for pair in workloads.pairs() if pair[1] in backends]:
        for d in sizes:
            work = workloads.Workload(method, backend, d)
            found |= {f"{m} {method} {backend} {d}": answered(work, m) for m in measures}
    return found


def peaks(backends, sizes):
    """Measure peak_bytes of every pair, in a process with exact memory counting."""
    environment = os.environ | {"PYTHONMALLOC": "malloc"}
    command = [sys.executable, __file__, json.dumps([list(backends), list(sizes)])]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


class _Learners:
    param_names = ["method", "backend"]
    params = [workloads.METHODS, ["numpy", "numba"]]
    timeout = 600
    sizes = [workloads.QUICK_SIZE]

    def setup(self, cache, method, backend, features=workloads.QUICK_SIZE):
        if not any(key.split()[1:3] == [method, backend] for key in cache):
            raise NotImplementedError(f"{method} on {backend} is not in this commit")  # shown as n/a


def _named_cells(measure):
    def track(self, cache, method, backend, features=workloads.QUICK_SIZE):
        value = cache[f"{measure} {method} {backend} {features}"]
        if isinstance(value, str) and not value.startswith(NOT_HERE):
            raise RuntimeError(value)
        if isinstance(value, str):
            return float("nan")  # asv's n/a
        return max(value, workloads.FLOOR) if measure.endswith("deviation") else value  # rounding is not a regression

    return track


def _add(cls, measures):
    for measure, unit in measures.items():
        track = _named_cells(measure)
        track.unit, track.version = unit, "1"  # otherwise asv drops the history if the code was rewritten
        track.__name__ = f"track_{PUBLISHED.get(measure, measure)}"
        setattr(cls, track.__name__, track)


class Quick(_Learners):
    """One size: for a pull request."""

    def setup_cache(self):
        backends = self.params[1]
        return measured([*TIMED, *UNTIMED], backends, self.sizes) | peaks(backends, self.sizes)

    setup_cache.timeout = 1200


class Full(_Learners):
    """The other sizes."""

    param_names = ["method", "backend", "features"]
    params = [workloads.METHODS, ["numpy", "numba"], workloads.FULL_SIZES]
    sizes = workloads.FULL_SIZES

    def setup_cache(self):
        backends = self.params[1]
        measures = [*TIMED, "state_bytes", "batch_deviation"]
        return measured(measures, backends, self.sizes) | peaks(backends, self.sizes)

    setup_cache.timeout = 3600


class Device(_Learners):
    """Benchmarks on a device, if there is one: its clock and memory in addition to those of the host."""

    params = [workloads.METHODS, ["cupy"]]

    def setup_cache(self):
        return measured([*TIMED, *UNTIMED, *OF_DEVICES], self.params[1], self.sizes)

    setup_cache.timeout = 1200


_add(Quick, TIMED | UNTIMED | {"peak_bytes": "B"})
_add(Full, TIMED | {"state_bytes": "B", "batch_deviation": "relative", "peak_bytes": "B"})
_add(Device, TIMED | UNTIMED | OF_DEVICES)


class Start:
    """New interpreters."""

    params = [list(workloads.STARTS)]
    param_names = ["what"]
    timeout = 120

    def track_seconds(self, what):
        try:
            return workloads.start_seconds(what)
        except workloads.Missing:
            return float("nan")

    track_seconds.unit, track_seconds.version = "s", "1"


if __name__ == "__main__":
    print(json.dumps(measured(["peak_bytes"], *json.loads(sys.argv[1]))))
