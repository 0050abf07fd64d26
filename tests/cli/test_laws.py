"""The commands `orfit-bench laws` and `map`."""

import pytest
from helpers.cases import offering
from helpers.commands import invoke

import orfit_bench as ob
from orfit_bench.conformance import laws


class TestLaws:
    def test_every_law_of_a_method_is_printed_with_its_source(self):
        result = invoke("laws", "apa")
        assert result.exit_code == 0
        for law in ob.methods()["apa"].theory.laws:
            assert law.name in result.output
        assert "apa = icl" in result.output
        assert f"of {len(laws.cases('apa'))} laws hold" in result.output

    def test_a_broken_kernel_ends_in_one(self):
        class Deaf:
            learn = staticmethod(lambda s, X, Y, p, out: len(X))

        ob.register(offering("deaf", {"greedy": Deaf}), "deaf")
        try:
            result = invoke("laws", "greedy", "--backend", "deaf")
        finally:
            ob.unregister("deaf")
        assert result.exit_code == 1
        assert "0 of 2 laws hold" in result.output
        assert " !" in result.output

    def test_float32_and_usage_errors(self):
        assert "float32" in invoke("laws", "greedy", "--dtype", "float32").output
        for arguments, stated in (
            (("gready",), "Did you mean 'greedy'"),
            (("greedy", "--dtype", "half"), "want one of float64"),
            (("greedy", "--backend", "nump"), "Did you mean 'numpy'"),
        ):
            result = invoke("laws", *arguments)
            assert (result.exit_code, stated in result.output) == (2, True)

    @pytest.mark.slow
    def test_map(self, tmp_path):
        for name in ("map.svg", "map.png"):
            result = invoke("map", "--output", tmp_path / name)
            assert result.exit_code == 0
            assert (tmp_path / name).stat().st_size > 5000
        assert "min-norm" in (tmp_path / "map.svg").read_text()
        assert invoke("map", "--output", tmp_path / "map.xyz").exit_code == 2
        assert invoke("map", "--output", tmp_path).exit_code == 2
