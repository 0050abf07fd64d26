"""The experiments in the order of the sources; each is computed by the module of the same name, with underscores."""

from __future__ import annotations

from orfit_bench.spec import Experiment

RUNNER = "orfit_bench_papers.running:reproduce"

DECLARED = (
    Experiment(
        name="orfit-rotated-digits",
        source="thesis, section 5.1, Figure 5-1",
        summary="One pass over rotated images with a memory of ten directions: ORFit against forgetting baselines",
        seconds=40,
        runner=RUNNER,
        data=("digits", "mnist"),
    ),
    Experiment(
        name="orfit-unlimited",
        source="thesis, section 5.2, Figure 5-2",
        summary="One pass of ORFit without a limit on memory against a thousand epochs of SGD",
        seconds=35,
        runner=RUNNER,
        data=("digits", "mnist"),
    ),
    Experiment(
        name="krasulina-figure-1",
        source="Krasulina paper, Figure 1",
        summary="Excess loss of five rules for k-PCA along one sweep, against time",
        seconds=20,
        runner=RUNNER,
        data=("digits", "mnist", "cifar10"),
    ),
    Experiment(
        name="krasulina-table-1",
        source="Krasulina paper, Table 1",
        summary=(
            "Loss of five rules for k-PCA at the step chosen on a validation part, at a tenth and at ten times of it"
        ),
        seconds=70,
        runner=RUNNER,
        data=("digits", "mnist", "cifar10"),
    ),
    Experiment(
        name="krasulina-distributed",
        source="Krasulina paper, Figure 2 and Table 2",
        summary="Ten machines that learn a tenth of the rows each and are averaged in rounds, against one machine",
        seconds=40,
        runner=RUNNER,
        data=("digits", "mnist", "cifar10"),
    ),
    Experiment(
        name="survey-figure-1",
        source="survey, section II, Figure 1",
        summary="The matrix of errors of every model on every task, as a heat map for each method",
        seconds=15,
        runner=RUNNER,
        data=("digits", "mnist"),
    ),
    Experiment(
        name="survey-figure-2",
        source="survey, section II, Figure 2, Theorems 2 and 3",
        summary="LMS on two recurring tasks, with the step 1 and with alternating steps",
        seconds=10,
        runner=RUNNER,
        data=("digits", "mnist"),
    ),
    Experiment(
        name="survey-figure-5",
        source="survey, section IV, Figure 5",
        summary="RLS averages two tasks that share no solution, weighed by the forgetting factor",
        seconds=15,
        runner=RUNNER,
        data=("digits", "mnist"),
    ),
    Experiment(
        name="survey-figure-7",
        source="survey, section V, Figure 7 and Theorem 7",
        summary="Kalman filter and smoother: covariances shrink as rows come, and earlier tasks gain",
        seconds=20,
        runner=RUNNER,
    ),
    Experiment(
        name="survey-figure-8",
        source="survey, section VI, Figure 8",
        summary="The map of methods that equal each other, with the deviation measured on every line",
        seconds=10,
        runner=RUNNER,
    ),
    Experiment(
        name="forgetting",
        source="survey, sections I to IV, on the rotated digits of thesis, chapter 5",
        summary="Catastrophic forgetting of all regression methods side by side",
        seconds=80,
        runner=RUNNER,
        data=("digits", "mnist"),
    ),
    Experiment(
        name="sgd-rate",
        source="slides, SGD convergence",
        summary="Averaged SGD against its bound B G / sqrt(T), with constant and with running steps",
        seconds=35,
        runner=RUNNER,
        data=("digits",),
    ),
)
EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in DECLARED}
"""The experiments by name."""
