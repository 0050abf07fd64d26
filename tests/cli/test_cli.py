"""The command line: what it prints, how it ends, and what survives a plugin that dies or a kill."""

import contextlib
import json
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner
from helpers.cases import offering

import orfit_bench as ob
from orfit_bench.bench import load, runner
from orfit_bench.bench.suite import read
from orfit_bench.cli import main
from orfit_bench.cli import run as cli_run
from orfit_bench.conformance import laws
from orfit_bench.plugins.registry import Table, registry

words = shlex.split
COMMAND = [sys.executable, "-c", "from orfit_bench.cli import main; main()"]
TIMES = ("seconds", "timed_runs", "seconds_compile", "throughput", "seconds_per_sample")
TIMES += ("latency_p50", "latency_p99", "host_memory", "share_of_limit")
"""What differs from run to run."""

PLUGIN = """
import os, sys, time
from types import SimpleNamespace
import numpy as np
from orfit_bench import hookimpl
from orfit_bench.spec import Absent, Backend, Data, Integer, Stream

SPEC_VERSION = (1, 0)

def lms(s, X, Y, p, out):
    for x, y in zip(X, Y):
        s.w[:] += 0.01 * np.outer(x, y - x @ s.w)
    return len(X)

def raises(s, X, Y, p, out):
    raise RuntimeError("it broke\\nin two lines [red]and markup[/red]")

def dies(s, X, Y, p, out):
    os._exit(3)

def aborts(s, X, Y, p, out):
    os.abort()

def leaves(s, X, Y, p, out):
    sys.exit("enough")

def interrupts(s, X, Y, p, out):
    raise KeyboardInterrupt

def hangs(s, X, Y, p, out):
    with open(os.environ["FAULTY_LOG"], "a") as log:
        print(os.getpid(), file=log)
    time.sleep(1000)

KERNELS = {"lms": lms, "nlms": raises, "apa": dies, "icl": hangs, "ogd": leaves}
KERNELS |= {"one_step_sgd": aborts, "rls": interrupts}

def slow(n, seed):
    with open(os.environ["FAULTY_LOG"], "a") as log:
        print(seed, file=log)
    time.sleep(0.2)
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return Data(X, X.sum(axis=1), (X, X.sum(axis=1)), tasks=(0, n // 2, n))

@hookimpl
def backends():
    return (Backend("faulty", "every kernel but one fails", namespace=lambda: np),)

@hookimpl
def kernels():
    names = "learn", "update", "step", "store"
    offers = {("faulty", name): SimpleNamespace(**dict.fromkeys(names, f)) for name, f in KERNELS.items()}
    return {**offers, ("faulty", "orfit"): Absent("not written yet")}

@hookimpl
def streams():
    from orfit_bench.spec import Setting
    n = Setting("n", Integer(2), 40, "rows")
    return (Stream("slow", "takes its time", slow, (n, Setting("seed", Integer(0), 0, "seed"))),)
"""


def install(folder: Path, name: str, source: str) -> None:
    """A distribution with one plugin, as pip would leave it in folder."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(source)
    info = folder / f"{name}-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(f"[orfit_bench]\n{name} = {name}\n")


@pytest.fixture
def environment(tmp_path):
    """The environment of a process that has the faulty plugin installed."""
    install(tmp_path / "site", "faulty", PLUGIN)
    path = os.pathsep.join(filter(None, [str(tmp_path / "site"), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "FAULTY_LOG": str(tmp_path / "log")}


def call(*arguments, environment, folder):
    """Run the command in a process of its own."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], env=environment, cwd=folder, capture_output=True, text=True, timeout=120
    )


def invoke(*arguments):
    """Run the command in this process."""
    return CliRunner().invoke(main, [str(a) for a in arguments])


