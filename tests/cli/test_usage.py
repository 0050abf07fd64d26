"""Usage errors: one line, exit status 2, nothing written."""

import json
import os
import select
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.commands import COMMAND, call, invoke

import orfit_bench as ob
from orfit_bench.bench import load
from orfit_bench.bench.suite import read
from orfit_bench.cli.output import say_command


def test_long_command_can_be_copied_from_a_narrow_terminal(monkeypatch, capsys):
    command = "orfit-bench conform lms --backend numpy --dtype float64 --seed 0 --check agrees_with_batch_solution"
    monkeypatch.setenv("COLUMNS", "80")
    say_command("  repeat: ", command)
    output = capsys.readouterr().out
    assert max(map(len, output.splitlines())) <= 80
    assert output.splitlines()[-1] == "    --check agrees_with_batch_solution"
    assert shlex.split(output.replace("\\\n", "")) == ["repeat:", *command.split()]
    say_command("", quoted := "orfit-bench conform 'a b' " + "--check any_chunking " * 5)
    assert capsys.readouterr().out == f"{quoted}\n"


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

    def test_no_line_of_the_list_of_commands_is_cut(self):
        listed = invoke("--help").output.split("Commands:\n")[1]
        assert all(line.endswith(".") and not line.endswith("...") for line in listed.splitlines())

    def test_the_suite_file_of_the_help_is_one(self, tmp_path):
        text = invoke("run", "--help").output.split("every line is optional:\n")[1].split("\n\n")[0]
        assert text.count("=") > 8
        path = tmp_path / "mine.toml"
        path.write_text(text)
        assert read(path).settings == {"drift": {"drift": 0.1}}
        measured = [cell.method for cell, absent in read(path).cells() if not absent]
        assert sorted(measured) == 4 * ["lms"] + 4 * ["orfit"] + 4 * ["rls"]  # 2 streams, 2 seeds

    def test_options_replace_names_of_the_suite_file_and_their_settings(self, tmp_path):
        path, output = tmp_path / "mine.toml", tmp_path / "r.nc"
        path.write_text(
            'methods = ["rls", "lms"]\nstreams = ["drift"]\nbackends = ["numpy"]\nrows = [30]\n'
            "[settings]\ndrift = {drift = 0.1}\nrls = {ridge = 2.0}\nlms = {step_size = 0.01}\n"
        )
        options = ("--stream", "regression", "--method", "rls", "--untimed", "--output", str(output))
        assert invoke("run", "--suite", str(path), *options).exit_code == 0
        (settings,) = load(output)["settings"].values
        assert json.loads(settings)["ridge"] == 2.0
        path.write_text('streams = ["drift"]\n[settings]\ndirft = {drift = 0.1}\n')
        refused = invoke("run", "--suite", str(path), *options)
        assert (refused.exit_code, "settings of 'dirft'" in refused.output) == (2, True)

    def test_help_imports_nothing_heavy(self):
        heavy = {"xarray", "rich", "scipy", "pebble", "pandas"}
        code = f"import sys, orfit_bench.cli; print({heavy} & set(sys.modules))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout == "set()\n"

    @pytest.mark.parametrize(
        ("arguments", "stated"),
        [
            (("--method", "rsl"), "no method 'rsl'. Did you mean 'rls'?"),
            (("--backend", "cpu"), "no backend 'cpu'"),
            (("--stream", "drifts"), "no stream 'drifts'. Did you mean 'drift'?"),
            (("--set", "rls.rigde=1"), "rls has no setting 'rigde'. Did you mean 'ridge'?"),
            (("--set", "rls.ridge=-1"), "rls: ridge=-1: want a number in [0, inf)"),
            (
                ("--set", "rls.ridge=1", "--set", "rls.ridge=2"),
                "--set rls.ridge=2: rls.ridge is set by --set rls.ridge=1 too: set it once",
            ),
            (("--rows", "50", "--set", "drift.n=70"), "--set drift.n=70: drift.n is set by --rows too: set it once"),
            (("--features", "4", "--stream", "drift", "--set", "drift.d=5"), "drift.d is set by --features too"),
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
            (("--memory-limit", "0.01"), "memory_limit=10000000.0: want at least 32000000 bytes (0.032 GB)"),
            (("--timeout", "0"), "timeout=0.0: want a number of seconds > 0"),
            (("--suite", "none.toml"), "Error: none.toml: the suite cannot be read (No such file or directory)"),
            (("--suite", "."), "the suite cannot be read (Is a directory)"),
            (("--output", "none/r.nc"), "Error: none/r.nc: there is no folder none, want a file"),
            (("--output", ""), "Error: the output has no name: want a file"),
            (("--output", ".."), "Error: ..: this is a folder, want a file"),
        ],
    )
    def test_usage_error_is_one_line_and_writes_nothing(self, arguments, stated, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        result = invoke("run", *arguments)
        assert result.exit_code == 2
        assert stated in result.stderr
        assert len(result.stderr.splitlines()) == 1
        assert result.stdout == ""
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize(("option", "setting"), [("--test", "test=0.5"), ("--data", "path=e.csv")])
    def test_a_setting_of_a_file_is_given_once(self, option, setting, tmp_path):
        (tmp_path / "d.csv").write_text("a,y\n1,2\n2,3\n3,4\n")
        given = ("--data", tmp_path / "d.csv", "--target", "y", "--test", "0.2", "--set", f"file.{setting}")
        result = invoke("run", "--method", "lms", *given, "--output", tmp_path / "r.nc")
        name = setting.partition("=")[0]
        stated = f"Error: --set file.{setting}: file.{name} is set by {option} too: set it once\n"
        assert (result.exit_code, result.stderr) == (2, stated)

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
    def test_a_pipe_is_not_replaced(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")  # not a real device, which a fault could destroy
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

    @pytest.mark.parametrize("option", ["--seeds", "--seed"])
    def test_an_option_that_another_command_has(self, option):
        result = invoke("reproduce", option, "3")
        assert result.exit_code == 2
        assert f"No such option '{option}'. Did you mean '--runs'?" in result.output
        assert "Did you mean" not in invoke("laws", option, "3").output

    def test_debug_keeps_the_traceback(self):
        assert isinstance(invoke("--debug", "run", "--method", "rsl").exception, ValueError)
        missing = invoke("--debug", "show", "none.nc")
        assert isinstance(missing.exception, FileNotFoundError)
        assert str(missing.exception) == "none.nc: no such file"

    def test_an_internal_error_is_not_a_usage_error(self, monkeypatch):
        monkeypatch.setattr("orfit_bench.report.declared.overview", lambda known: {}["oh"])
        result = invoke("list")
        assert result.exit_code == 1
        assert result.stderr == "Error: KeyError: 'oh' (internal error; run with --debug for a traceback)\n"

    @pytest.mark.parametrize(("error", "text"), [("", "no memory is left"), ("no room for 8 GB", "no room for 8 GB")])
    def test_too_little_memory_is_no_internal_error(self, monkeypatch, error, text):
        def find(known):
            raise MemoryError(error)

        monkeypatch.setattr("orfit_bench.report.declared.overview", find)
        result = invoke("list")
        assert (result.exit_code, result.stderr) == (2, f"Error: {text}\n")

    @pytest.mark.skipif(not hasattr(select, "poll"), reason="no poll on this system")
    def test_closed_stdout_is_no_error(self):
        """As in `orfit-bench list | head -1`, where the rest cannot be written."""
        with subprocess.Popen([*COMMAND, "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
            started.stdout.close()
            assert (started.stderr.read(), started.wait()) == ("", 1)

    @pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
    def test_closed_streams(self, closed, tmp_path):
        command = f"{shlex.join(COMMAND)} run --method lms --backend numpy --stream drift --rows 50 {closed}"
        assert subprocess.run(["sh", "-c", command], cwd=tmp_path, check=False).returncode == 0
        found = load(tmp_path / "results.nc")
        assert found.status.values.tolist() == ["ok"]

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
    def test_a_full_device(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([*COMMAND, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert done.stderr.startswith("Error: the output cannot be written: No space left")

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
    @pytest.mark.parametrize("command", ["list", "run --method lms --backend numpy --stream drift --rows 50"])
    def test_results_of_commands_on_a_full_device(self, command, tmp_path):
        with open("/dev/full", "w") as full:
            words = [*COMMAND, *command.split()]
            done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1] == "Error: standard output cannot be written: No space left on device"
        if command != "list":
            assert load(tmp_path / "results.nc").status.values.tolist() == ["ok"]

    def test_a_home_that_cannot_be_written(self, tmp_path):
        pytest.importorskip("dask")
        stand_in = "import os\nhere = os.environ.get('CUPY_CACHE_DIR', os.path.expanduser('~/.cupy/kernel_cache'))\n"
        (tmp_path / "cupy.py").write_text(f"{stand_in}os.makedirs(here, exist_ok=True)\nraise ImportError(here)\n")
        (tmp_path / "home").touch()
        (tmp_path / "temporary").mkdir()
        path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
        more = {"PYTHONPATH": path, "HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "temporary")}
        environment = {k: v for k, v in os.environ.items() if k != "CUPY_CACHE_DIR"} | more
        command = ["run", "--method", "lms", "--backend", "numpy", "--stream", "drift", "--rows", "50"]
        done = call(*command, environment=environment, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert not list((tmp_path / "temporary").glob("*cupy*"))

    def test_without_docstrings(self):
        environment = os.environ | {"PYTHONOPTIMIZE": "2"}
        done = subprocess.run([*COMMAND, "list"], capture_output=True, text=True, check=True, env=environment)
        assert "broken" not in done.stdout + done.stderr

    def test_other_broken_pipes_are_errors(self, monkeypatch):
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
