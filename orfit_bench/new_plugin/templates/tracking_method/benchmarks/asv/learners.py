"""Time, memory and accuracy over the commits of this repository."""

from pathlib import Path

from orfit_bench import tracking


class Learners(tracking.LearnerBenchmarks):
    """Each time is measured several times per commit."""

    methods = ("my_plugin",)
    trajectories = Path(__file__).parents[1] / "trajectories.npz"
