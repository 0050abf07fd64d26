"""The limits of the machine: measured, stored, read again, and used as the limit of a throughput."""

import json
import os
import re

import numpy as np
import pooch
import pytest
from click.testing import CliRunner
from helpers.outcomes import created, table

import orfit_bench as ob
from orfit_bench.bench import Suite, roofline, run
from orfit_bench.bench.roofline import Roofline
from orfit_bench.cli import main
from orfit_bench.cli.warm import compile_kernel
from orfit_bench.jobs import processes
from orfit_bench.report.labels import shown
from orfit_bench.report.table import BEYOND, LIMIT, legend

FLAT = Roofline({"1000": 1e9, "100000": 1e8}, {"float64": 1e10, "float32": 2e10})


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / project)
    return tmp_path


def quick(monkeypatch):
    calls = []
    monkeypatch.setattr(roofline, "measure", lambda: calls.append(0) or FLAT)
    return calls


def test_bandwidth_between_the_sizes_measured():
    assert FLAT.bandwidth_at(1) == FLAT.bandwidth_at(1000) == pytest.approx(1e9)
    assert FLAT.bandwidth_at(10_000) == pytest.approx(np.sqrt(1e17))
    assert FLAT.bandwidth_at(1e12) == pytest.approx(1e8)


def test_the_slower_of_the_two_is_the_limit():
    assert FLAT.seconds(1e10, 1.0, 1.0, "float64") == pytest.approx(1)
    assert FLAT.seconds(1.0, 2e8, 1e6, "float32") == pytest.approx(2)


def test_a_machine_is_measured_once(cache, monkeypatch):
    calls = quick(monkeypatch)
    assert roofline.load() is None
    file = roofline.ensure_measured()
    assert roofline.load() == FLAT == roofline.read(file)
    assert roofline.ensure_measured() == file
    assert len(calls) == 1
    roofline.ensure_measured(fresh=True)
    assert len(calls) == 2


ZERO = '{"bandwidth": {"4096": 0.0}, "matrix_product": {"float64": 1.0, "float32": 1.0}}'
ONE = '{"bandwidth": {"4096": 1.0}, "matrix_product": {"float64": 1.0}}'


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"bandwidth": {}, "matrix_product": {}}', '{"bandwidth": 3}', ZERO, ONE]
)
def test_a_damaged_file_is_measured_again(cache, monkeypatch, text):
    quick(monkeypatch)
    file = roofline.ensure_measured()
    file.write_text(text)
    assert roofline.load() is None
    roofline.ensure_measured()
    assert roofline.load() == FLAT


def test_nowhere_to_keep_it(cache, monkeypatch):
    quick(monkeypatch)
    (cache / "orfit_bench").write_text("a file where the folder should be")
    assert not roofline.ensure_measured().is_file()
    assert roofline.load() is None


def test_other_threads_are_another_limit(monkeypatch):
    before = roofline.path()
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    assert roofline.path() != before


def test_figures_of_this_machine_are_possible(monkeypatch):
    monkeypatch.setattr(roofline, "SIZES", (4096, 2**20))
    monkeypatch.setattr(roofline, "SECONDS", 0.01)
    found = roofline.measure()
    near, far = found.bandwidth.values()
    assert 1e12 > near >= far > 1e8
    assert 1e13 > found.matrix_product["float32"] > found.matrix_product["float64"] / 2 > 1e8


class TestLimit:
    def learned(self, method, n=10, d=4, **settings):
        rng = np.random.default_rng(0)
        return ob.create(method, **settings).partial_fit(rng.standard_normal((n, d)), np.ones(n))

    def test_is_the_time_of_the_declared_cost(self):
        lms = self.learned("lms", d=1000)
        assert roofline.throughput_limit(lms, 10, FLAT) == pytest.approx(FLAT.bandwidth_at(8000) / (3 * 1000 * 8))

    def test_of_a_growing_state_is_that_of_its_mean_size(self):
        one = roofline.throughput_limit(self.learned("icl", n=1, d=50), 1, FLAT)
        ten = roofline.throughput_limit(self.learned("icl", n=10, d=50), 10, FLAT)
        assert one > ten

    @pytest.mark.parametrize("more", [{"model": ob.MLP()}, {}])
    def test_is_unknown_for_other_models_and_unmeasured_machines(self, more):
        assert roofline.throughput_limit(self.learned("lms", **more), 10, FLAT if more else None) is None

    def test_no_cost_is_no_limit(self):
        free = Roofline({"1": np.inf}, {"float64": np.inf})
        assert roofline.throughput_limit(self.learned("greedy"), 10, free) is None


