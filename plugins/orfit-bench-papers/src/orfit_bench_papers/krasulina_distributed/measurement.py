"""The axes of the experiment, and the measurement of a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench import average, restore
from orfit_bench.errors import DivergedError
from orfit_bench.spec.data import Array
from orfit_bench_papers import _krasulina as k_pca
from orfit_bench_papers.procedure import Axes, Cell, Setup, about

if TYPE_CHECKING:
    import xarray

READINGS: dict[str, tuple[str, str, str]] = {
    "as here": ("", "", ""),
    "own starts": ("starts of the machines", "one for all", "one each"),
    "signs": ("signs that a QR leaves open", "a positive diagonal of R", "as LAPACK's QR has them"),
}
"""Details that the paper does not specify: the name, the interpretation used here, and another one."""
SIGNED = ("Oja", "Krasulina", "Incremental")
"""Methods with an orthonormal C; averages of C are orthonormalized."""
TABLE_2 = {
    "mnist": {5: ((37.17, 0.01), (35.17, 0.00)), 20: ((18.77, 0.02), (18.77, 0.01))},
    "cifar10": {5: ((87.01, 0.00), (87.02, 0.00)), 20: ((48.74, 0.04), (48.76, 0.04))},
}
"""From data set and k to (single, parallel), each (loss, its standard deviation)."""
MEANT = {37.17: 35.17}
"""A misprinted digit in Table 2: Table 1 has the other number for the same run."""


def places(setup: Setup) -> Axes:
    """Every reading, k and method; the runs share a step, so they are in one cell."""
    return {"reading": list(READINGS), "k": list(setup["components"]), "learner": list(k_pca.METHODS)}


def measure(setup: Setup, cell: Cell) -> xarray.Dataset:
    """Loss of one machine, and for each round the losses of ten machines and of their combination."""
    import xarray

    k, name = cell["k"], cell["learner"]
    X = k_pca.images(setup.data)
    eta0 = k_pca.chosen(setup, name, k)
    single, combined, separate = [], [], []
    for run in range(setup["runs"]):
        seeds = _seeds(setup, run) if cell["reading"] == "own starts" else [run] * setup["machines"]
        single.append(k_pca.swept(k_pca.create_learner(setup, name, k, eta0, seeds[0]), X, setup.data, run).loss[-1])
        machines = [k_pca.create_learner(setup, name, k, eta0, seed) for seed in seeds]
        together, alone = rounds(machines, setup, run, cell["reading"] == "signs")
        combined.append(together)
        separate.append(alone)
    return xarray.Dataset(
        {
            "single": ("run", np.array(single), about("row^2", "loss of one machine after all rows")),
            "combined": (("run", "round"), np.array(combined), about("row^2", "loss of the machines' combination")),
            "machines": (
                ("run", "round"),
                np.array(separate),
                about("row^2", "mean loss of the machines before it"),
            ),
            "batch": ((), k_pca.batch_loss(setup.data, k), about("row^2", "loss of batch PCA")),
        },
        {"run": np.arange(setup["runs"]), "round": np.arange(1, setup["rounds"] + 1)},
    )


def _seeds(setup: Setup, run: int) -> list[int]:
    return [1000 + setup["machines"] * run + j for j in range(setup["machines"])]


def rounds(machines: list[Any], setup: Setup, seed: int, lapacks: bool) -> tuple[Array, Array]:
    """Losses of the combination and mean losses of the machines by rounds; NaN after a machine diverged."""
    X, count = k_pca.images(setup.data), setup["rounds"]
    order = np.random.default_rng([seed, 1]).permutation(len(X))
    together, alone = np.full(count, np.nan), np.full(count, np.nan)
    for i, block in enumerate(np.array_split(order, count)):
        try:
            for j, machine in enumerate(machines):
                machine.partial_fit(X[block[j :: len(machines)]])
            alone[i] = np.mean([k_pca.loss_of(machine, setup.data) for machine in machines])
            machines = combined(machines, lapacks)
        except DivergedError:
            break
        together[i] = k_pca.loss_of(machines[0], setup.data)
    return together, alone


def combined(machines: list[Any], lapacks: bool = False) -> list[Any]:
    """The machines with the mean of their C, orthonormalized if the rule keeps C orthonormal; only C is averaged.

    The paper does this for the rules without a separate average, to show that it fails for them. With the signs of
    LAPACK, the C of each machine also gets these signs before the mean, as after a step that ends in such a QR.
    """
    if machines[0].method.combine.averages:
        average(machines)
        return machines
    states = [machine.state() for machine in machines]
    bases = [state["basis"].values for state in states]
    Q, R = np.linalg.qr(np.mean([np.linalg.qr(C)[0] for C in bases] if lapacks else bases, axis=0))
    for state in states:
        state["basis"][...] = Q if lapacks else Q * np.copysign(1, np.diagonal(R))
    return [restore(state, backend=machines[0].backend.name) for state in states]
