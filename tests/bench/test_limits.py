"""The limits of the benchmarks: they equal those that the methods declare, and change only together with their page."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from benchmarks.limits import BLOCK, LIMITS
from orfit_bench.catalogue.methods import METHODS

ROOT = Path(__file__).resolve().parents[2]
PAGE = next((ROOT / "docs/decisions").glob("0030-*.md"))
LETTERS = {"d": 70, "c": 3, "m": 11, "b": 5, "n": 20}
SIZES = {"feature": 70, "parameter": 70, "output": 3, "gradients": 1, "count": 11, "direction": 11, "input": 20}
USES = {  # the settings that a name of a limit stands for
    "apa": {"projection_order": 5},
    "orfit": {"memory": 20},
    "orfit, unlimited": {"memory": None},
    "kalman, transition": {"transition": np.full((70, 70), 0.9)},
}


def formula(name, **letters):
    code = LIMITS[name].__code__
    return LIMITS[name](**{k: v for k, v in letters.items() if k in code.co_varnames})


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_a_method_declares_its_limit(method):
    names = [n for n in LIMITS if n.partition(",")[0] == method.name and (n == method.name or n in USES)]
    assert method.name in names, f"write the limit of {method.name} in benchmarks/limits.py"
    for name in names:
        k = {"n_components": 7} if any(s.name == "n_components" for s in method.settings) else {}
        settings = {s.name: s.check(s.default) for s in method.settings} | USES.get(name, {}) | k
        outputs = 1 if method.state.layered else 3
        sizes = SIZES | {"output": outputs, "parameter": 20 * 3 if method.state.layered else 70, "gradients": 1}
        letters = LETTERS | {"k": 11 if method.state.layered else 7} | ({"m": 3} if method.state.layered else {})
        want = formula(name, **letters)
        assert (method.theory.cost.flops(settings, sizes), method.theory.cost.floats(settings, sizes)) == pytest.approx(
            want
        ), name


def test_a_state_that_moves_by_a_number_or_a_diagonal_needs_no_matrix_product():
    (kalman,) = (method for method in METHODS if method.name == "kalman")
    settings = {s.name: s.check(s.default) for s in kalman.settings}
    for F in (np.array(0.9), np.full(70, 0.9)):
        assert kalman.theory.cost.flops(settings | {"transition": F}, SIZES) == 3 * 70**2


def test_a_block_is_what_the_page_says():
    assert f"{BLOCK} rows" in PAGE.read_text()


@pytest.mark.parametrize("name", ["limits.py", "baselines.py"])
def test_goalposts_move_only_with_their_page(name):
    digest = hashlib.sha256((ROOT / "benchmarks" / name).read_bytes()).hexdigest()[:16]
    assert digest in PAGE.read_text(), f"benchmarks/{name} changed: say why in {PAGE.name}, and write its hash {digest}"
