"""The plan of `python3 dev.py gpu`: cases, sizes and units."""

import argparse
import importlib

import numpy as np

from benchmarks.gpu import cases, looking, measuring, options, plan
from benchmarks.performance import moving
from orfit_bench_cupy import METHODS


def chosen(**more):
    """Options as parsed by `python3 dev.py gpu`."""
    return argparse.Namespace(**{**vars(options.parsed([])), **more})


def test_every_method_that_computes_is_measured():
    assert {case.method for case in cases.CASES} == {*METHODS} - {"greedy"}


def test_rows_of_all_turns_are_independent():
    case = cases.by_name()["icl"]
    X = cases.data(case, 500, 40, "float64")[0]
    rows = np.concatenate([X, *(measuring.turned(X, turn) for turn in range(1, 5))])
    assert np.linalg.cond(rows) < 10


def test_units_have_names_of_their_own_and_functions_that_are_there():
    for options_of in (chosen(), chosen(sizes="small")):
        for part in plan.plan(options_of):
            assert len({unit.name for unit in part.units}) == len(part.units)
            for unit in part.units:
                module, _, function = unit.call.partition(":")
                code = getattr(importlib.import_module(module), function).__code__
                assert {*code.co_varnames[1 : code.co_argcount]} == {*unit.arguments, *unit.how}


def test_units_are_chosen_by_method_and_case():
    few = {part.name: part.units for part in plan.plan(chosen(methods=["kalman"], cases=["transition"]))}
    assert [unit.name for unit in few["check-float32"]] == ["kalman"]
    assert [*{unit.case for unit in few["tables"]}] == ["", "kalman, transition"] or len(few["tables"]) == 9
    assert few["tables"][0].name == "limits"
    assert few["profile"] == []
    assert len(few["look"]) > len(looking.FACTS)


def test_the_most_important_sizes_come_first_and_the_large_ones_last():
    sizes = [(case.name, d, dtype) for case, d, dtype in cases.sizes(cases.CASES)]
    assert sizes[:2] == [("rls", 1_000, "float64"), ("rls", 4_096, "float64")]
    assert len(sizes) == len({*sizes}) == 2 * sum(len(case.widths) for case in cases.CASES)
    assert {d >= cases.LARGE for _, d, _ in sizes[-20:]} == {True}


def test_what_moves_is_measured_with_the_same_settings():
    assert cases.by_name()["kalman, transition"].settings is moving
