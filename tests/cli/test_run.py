"""The command `orfit-bench run`, and its tables in narrow terminals."""

import contextlib
import json
import os
import re
import subprocess

import pytest
from helpers.commands import COMMAND, invoke, words

from orfit_bench.bench import Suite, load, run
from orfit_bench.jobs.journal import Journal
from orfit_bench.plugins.registry import Table, registry


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

    def test_table_is_ranked_and_shows_differing_settings(self, tmp_path):
        arguments = words(
            "--method greedy --method rls --backend numpy --stream regression --rows 50 --seed 0 --seed 1 --passes 2"
        )
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
        arguments = [
            "--suite",
            tmp_path / "two.toml",
            *words("--backend numpy --stream drift --rows 50"),
            "--seed",
            0,
            "--seed",
            10**9,
        ]
        output = invoke("run", *arguments, "--output", tmp_path / "r.nc").stdout
        lines = [line for line in output.splitlines() if "Results" not in line]
        assert max(map(len, lines)) <= 120
        for complete in ("lms step_size=0.001 ", "0.123456789,", "drift seed=1000000000 "):
            assert complete in output

    def test_legend_explains_not_applicable(self, tmp_path):
        common = ["run", *words("--method rls --backend numpy --rows 50"), "--output", tmp_path / "r.nc"]
        assert "n/a" not in invoke(*common, "--stream", "drift").stdout
        stated = [s for s in invoke(*common, "--stream", "regression").stdout.splitlines() if s.startswith("n/a: ")]
        assert stated == [
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

    def test_earlier_results_are_kept_if_nothing_runs(self, tmp_path):
        good = "--method lms --backend numpy --stream regression --rows 30"
        assert invoke("run", *words(good), "--output", tmp_path / "r.nc").exit_code == 0
        before = (tmp_path / "r.nc").read_bytes()
        nothing = "--method rls --backend numpy --stream regression --learners 2 --round 5 --report"
        assert invoke("run", *words(nothing), "--output", tmp_path / "r.nc").exit_code == 1
        assert (tmp_path / "r.nc").read_bytes() == before
        assert [path.name for path in tmp_path.iterdir()] == ["r.nc"]

    def test_missing_backend_names_the_distribution_to_install(self, tmp_path, monkeypatch):
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
        arguments = words(
            "--method orfit --backend numpy --stream regression --rows 20 --set orfit.summary=latest --set"
        )
        result = invoke("run", *arguments, f"orfit.memory={text}", "--output", tmp_path / "r.nc")
        assert result.exit_code == 0, result.stderr
        settings = json.loads(load(tmp_path / "r.nc")["settings"].values[0])
        assert (settings["memory"], settings["summary"]) == (value, "latest")


def plain(text):
    """The string without the colours of a terminal."""
    return re.sub("\x1b\\[[0-9;]*m", "", text)


@pytest.mark.filterwarnings("always:.*digest of this entry")
def test_a_damaged_entry_of_the_journal_is_one_line(tmp_path):
    journal = Journal(tmp_path / "results.nc", {})
    journal.write({"key": "a", "value": 1.5})
    (entry,) = journal.folder.glob("*.json")
    entry.write_text(entry.read_text().replace("1.5", "2.5"))
    arguments = ("run", "--method", "lms", "--backend", "numpy", "--stream", "drift", "--rows", "50")
    done = invoke(*arguments, "--output", str(tmp_path / "results.nc"))
    assert done.exit_code == 0
    assert next(line for line in done.stderr.splitlines() if "digest" in line).startswith("Warning: ")
    assert done.stderr.count("digest") == 1


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no terminals to open")
class TestNarrowTerminal:
    def on_terminal(self, columns, *arguments, folder, kind, stderr=False):
        """The output of the command on a terminal with this number of columns."""
        reader, writer = os.openpty()
        environment = {**os.environ, "COLUMNS": str(columns), "TERM": kind}
        command = [*COMMAND, *map(str, arguments)]
        error = writer if stderr else subprocess.DEVNULL
        process = subprocess.Popen(command, stdout=writer, stderr=error, env=environment, cwd=folder)
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
        lines = plain(output).splitlines()
        done = load(tmp_path / "r.nc")
        (heads,) = [line.split() for line in lines if line.startswith(" method ")]
        fits = columns == 80
        more, last = ("", "") if fits else (" roofline state", " forgetting")
        assert heads == words(f"method backend stream samples/s{more} test RMSE{last} deviation")
        left_out = "not shown for lack of space: state, roofline, forgetting (--wide shows all columns)"
        assert (left_out in " ".join(lines)) == fits
        assert not fits or max(map(len, lines)) <= columns
        for i, method in enumerate(done["method"].values):
            (row,) = [line.split() for line in lines if line.strip().startswith(f"{method} ")]
            assert row[:3] == [method, "numpy", "rotated_digits"]
            assert row[3] == format(float(done["throughput"].values[i]), ",.0f")
            assert row[-2 if fits else -3] == format(float(done["test_error"].values[i]), ".4g")
            assert fits or row[-2] == format(float(done["forgetting"].values[i]), ".3g")
            assert row[-1] == format(float(done["deviation"].values[i]), ".1e")
        if fits:
            wide = self.on_terminal(columns, "show", "--wide", "r.nc", folder=tmp_path, kind=kind)
            assert re.search(r"^ method +backend +stream +samples/s +roofline +state ", plain(wide), re.M)

    def test_errors_are_broken_between_words(self, tmp_path):
        output = self.on_terminal(50, "list", "nowhere", folder=tmp_path, kind="xterm", stderr=True)
        lines = output.replace("\r", "").splitlines()
        assert lines[0].startswith("Error: no method, backend, stream")
        assert max(map(len, lines)) <= 50
        assert "rotated_digits" in output  # names are not cut

    def test_the_names_of_settings_are_complete(self, tmp_path):
        output = self.on_terminal(30, "list", "rls", folder=tmp_path, kind="xterm")
        assert " forgetting_factor " in output


def test_the_suite_is_not_overwritten(tmp_path):
    path = tmp_path / "s.toml"
    path.write_text('methods = ["lms"]\nbackends = ["numpy"]\nstreams = ["drift"]\n')
    before = path.read_text()
    result = invoke("run", "--suite", path, "--output", path)
    assert result.exit_code == 2
    assert "this is the file of the suite, which would be lost" in result.stderr
    assert path.read_text() == before


def test_cells_that_are_not_taken_over_are_counted(tmp_path, monkeypatch):
    def stop(done, total, record):
        if record:
            raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    rows = tmp_path / "rows.csv"
    rows.write_text("a,y\n1,2\n2,3\n3,5\n")
    suite = Suite(["lms", "rls"], ["numpy"], [{"name": "file", "settings": {"path": "rows.csv", "target": ["y"]}}])
    with pytest.raises(KeyboardInterrupt):
        run(suite, "r.nc", isolate=False, progress=stop)
    rows.write_text("a,y\n1,2\n2,3\n3,6\n")
    arguments = words("run --method lms --method rls --backend numpy --data rows.csv --target y --output r.nc")
    done = invoke(*arguments)
    assert done.exit_code == 0, done.output
    assert done.stderr.startswith("1 stored cell not reused: of another run, or damaged, or the versions, ")
    assert "not reused" not in invoke(*arguments).stderr


def test_an_interrupted_table_says_where_the_results_are(tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("orfit_bench.cli.run.show_results", interrupt)
    path = tmp_path / "r.nc"
    result = invoke("run", *words("--method lms --backend numpy --stream regression --rows 9"), "--output", path)
    assert result.stderr.splitlines()[-1] == f"Error: interrupted; all results are in {path}"
    assert load(path)["status"].values.tolist() == ["ok"]
