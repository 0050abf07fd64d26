"""A faulty plugin affects its own cells only."""

import numpy as np
import pytest
from helpers.commands import call, install, words

from orfit_bench.bench import load

pytestmark = pytest.mark.integration


class TestFaultyPlugins:
    @pytest.mark.slow
    def test_each_costs_its_own_cell_only(self, environment, tmp_path):
        done = call(
            *words("run --backend faulty --backend numpy --stream slow --timeout 8 --output r.nc"),
            *(a for m in ("nlms", "apa", "icl", "ogd", "one_step_sgd", "rls", "orfit", "lms") for a in ("--method", m)),
            environment=environment,
            folder=tmp_path,
        )
        assert done.returncode == 1, done.stderr
        assert "Traceback" not in done.stderr
        results = load(tmp_path / "r.nc")
        numpy = results.isel(cell=results["backend"].values == "numpy")
        assert set(numpy["status"].values) == {"ok"}
        faulty = results.isel(cell=results["backend"].values == "faulty")
        stated = {
            str(m): (str(s), str(r))
            for m, s, r in zip(*(faulty[k].values for k in ("method", "status", "reason")), strict=True)
        }
        assert stated == {
            "nlms": ("failed", "RuntimeError: it broke in two lines [red]and markup[/red]"),
            "apa": ("crashed", "the worker process ended with exit code 3"),
            "icl": ("timeout", "stopped after 8 s"),
            "ogd": ("failed", "SystemExit: enough"),
            "one_step_sgd": ("crashed", "the worker process was killed by signal 6 (Aborted)"),
            "rls": ("failed", "KeyboardInterrupt"),
            "orfit": ("absent", "not written yet"),
            "lms": ("ok", ""),
        }
        assert np.isnan(faulty["seconds"].values[:-1]).all()
        assert faulty["supplier"].values.tolist() == ["faulty 0.1"] * 8
        for status, reason in stated.values():
            assert status == "ok" or f"{status}: " in done.stdout
            assert reason[:40] in done.stdout

    def test_absence_alone_is_no_failure(self, environment, tmp_path):
        arguments = words("run --backend faulty --method orfit --method lms --stream slow")
        done = call(*arguments, environment=environment, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "absent: orfit on faulty, slow: not written yet" in done.stdout
        assert "1 absent, 1 ok. Results: results.nc" in done.stdout
        assert done.stdout.count("orfit on faulty") == done.stdout.count("orfit ") == 1, "an absent cell is no row"

    def test_broken_plugins_are_reported_once_and_do_not_stop(self, environment, tmp_path):
        install(tmp_path / "site", "broken", "raise ImportError('no such library')")
        done = call(
            *words("run --method lms --backend numpy --stream regression"), environment=environment, folder=tmp_path
        )
        assert done.returncode == 0
        assert done.stderr.count("Broken plugin broken (broken 0.1): ImportError: no such library") == 1
        assert done.stderr.count("no such library") == 1
        listed = call("list", environment=environment, folder=tmp_path)
        assert "no such library" in listed.stdout
        compiled = call(*words("warm lms nlms --backend numba"), environment=environment, folder=tmp_path)
        assert compiled.stderr.count("no such library") == 1

    @pytest.mark.slow
    def test_strict_plugins(self, environment, tmp_path):
        arguments = words("--strict-plugins run --method lms --stream regression")
        assert call(*arguments, environment=environment, folder=tmp_path).returncode == 0
        (tmp_path / "results.nc").unlink()
        install(tmp_path / "site", "broken", "raise SystemExit(0)")
        done = call(*arguments, environment=environment, folder=tmp_path)
        assert done.returncode == 2
        assert "broken (broken 0.1): SystemExit: 0" in done.stderr
        assert not (tmp_path / "results.nc").exists()

    def test_a_plugin_that_ends_the_process_is_named(self, environment, tmp_path):
        install(tmp_path / "site", "fatal", "import os; os._exit(0)")
        done = call("list", environment=environment, folder=tmp_path)
        assert done.returncode == 0
        assert "its import ended the process with exit code 0" in " ".join(done.stdout.split())
        assert "rls" in done.stdout
        assert call("--strict-plugins", "list", environment=environment, folder=tmp_path).returncode == 2

    def test_what_plugins_print_is_no_part_of_the_output(self, environment, tmp_path):
        printing = "print('HELLO'); import os; os.write(1, b'RAW'); from orfit_bench.spec import SPEC_VERSION"
        install(tmp_path / "site", "prints", printing)
        done = call("list", environment=environment, folder=tmp_path)
        for text in ("HELLO", "RAW"):
            assert text in done.stderr
            assert text not in done.stdout
