"""Small runs of the experiments, which their tests share."""

import functools
from dataclasses import replace

import pytest

from orfit_bench.catalogue.streams import digits, rotated_digits
from orfit_bench_papers import _krasulina, data, running, survey_figure_8
from orfit_bench_papers.forgetting import measurement as forgetting
from orfit_bench_papers.krasulina_table_1 import measurement as krasulina_table_1
from orfit_bench_papers.setups import find, make_setup
from orfit_bench_papers.sgd_rate import measurement as sgd_rate

SMALL = {
    "orfit-rotated-digits": {"runs": 2, "rows": 8, "memory": 3, "sample": 3},
    "orfit-unlimited": {"runs": 1, "rows": 12, "epochs": 4, "sample": 3},
    "krasulina-figure-1": {"runs": 2, "components": (5,), "points": 3},
    "krasulina-table-1": {"runs": 1, "components": (5,)},
    "krasulina-distributed": {"runs": 1, "components": (5,), "machines": 3, "rounds": 2},
    "survey-figure-1": {"runs": 1, "tasks": 13},
    "survey-figure-2": {"runs": 2, "steps": 12},
    "survey-figure-5": {"runs": 1, "betas": 9, "rows": 10},
    "survey-figure-7": {"runs": 3, "tasks": 3, "d": 2},
    "survey-figure-8": {},
    "forgetting": {"runs": 1, "rows": 12},
    "sgd-rate": {"runs": 2, "repeats": 2, "horizons": (20, 50)},
}


@pytest.fixture(scope="session")
def numbers():
    """The numbers of a small run, by the experiment's name."""
    return SMALL


def clear():
    """Clear caches of data made from other images."""
    for kept in (_krasulina.moment, _krasulina._chosen):
        kept.cache_clear()


@pytest.fixture(scope="module")
def small():
    """Real images, but few; few steps to choose from, few lines on the map."""
    images, labels = digits.raw()
    few = data.centred("digits")[:60]
    lines = dict(list(survey_figure_8.named().items())[:2])
    entries = {name: replace(e, steps=e.steps and (-2, -1)) for name, e in forgetting.ENTRIES.items()}
    clear()
    with pytest.MonkeyPatch.context() as patch:
        split = rotated_digits.split
        patch.setattr(rotated_digits, "split", lambda images, n, rng: split(images[: n + 12], n, rng))
        patch.setattr(_krasulina, "images", lambda name: few)
        patch.setattr(
            _krasulina, "GRID", {name: (highest - 2, highest) for name, (_, highest) in _krasulina.GRID.items()}
        )
        patch.setattr(krasulina_table_1, "PAPERS_ROWS", 120)
        patch.setattr(survey_figure_8, "named", lambda: lines)
        patch.setattr(forgetting, "ENTRIES", entries)
        patch.setattr(sgd_rate, "even_or_odd", functools.cache(lambda: sgd_rate.hinge(images[:40], labels[:40])))
        yield
    clear()


@pytest.fixture(scope="module")
def created(small, tmp_path_factory):
    """Small runs in this process on the reference backend, each once, with the files that they wrote."""

    @functools.cache
    def run(name):
        experiment, folder = find(name), tmp_path_factory.mktemp("made")
        setup = replace(make_setup(experiment, **SMALL[name]), backend="numpy")
        return running.run(experiment, setup, folder, isolate=False)

    return run
