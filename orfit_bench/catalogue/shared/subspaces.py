"""Settings, initial bases and merge rules shared by the methods for subspaces. C is (d, k)."""

from __future__ import annotations

import numpy as np

from orfit_bench.catalogue.shared.merging import weighted_mean
from orfit_bench.spec.matrix_types import Matrix
from orfit_bench.spec.merge import Merge, Side
from orfit_bench.spec.setting import Setting
from orfit_bench.spec.state import Array, Draw, Field, Settings, Sizes
from orfit_bench.spec.types import Integer, NumberOrSchedule

N_COMPONENTS = Setting("n_components", Integer(1), 2, "number of directions k to estimate, at most d")
BATCH_SIZE = Setting("batch_size", Integer(1), 1, "number of rows N used in one step")
INITIAL_BASIS = Setting(
    "initial_basis", Matrix(), None, "basis (d, k) before the first row; None draws a random one", optional=True
)
DIMS = ("feature", "n_components")
SMALL = 1e-4
"""Scale of the Gaussian start of rules without an orthonormal C (as in the paper's published scripts)."""


def step_settings(step_size: float) -> tuple[Setting, ...]:
    """The settings of a rule with a step size that has this default."""
    step = Setting("step_size", NumberOrSchedule(0, closed="neither"), step_size, "step size: a number or a schedule")
    return N_COMPONENTS, step, BATCH_SIZE, INITIAL_BASIS


def orthonormal_start(settings: Settings, sizes: Sizes, draw: Draw) -> Array:
    """The orthonormal factor of initial_basis, or of Gaussian numbers."""
    return orthonormalize(_start(settings, sizes, draw, 1.0))


def small_start(settings: Settings, sizes: Sizes, draw: Draw) -> Array:
    """initial_basis unchanged, or small Gaussian numbers."""
    return _start(settings, sizes, draw, SMALL)


def _start(settings: Settings, sizes: Sizes, draw: Draw, scale: float) -> Array:
    shape, C = tuple(sizes[dim] for dim in DIMS), settings["initial_basis"]
    if C is None:
        return scale * draw(shape)
    if C.shape != shape:
        raise ValueError(f"initial_basis: got shape {C.shape}, want (features, n_components) = {shape}")
    if (rank := np.linalg.matrix_rank(C, rtol=np.sqrt(np.finfo(float).eps))) < shape[1]:
        raise ValueError(f"initial_basis: got rank {rank}, want {shape[1]}: independent columns")
    return np.asarray(C)


ORTHONORMAL = Field("basis", DIMS, "matrix C with orthonormal columns", start=orthonormal_start, compared="span")
UNCONSTRAINED = Field("basis", DIMS, "matrix C of rank k, columns not orthonormal", start=small_start, compared="span")


def orthonormalize(C: Array) -> Array:
    """The factor Q of C = Q R, where R has a positive diagonal."""
    Q, R = np.linalg.qr(C)
    signed: Array = Q * np.copysign(1, np.diagonal(R))
    return signed


def _merge_projections(a: Side, b: Side, settings: Settings) -> dict[str, Array]:
    C = [np.sqrt(side.rows / (a.rows + b.rows)) * side.fields["basis"] for side in (a, b)]
    k = settings["n_components"]
    return {"basis": np.linalg.svd(np.hstack(C), full_matrices=False)[0][:, :k]}


MEAN_MERGE = Merge(
    "averaged",
    "the mean of C, weighted by the number of rows (Krasulina paper, eq. 18); both learners should start from the "
    "same C",
    lambda a, b, settings: weighted_mean(a, b, "basis"),
)
PROJECTION_MERGE = Merge(
    "approximate",
    "an orthonormal C that spans the k leading directions of the mean of both projections CC', weighted by the "
    "number of rows; rotating either C does not change it",
    _merge_projections,
)