class TestList:
    def test_overview_names_everything(self):
        result = invoke("list")
        assert result.exit_code == 0
        for name in (*ob.methods(), *ob.backends(), *ob.streams(), *ob.metrics(), "catalogue"):
            assert f" {name} " in result.output
        assert max(map(len, result.output.splitlines())) <= 100

    @pytest.mark.parametrize(("name", "said"), [("rls", "exact"), ("lms", "averaged"), ("ogd", "approximate")])
    def test_how_learners_merge(self, name, said):
        (row,) = (line.split() for line in invoke("list").output.splitlines() if line.startswith(f" {name} "))
        of_backends = row[1 : 1 + len(ob.backends())]
        assert (row[0], set(of_backends) - {"no"}, row[1 + len(of_backends)]) == (name, {"yes"}, said)
        summary = ob.methods()[name].combine.merge.summary
        assert f"merge: {said}: {summary}" in " ".join(invoke("list", name).output.split())

    def test_a_method(self):
        output = invoke("list", "rls").output
        rls = ob.methods()["rls"]
        for text in (
            rls.summary[:60],
            "P <- (P - P x x'P / s) / ff",
            "forgetting_factor",
            "[0, inf)",
            "parameter x parameter",
        ):
            assert text in output
        for law in rls.theory.laws:
            assert law.name in output
        words = " ".join(output.split())
        assert f"use when: {rls.use_when} avoid when: {rls.avoid_when}" in words
        assert "cost per sample: 30,000 flops" in output
        assert "numpy: yes, supplied by orfit-bench-numpy" in output

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("drift", "root mean square length of one step"),
            ("numpy", "available"),
            ("forgetting", "lower is better"),
        ],
    )
    def test_other_names(self, name, said):
        assert said in invoke("list", name).output

    def test_what_streams_offer_and_why_one_is_not_here(self, tmp_path, monkeypatch):
        monkeypatch.setenv("ORFIT_BENCH_DATA", str(tmp_path))
        text = invoke("list").output
        lines = [line.split() for line in text.partition("\nStreams\n")[2].partition("\nMetrics\n")[0].splitlines()]
        said = {line[0]: line[1:3] for line in lines if len(line) > 2}
        assert said["class_digits"] == ["labels", "yes"]
        assert said["drift"] == ["numbers", "yes"]
        assert said["mnist"] == ["numbers", "no"]
        reason = f"not available: mnist, rotated_mnist: the folder in ORFIT_BENCH_DATA, {tmp_path}"
        assert reason in " ".join(text.split())
        assert "targets: labels, for methods of kind classification, subspace" in invoke("list", "class_digits").output
        assert "kind: regression; suitable streams: delay_line, digits, drift," in invoke("list", "lms").output

    @pytest.mark.parametrize("name", [*ob.methods(), *ob.backends(), *ob.streams(), *ob.metrics()])
    def test_every_name_has_details(self, name):
        result = invoke("list", name)
        assert result.exit_code == 0
        assert "supplied by" in result.output

    @pytest.mark.parametrize("name", ["lms", "nlms", "apa", "sgd"])
    def test_schedules_are_shown_as_set_takes_them(self, name):
        lines = [line.strip() for line in invoke("list", name).output.splitlines() if line.startswith("  --set")]
        assert len(lines) == len(ob.schedules.MAKERS)
        for line in lines:
            method, setting, value = cli_run._parsed(words(line)[1])
            assert (method, setting) == (name, "step_size")
            assert isinstance(ob.schedules.from_config(value), ob.schedules.Schedule)

    def test_no_line_ends_in_blanks(self):
        lines = invoke("list", "rls").output.splitlines()
        assert [line.rstrip() for line in lines] == lines

    def test_unknown_name(self):
        result = invoke("list", "orift")
        assert result.exit_code == 2
        assert result.stderr.startswith(
            "Error: no method, backend, stream, metric or experiment 'orift'. Did you mean 'orfit'?"
        )
        assert len(result.stderr.splitlines()) == 1