def test_a_run_tells_its_share(cache, monkeypatch):
    quick(monkeypatch)
    suite = Suite(methods=["lms"], backends=["numpy"], streams=["drift"], rows=[50])
    found = run(suite, isolate=False)
    learner = ob.create("lms").partial_fit(np.ones((1, int(found["d"].item()))), [1.0])
    want = found["throughput"].item() / roofline.throughput_limit(learner, 1, FLAT)
    assert found["share_of_limit"].item() == pytest.approx(want)


class TestCommands:
    def test_printed_roofline_is_the_stored_one(self, cache, monkeypatch):
        roofline_of_worker = roofline.path().with_name("worker.json")
        roofline_of_worker.parent.mkdir(parents=True)
        roofline_of_worker.write_text(
            json.dumps({"bandwidth": dict(FLAT.bandwidth), "matrix_product": dict(FLAT.matrix_product)})
        )
        monkeypatch.setattr(
            "orfit_bench.bench.executors.SubprocessExecutor.measure_machine", lambda worker, fresh: roofline_of_worker
        )
        reported = CliRunner().invoke(main, ["roofline"])
        assert reported.exit_code == 0, reported.output
        assert re.search(r"a working set of 100 kB +0.1 GB", reported.output)
        assert "float64" in reported.output
        assert str(roofline_of_worker) in reported.output.replace("\n", "")

    @pytest.mark.slow
    def test_warm_compiles_all_compiled_backends(self):
        reported = CliRunner().invoke(main, ["warm", "lms", "nlms", "--backend", "numba", "--dtype", "float64"])
        assert reported.exit_code == 0, reported.output
        assert "2 kernels compiled for numba" in reported.output

    def test_backend_without_a_compiler_is_reported(self):
        assert compile_kernel("numba", "no_method", "float64").startswith("UnavailableError: no_method on numba: ")

    @pytest.mark.parametrize(
        ("words", "stated"),
        [
            (["--workers", "0"], "want 1 or more"),
            (["lsm"], "lms"),
            (["--backend", "numbe"], "numba"),
            (["--dtype", "int8"], "want one of float64"),
        ],
    )
    def test_warm_reports_errors(self, words, stated):
        reported = CliRunner().invoke(main, ["warm", *words])
        assert reported.exit_code == 2
        assert stated in reported.output


class TestThreads:
    def test_one_if_no_more_are_allowed_or_pay(self, monkeypatch):
        threads = pytest.importorskip("orfit_bench.kernels.threads")
        blas = threads._libraries()

        def seen(operations, square=0):
            with threads.limit_blas_threads(operations, square):
                return {library["num_threads"] for library in blas.info()}

        before = [library["num_threads"] for library in blas.info()]
        monkeypatch.delenv(threads.VARIABLE, raising=False)
        assert seen(1e12, 1000) == {1}
        monkeypatch.setenv(threads.VARIABLE, "2")
        assert seen(1e12, 1000) == {2}
        assert seen(1e12, 100) == seen(1e12) == {1}
        assert [library["num_threads"] for library in blas.info()] == before

    @pytest.mark.parametrize("text", ["two", "0", "-1", "1.5"])
    def test_invalid_number_is_reported(self, monkeypatch, text):
        threads = pytest.importorskip("orfit_bench.kernels.threads")
        monkeypatch.setenv(threads.VARIABLE, text)
        with pytest.raises(ValueError, match=f"ORFIT_BENCH_THREADS={text}: want a number of threads"):
            threads.allowed_threads()

    def test_results_record_them(self, monkeypatch):
        monkeypatch.setenv("ORFIT_BENCH_THREADS", "3")
        assert processes.threads()["ORFIT_BENCH_THREADS"] == "3" == os.environ[processes.THREADS]


def test_more_than_the_limit_is_explained():
    reported = {share: legend(table([created(share_of_limit=share)])) for share in (0.9, 1.1, np.nan)}
    assert LIMIT in reported[0.9]
    assert BEYOND not in reported[0.9]
    assert reported[1.1][-2:] == [LIMIT, BEYOND]
    assert LIMIT not in reported[np.nan]
    assert [shown(share, "share") for share in (0.00089, 0.5, 0.996, 1.1, 2.16)] == [
        "0.089%", "50%", "100%", "110%", "216%"
    ]  # fmt: skip
