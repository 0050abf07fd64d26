"""The transitions and noises of a fleet of filters, with an entry for each member."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from orfit_bench.learners.filtering.dynamics import FilterParameters
from orfit_bench.spec.arrays import to_host

HostArray = np.ndarray[Any, Any]


def stack_parameters(models: Sequence[FilterParameters]) -> FilterParameters:
    """Join the parameters of filters, with one entry each, to parameters with an entry for each filter, in host memory.

    An entry without effect, an identity or a noise of zero, is filled with zeros.
    """
    size = models[0].sizes[0]
    noise = np.concatenate([to_host(model.observation_noise).reshape(1) for model in models])
    return models[0]._replace(
        transition=_stack([model.transition for model in models], size),
        process_noise=_stack([model.process_noise for model in models], size),
        observation_noise=noise,
        is_dynamic=np.concatenate([model.is_dynamic for model in models]),
    )


def _stack(entries: Sequence[Any], size: int) -> HostArray | None:
    """Entries (1,), (1, size) or (1, size, size) as one array; of vectors or matrices if any entry is one."""
    given = [None if entry is None else to_host(entry)[0] for entry in entries]
    dims = max((entry.ndim for entry in given if entry is not None), default=-1)
    if dims < 0:
        return None
    found = np.zeros((len(given), *(size,) * dims), next(entry.dtype for entry in given if entry is not None))
    for place, entry in enumerate(given):
        if entry is not None and dims == 2 and entry.ndim < 2:
            np.fill_diagonal(found[place], entry)
        elif entry is not None:
            found[place] = entry
    return found