class TestUsage:
    def test_version(self):
        assert invoke("--version").output == f"orfit-bench, version {ob.__version__}\n"

    @pytest.mark.parametrize("command", [(), ("list",), ("run",)])
    def test_help_has_examples(self, command):
        output = invoke(*command, "--help").output
        assert "orfit-bench run" in output or "orfit-bench list" in output

    @pytest.mark.parametrize("command", [(), ("list",), ("run",)])
    def test_help_fits_80_columns(self, command):
        assert max(map(len, invoke(*command, "--help").output.splitlines())) <= 80

    def test_the_suite_file_of_the_help_is_one(self, tmp_path):
        text = invoke("run", "--help").output.split("every line is optional:\n")[1].split("\n\n")[0]
        assert text.count("=") > 8
        path = tmp_path / "mine.toml"
        path.write_text(text)
        assert read(path).settings == {"drift": {"drift": 0.1}}

    def test_the_time_limit_shown_is_the_one_meant(self):
        assert cli_run.TIMEOUT == runner.TIMEOUT

    def test_help_imports_nothing_heavy(self):
        heavy = {"xarray", "rich", "scipy", "pebble", "pandas"}
        code = f"import sys, orfit_bench.cli; print({heavy} & set(sys.modules))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout == "set()\n"

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("--method", "rsl"), "no method 'rsl'. Did you mean 'rls'?"),
            (("--backend", "cpu"), "no backend 'cpu'"),
            (("--stream", "drifts"), "no stream 'drifts'. Did you mean 'drift'?"),
            (("--set", "rls.rigde=1"), "rls has no setting 'rigde'. Did you mean 'ridge'?"),
            (("--set", "rls.ridge=-1"), "rls: ridge=-1: want a number in [0, inf)"),
            (("--set", "rls"), "--set rls: want NAME.SETTING=VALUE for a method or stream"),
            (("--set", "rsl.ridge=1"), "--set rsl.ridge=1: no method or stream 'rsl'. Did you mean 'rls'?"),
            (("--set", "drifts.drift=1"), "no method or stream 'drifts'. Did you mean 'drift'?"),
            (("--set", "drift.drfit=1"), "drift has no setting 'drfit'. Did you mean 'drift'?"),
            (("--method", "lms", "--set", "rls.ridge=1"), "rls is not among the methods of this run; add --method rls"),
            (("--set", "mnist.n=9"), "mnist is not among the streams of this run; add --stream mnist"),
            (
                ("--method", "lms", "--stream", "class_digits"),
                "'lms' (regression) cannot learn from class_digits",
            ),
            (("--method", "lms", "--set", "class_digits.n=9"), "add --stream class_digits"),
            (("--rows", "0"), "n=0: want an integer in [1, inf)"),
            (("--features", "8"), "'rotated_digits' has a fixed number of features"),
            (("--seed", "-1"), "random_state=-1"),
            (("--dtype", "int8"), "dtype='int8': want one of float64, float32"),
            (("--passes", "0"), "passes=0: want an integer >= 1"),
            (("--round", "5"), "a round requires at least 2"),
            (("--timeout", "0"), "timeout=0.0: want a number of seconds > 0"),
            (("--suite", "none.toml"), "Error: none.toml: the suite cannot be read (No such file or directory)"),
            (("--suite", "."), "the suite cannot be read (Is a directory)"),
            (("--output", "none/r.nc"), "Error: none/r.nc: there is no folder none, want a file"),
            (("--output", ""), "Error: the output has no name: want a file"),
            (("--output", ".."), "Error: ..: this is a folder, want a file"),
        ],
    )
    def test_a_mistake_is_one_line_and_writes_nothing(self, arguments, said, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        result = invoke("run", *arguments)
        assert result.exit_code == 2
        assert said in result.stderr
        assert len(result.stderr.splitlines()) == 1
        assert result.stdout == ""
        assert not list(tmp_path.iterdir())

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
    def test_a_pipe_is_not_replaced(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")  # never a real device here: a fault would destroy the machine's own
        result = invoke("run", "--method", "lms", "--output", tmp_path / "pipe")
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith(f"Error: {tmp_path / 'pipe'}: not a regular file")
        assert (tmp_path / "pipe").is_fifo()

    def test_an_unknown_option(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        result = invoke("run", "--metod", "rls")
        assert result.exit_code == 2
        assert "'--metod'" in result.stderr
        assert not list(tmp_path.iterdir())

    def test_debug_keeps_the_traceback(self):
        assert isinstance(invoke("--debug", "run", "--method", "rsl").exception, ValueError)

    def test_an_internal_error_is_not_a_usage_error(self, monkeypatch):
        monkeypatch.setattr("orfit_bench.report.declared.overview", lambda known: {}["oh"])
        result = invoke("list")
        assert result.exit_code == 1
        assert result.stderr == "Error: KeyError: 'oh' (internal error; run with --debug for a traceback)\n"

    @pytest.mark.skipif(not hasattr(select, "poll"), reason="no poll on this system")
    def test_a_reader_that_stops_is_no_mistake(self):
        """As `orfit-bench list | head -1`: the rest has nowhere to go."""
        with subprocess.Popen([*COMMAND, "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
            started.stdout.close()
            assert (started.stderr.read(), started.wait()) == ("", 1)

    def test_another_pipe_that_breaks_is_said(self, monkeypatch):
        def broken(known):
            raise BrokenPipeError(32, "Broken pipe")

        monkeypatch.setattr("orfit_bench.report.declared.overview", broken)
        result = invoke("list")
        assert (result.exit_code, result.stderr) == (2, "Error: [Errno 32] Broken pipe\n")

    def test_ctrl_c_says_how_to_resume(self, monkeypatch):
        def stop(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr("orfit_bench.bench.run", stop)
        result = invoke("run")
        assert result.exit_code == 130
        assert "run the same command again to resume" in result.stderr


class TestRun:
    def test_table_file_and_lines(self, tmp_path):
        path = tmp_path / "mine.nc"
        arguments = words(
            "--method lms --method rls --backend numpy --stream drift --stream regression --rows 50 --features 3"
        )
        result = invoke(
            "run", *arguments, "--set", "lms.step_size={power = {eta0 = 0.1, power = 0.5}}", "--output", path
        )
        assert result.exit_code == 0, result.stderr
        assert "samples/s" in result.stdout
        assert f"4 ok. Results: {path}" in result.stdout
        assert max(len(line) for line in result.stdout.splitlines() if "Results" not in line) <= 100
        assert result.stderr.splitlines()[-1].startswith("[4/4] rls on numpy, regression (n 50, d 3, seed 0): ok")
        settings = json.loads(load(path)["settings"].values[0])
        assert settings == {"step_size": {"power": {"eta0": 0.1, "power": 0.5}}}

    def test_table_ranks_and_names_what_differs(self, tmp_path):
        arguments = words("--method greedy --method rls --stream regression --rows 50 --seed 0 --seed 1 --passes 2")
        output = invoke("run", *arguments, "--output", tmp_path / "r.nc").stdout
        cells, _, statistics = output.partition("Means over seeds")
        assert statistics.count("numpy") == 2
        rows = [line.split() for line in cells.splitlines() if "numpy" in line]
        assert output.startswith("2 passes, float64, ")
        assert [row[0] for row in rows] == ["rls", "greedy"] * 2
        assert [row[3] for row in rows] == ["seed=0"] * 2 + ["seed=1"] * 2
        assert all(row[-1] == "n/a" for row in rows), "two passes have no batch solution"

    def test_long_labels_are_folded_between_words(self, tmp_path):
        power = "{name = 'lms', settings = {step_size = {power = {eta0 = 0.123456789, power = 0.5}}}}"
        (tmp_path / "two.toml").write_text(f"methods = ['lms', {power}]")
        arguments = ["--suite", tmp_path / "two.toml", *words("--stream drift --rows 50"), "--seed", 0, "--seed", 10**9]
        output = invoke("run", *arguments, "--output", tmp_path / "r.nc").stdout
        lines = [line for line in output.splitlines() if "Results" not in line]
        assert max(map(len, lines)) <= 120
        for whole in ("lms step_size=0.001 ", "0.123456789,", "drift seed=1000000000 "):
            assert whole in output

    def test_na_is_explained_where_it_stands(self, tmp_path):
        common = ["run", *words("--method rls --rows 50"), "--output", tmp_path / "r.nc"]
        assert "n/a" not in invoke(*common, "--stream", "drift").stdout
        said = [s for s in invoke(*common, "--stream", "regression").stdout.splitlines() if s.startswith("n/a: ")]
        assert said == [
            "n/a: not applicable, e.g. the stream has no test set or the settings have no exact batch solution"
        ]

    def test_set_reaches_streams_too(self, tmp_path):
        arguments = words(
            "--method lms --backend numpy --rows 30 --set drift.drift=0.25 --set drift.d=3 --set lms.step_size=0.5"
        )
        result = invoke("run", *arguments, "--output", tmp_path / "r.nc")
        assert result.exit_code == 0, result.stderr
        done = load(tmp_path / "r.nc")
        given = [json.loads(text) for text in done["stream_settings"].values]
        assert done["stream"].values.tolist() == ["rotated_digits", "drift"]
        assert [(s.get("drift"), s.get("d")) for s in given] == [(None, None), (0.25, 3)]

    def test_nothing_measured_is_no_success(self, tmp_path):
        arguments = words("--method rls --backend numpy --stream regression --learners 2 --round 5")
        result = invoke("run", *arguments, "--output", tmp_path / "r.nc")
        assert result.exit_code == 1
        assert result.stdout.splitlines() == [
            "absent: rls on numpy, regression: rls: an average of its states is not defined",
            "1 absent. Nothing was measured, so no file is written.",
        ]

    def test_what_was_measured_before_stays_where_nothing_is(self, tmp_path):
        good = "--method lms --backend numpy --stream regression --rows 30"
        assert invoke("run", *words(good), "--output", tmp_path / "r.nc").exit_code == 0
        before = (tmp_path / "r.nc").read_bytes()
        nothing = "--method rls --backend numpy --stream regression --learners 2 --round 5 --report"
        assert invoke("run", *words(nothing), "--output", tmp_path / "r.nc").exit_code == 1
        assert (tmp_path / "r.nc").read_bytes() == before
        assert [path.name for path in tmp_path.iterdir()] == ["r.nc"]

    def test_without_a_backend_says_what_to_install(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(registry(), "backends", Table("backend"))
        for arguments in ([], ["--backend", "numpy"]):
            result = invoke("run", *arguments)
            assert result.exit_code == 2
            assert result.stderr.startswith("Error: no backend is installed")
            assert "pip install ./plugins/orfit-bench-numpy" in result.stderr
            assert len(result.stderr.splitlines()) == 1
        assert not list(tmp_path.iterdir())
        assert "orfit-bench-numpy" in " ".join(invoke("list").output.split("Metrics")[0].split())

    def test_suite_file_and_options_over_it(self, tmp_path):
        (tmp_path / "mine.toml").write_text(
            'methods = ["rls", {name = "lms", settings = {step_size = 0.02}}]\nstreams = ["regression"]\nrows = [30]\n'
            "protocol = {passes = 2}\n"
        )
        common = ["run", "--suite", tmp_path / "mine.toml", "--output", tmp_path / "r.nc"]
        result = invoke(
            *common,
            *words("--method lms --backend numpy"),
            "--learners",
            3,
            "--round",
            5,
            "--dtype",
            "float32",
            "--seed",
            7,
        )
        assert result.exit_code == 0, result.stderr
        done = load(tmp_path / "r.nc")
        assert done["method"].values.tolist() == ["lms"]
        assert done["protocol"].values.tolist() == ["2 passes, 3 learners averaged every 5 rows"]
        assert done["dtype"].values.tolist() == ["float32"]
        assert done["seed"].values.tolist() == [7]
        assert done["n"].values.tolist() == [30]

    @pytest.mark.parametrize(("text", "value"), [("none", None), ("3", 3)])
    def test_set_reads_values(self, text, value, tmp_path):
        arguments = words("--method orfit --stream regression --rows 20 --set orfit.summary=latest --set")
        result = invoke("run", *arguments, f"orfit.memory={text}", "--output", tmp_path / "r.nc")
        assert result.exit_code == 0, result.stderr
        settings = json.loads(load(tmp_path / "r.nc")["settings"].values[0])
        assert (settings["memory"], settings["summary"]) == (value, "latest")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no terminals to open")
class TestNarrowTerminal:
    def on_terminal(self, columns, *arguments, folder, kind):
        """What the command writes on a terminal of so many columns."""
        reader, writer = os.openpty()
        environment = {**os.environ, "COLUMNS": str(columns), "TERM": kind}
        command = [*COMMAND, *map(str, arguments)]
        process = subprocess.Popen(command, stdout=writer, stderr=subprocess.DEVNULL, env=environment, cwd=folder)
        os.close(writer)
        parts = []
        with process, open(reader, "rb", buffering=0) as read, contextlib.suppress(OSError):  # Linux's end of file
            while part := read.read(65536):
                parts.append(part)
        return b"".join(parts).decode()

    @pytest.mark.parametrize(
        ("columns", "kind"),
        [
            (30, "xterm"),
            pytest.param(80, "xterm", marks=pytest.mark.slow),
            pytest.param(80, "dumb", marks=pytest.mark.slow),
        ],
    )
    def test_no_number_and_no_name_is_cut(self, columns, kind, tmp_path):
        arguments = words(
            "run --method one_step_sgd --method rls --backend numpy --stream rotated_digits --rows 20 --output r.nc"
        )
        output = self.on_terminal(columns, *arguments, folder=tmp_path, kind=kind)
        lines = re.sub("\x1b\\[[0-9;]*m", "", output).splitlines()
        done = load(tmp_path / "r.nc")
        (heads,) = [line.split() for line in lines if line.startswith(" method ")]
        assert heads == words("method backend stream samples/s roofline state test RMSE forgetting deviation")
        for i, method in enumerate(done["method"].values):
            (row,) = [line.split() for line in lines if line.strip().startswith(f"{method} ")]
            assert row[:3] == [method, "numpy", "rotated_digits"]
            assert row[3] == format(float(done["throughput"].values[i]), ",.0f")
            assert row[-3] == format(float(done["test_error"].values[i]), ".4g")
            assert row[-2] == format(float(done["forgetting"].values[i]), ".3g")
            assert row[-1] == format(float(done["deviation"].values[i]), ".1e")

    def test_the_names_of_settings_are_whole(self, tmp_path):
        output = self.on_terminal(30, "list", "rls", folder=tmp_path, kind="xterm")
        assert " forgetting_factor " in output


class TestFaultyPlugins:
    def test_each_costs_its_own_cell_only(self, environment, tmp_path):
        done = call(
            *words("run --backend faulty --backend numpy --stream slow --timeout 3 --output r.nc"),
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
        said = {
            str(m): (str(s), str(r))
            for m, s, r in zip(*(faulty[k].values for k in ("method", "status", "reason")), strict=True)
        }
        assert said == {
            "nlms": ("failed", "RuntimeError: it broke in two lines [red]and markup[/red]"),
            "apa": ("crashed", "the worker process ended with exit code 3"),
            "icl": ("timeout", "stopped after 3 s"),
            "ogd": ("failed", "SystemExit: enough"),
            "one_step_sgd": ("crashed", "the worker process was killed by signal 6 (Aborted)"),
            "rls": ("failed", "KeyboardInterrupt"),
            "orfit": ("absent", "not written yet"),
            "lms": ("ok", ""),
        }
        assert np.isnan(faulty["seconds"].values[:-1]).all()
        assert faulty["supplier"].values.tolist() == ["faulty 0.1"] * 8
        for status, reason in said.values():
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
        done = call(*words("run --method lms --stream regression"), environment=environment, folder=tmp_path)
        assert done.returncode == 0
        assert done.stderr.count("Broken plugin broken (broken 0.1): ImportError: no such library") == 1
        assert done.stderr.count("no such library") == 1
        listed = call("list", environment=environment, folder=tmp_path)
        assert "no such library" in listed.stdout

    def test_strict_plugins(self, environment, tmp_path):
        arguments = words("--strict-plugins run --method lms --stream regression")
        assert call(*arguments, environment=environment, folder=tmp_path).returncode == 0
        (tmp_path / "results.nc").unlink()
        install(tmp_path / "site", "broken", "raise SystemExit(0)")
        done = call(*arguments, environment=environment, folder=tmp_path)
        assert done.returncode == 2
        assert "broken (broken 0.1): SystemExit: 0" in done.stderr
        assert not (tmp_path / "results.nc").exists()


def wait_for(condition, seconds=60):
    """Wait until condition() holds; fails after that many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
class TestKill:
    RUN = words(
        "run --method lms --method rls --backend numpy --stream slow --seed 0 --seed 1 --seed 2 --seed 3 --seed 4"
    )

    def start(self, arguments, environment, folder):
        return subprocess.Popen(
            [*COMMAND, *arguments], env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def test_resumes_after_kill(self, environment, tmp_path):
        whole = call(*self.RUN, "--output", "whole.nc", environment=environment, folder=tmp_path)
        assert whole.returncode == 0, whole.stderr
        (tmp_path / "log").unlink()

        journal = tmp_path / "cut.nc.journal"
        with self.start([*self.RUN, "--output", "cut.nc"], environment, tmp_path) as process:
            wait_for(lambda: len(list(journal.glob("*.json"))) >= 3)
            process.send_signal(signal.SIGKILL)
        kept = [json.loads(path.read_text())["record"] for path in journal.glob("*.json")]
        assert 3 <= len(kept) < 10
        assert not (tmp_path / "cut.nc").exists()

        resumed = call(*self.RUN, "--output", "cut.nc", environment=environment, folder=tmp_path)
        assert resumed.returncode == 0, resumed.stderr
        assert resumed.stderr.startswith(f"resuming: {len(kept)} of 10 cells are already finished\n")
        assert resumed.stderr.count("\n[") == 10 - len(kept)
        assert not journal.exists()

        loads = (tmp_path / "log").read_text().split()
        assert 10 <= len(loads) <= 11, "only the cell that was cut is learned again"
        first, second = load(tmp_path / "whole.nc"), load(tmp_path / "cut.nc")
        for record in kept:
            (at,) = np.flatnonzero(second["key"].values == record["key"])
            assert second["seconds"].values[at] == record["seconds"]
        for results in (first, second):
            results.attrs.pop("date")
        xr.testing.assert_identical(first.drop_vars(TIMES), second.drop_vars(TIMES))

    @pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
    def test_a_hanging_cell_dies_with_its_run(self, environment, tmp_path):
        log = tmp_path / "log"
        arguments = words("run --backend faulty --method icl --stream regression")
        with self.start(arguments, environment, tmp_path) as process:
            wait_for(lambda: log.exists() and log.read_text().endswith("\n"))
            process.send_signal(signal.SIGKILL)
        stat = Path(f"/proc/{log.read_text().strip()}/stat")
        wait_for(lambda: not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z", seconds=10)


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

    def test_float32_and_mistakes(self):
        assert "float32" in invoke("laws", "greedy", "--dtype", "float32").output
        for arguments, said in (
            (("gready",), "Did you mean 'greedy'"),
            (("greedy", "--dtype", "half"), "want one of float64"),
            (("greedy", "--backend", "nump"), "Did you mean 'numpy'"),
        ):
            result = invoke("laws", *arguments)
            assert (result.exit_code, said in result.output) == (2, True)

    @pytest.mark.slow
    def test_map(self, tmp_path):
        for name in ("map.svg", "map.png"):
            result = invoke("map", "--output", tmp_path / name)
            assert result.exit_code == 0
            assert (tmp_path / name).stat().st_size > 5000
        assert "min-norm" in (tmp_path / "map.svg").read_text()
        assert invoke("map", "--output", tmp_path / "map.xyz").exit_code == 2
        assert invoke("map", "--output", tmp_path).exit_code == 2
