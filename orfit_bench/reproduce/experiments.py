"""The experiments by name, in the order of the sources."""

from __future__ import annotations

from orfit_bench.reproduce.experiment import Experiment
from orfit_bench.reproduce.forgetting import FORGETTING
from orfit_bench.reproduce.krasulina_distributed import KRASULINA_DISTRIBUTED
from orfit_bench.reproduce.krasulina_figure_1 import KRASULINA_FIGURE_1
from orfit_bench.reproduce.krasulina_table_1 import KRASULINA_TABLE_1
from orfit_bench.reproduce.orfit_rotated_digits import ORFIT_ROTATED_DIGITS
from orfit_bench.reproduce.orfit_unlimited import ORFIT_UNLIMITED
from orfit_bench.reproduce.sgd_rate import SGD_RATE
from orfit_bench.reproduce.survey_figure_1 import SURVEY_FIGURE_1
from orfit_bench.reproduce.survey_figure_2 import SURVEY_FIGURE_2
from orfit_bench.reproduce.survey_figure_5 import SURVEY_FIGURE_5
from orfit_bench.reproduce.survey_figure_7 import SURVEY_FIGURE_7
from orfit_bench.reproduce.survey_figure_8 import SURVEY_FIGURE_8

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        ORFIT_ROTATED_DIGITS,
        ORFIT_UNLIMITED,
        KRASULINA_FIGURE_1,
        KRASULINA_TABLE_1,
        KRASULINA_DISTRIBUTED,
        SURVEY_FIGURE_1,
        SURVEY_FIGURE_2,
        SURVEY_FIGURE_5,
        SURVEY_FIGURE_7,
        SURVEY_FIGURE_8,
        FORGETTING,
        SGD_RATE,
    )
}
