"""Results of the tests, changed and written to files."""

import numpy as np
from click.testing import CliRunner

from orfit_bench.bench import results
from orfit_bench.cli import main


def changed(before, method=None, **numbers):
    """The results with the named metrics multiplied by these factors, for one method or for all."""
    after = before.copy(deep=True)
    at = after["method"].values == method if method else np.ones(after.sizes["cell"], bool)
    for name, factor in numbers.items():
        after[name].values[at] *= factor
    return after


def files(tmp_path, **named):
    for name, dataset in named.items():
        results.write(dataset, tmp_path / f"{name}.nc")
    return {name: str(tmp_path / f"{name}.nc") for name in named}


def call(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])
