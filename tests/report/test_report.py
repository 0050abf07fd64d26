"""Pages: escaped, self-contained and complete; and the commands that make them from results."""

import base64
import hashlib
import re
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from helpers.outcomes import created, failed, table

from orfit_bench.bench import collection, results
from orfit_bench.cli import main
from orfit_bench.cli import report as report_cli
from orfit_bench.errors import UnavailableError
from orfit_bench.report import results_listings
from orfit_bench.report.page import Figure, Listing, Number, Section, Text, as_figure, render
from orfit_bench.report.plotting import INK, PAPER, pyplot
from orfit_bench.report.results_listings import times
from orfit_bench.report.results_page import results_page

HOSTILE = '<script>alert("x")</script>&amp;<img src=x onerror=alert(1)>'


def figure():
    shown, axes = pyplot().subplots(figsize=(2, 1))
    axes.plot([0, 1], [0, 1], marker="o", color=INK, markerfacecolor=PAPER, label=HOSTILE)
    axes.imshow([[1, 2], [3, 4]])
    axes.legend()
    return shown


class Read(HTMLParser):
    """A parser for a page: its elements, ids, references and strings."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.texts = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data):
        self.texts.append(data)

    def values(self, *names):
        return [value for name, value in self.attributes if name in names]

    @property
    def tables(self):
        """The joined strings of all cells of the page."""
        return "|".join(text.strip() for text in self.texts if text.strip())


class TestPage:
    def test_everything_is_escaped(self):
        listing = Listing(HOSTILE, (HOSTILE,), [(HOSTILE,), (Number(1, HOSTILE),)], sortable=True)
        sections = [
            Section(HOSTILE, [Text([HOSTILE]), listing]),
            Section(HOSTILE, [as_figure(figure(), HOSTILE, HOSTILE)]),
        ]
        page = render(HOSTILE, HOSTILE, sections)
        read = Read(page)
        assert read.tags.count("script") == 1
        assert "img" not in read.tags
        assert not [name for name, _ in read.attributes if name.startswith("on")]
        assert read.tables.count(HOSTILE) == 14  # head, headings, contents, words, table, captions and legend
        assert HOSTILE in read.values("aria-label")

    def test_ids_are_its_own_and_every_reference_leads_somewhere(self):
        one, twin = as_figure(figure(), "One", "one"), as_figure(figure(), "One", "one")
        assert one == twin
        read = Read(render("T", "", [Section("A", [one, twin]), Section("B", [one])]))
        ids = read.values("id")
        assert len(ids) == len(set(ids))
        used = re.findall(r"url\(#([^)]+)\)", " ".join(read.values("clip-path", "style", "fill", "mask")))
        used += [value[1:] for value in read.values("href") if value.startswith("#")]
        assert len(used) > 10
        assert set(used) <= set(ids)

    def test_asks_for_nothing_and_runs_its_own_script_alone(self):
        page = render("T", "", [Section("A", [as_figure(figure(), "", "")])])
        read = Read(page)
        assert all(value.startswith(("#", "data:")) for value in read.values("href", "src", "xlink:href"))
        assert not re.search(r"@import|url\((?!#)", page)
        (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        (policy,) = (value for value in read.values("content") if "default-src" in value)
        assert f"script-src 'sha256-{digest}'" in policy
        assert "default-src 'none'" in policy

    def test_black_and_white_are_the_page_s(self):
        svg = as_figure(figure(), "", "").svg
        assert "currentColor" in svg
        assert "var(--page)" in svg
        assert INK not in svg
        assert "<metadata" not in svg
        assert "<style" not in svg

    def test_numeric_cells_are_aligned_and_sortable(self):
        listing = Listing("", ("a", "b"), [("x", Number(2.0, "2 kB")), ("y", Number(np.nan, "n/a"))])
        assert listing.numeric == [False, True]
        page = render("T", "", [Section("A", [listing])])
        assert '<td class="number" data-value="2.0">2 kB</td>' in page
        assert '<td class="number missing">n/a</td>' in page

    def test_a_row_of_another_length_is_refused(self):
        with pytest.raises(ValueError, match="2 cells, want 1"):
            Listing("Speed", ("a",), [("x", "y")])

    def test_a_figure_of_somebody_s_own(self):
        page = render("T", "", [Section("A", [Figure('<svg xmlns="http://www.w3.org/2000/svg"/>', "C", "alt")])])
        assert 'aria-label="alt"' in page

    def test_says_how_to_install_jinja(self, monkeypatch):
        from orfit_bench.report import page

        page.environment.cache_clear()
        monkeypatch.setitem(sys.modules, "jinja2", None)
        with pytest.raises(UnavailableError, match=r"pip install 'orfit-bench\[plots\]'"):
            render("T", "", [])


class TestResults:
    def test_page_contains_all_sections(self):
        records = [created("lms", test_error=0.123), created("rls", "numba", test_error=0.0456), failed("ogd", HOSTILE)]
        read = Read(results_page(table(records)))
        for reported in (
            "0.123",
            "0.0456",
            "10,000",
            "10 us",
            "100 us",
            "800 B",
            "10 kB",
            "0123456789",
            "a CPU",
            "8 GB",
        ):
            assert reported in read.tables
        assert HOSTILE in read.tables
        assert "3 cells (method, backend and stream): 2 ok, 1 failed" in read.tables
        assert read.tags.count("svg") == 4
        assert read.tables.count("|failed|") == 2  # in place of its error, and with the reason
        assert "Only one seed" in read.tables
        assert "at most 1 pairs" in read.tables

    def test_seeds_have_intervals_and_methods_a_verdict(self):
        records = [
            created(m, seed=s, test_error=e + s / 100) for m, e in (("lms", 1.0), ("rls", 0.5)) for s in range(6)
        ]
        reported = Read(results_page(table(records))).tables
        half = 2.5706 * np.std(np.arange(6) / 100, ddof=1) / 6**0.5
        assert f"1.025 ± {half:.2g}" in reported
        assert "lms|rls|0|6|0|" in reported
        assert reported.count("±") == 4  # test error and forgetting: the spread of the clock is the machine's load
        assert "-1.00|0.031|0.031" in reported

    def test_the_page_says_why_it_has_no_statistics(self):
        alone = Read(results_page(table([created()]))).tables
        assert "No two methods have test errors on the same stream and seed" in alone
        assert "Only one seed was run, so there are no confidence intervals. Use --seed several times." in alone
        assert "1 cell (method" in alone
        several = Read(results_page(table([created(), *(failed(seed=s) for s in (1, 2))]))).tables
        assert "No method was measured with several seeds, so there are no confidence intervals." in several

    def test_seeds_without_a_finite_error_are_counted(self):
        results = table([created("lms", seed=k) for k in range(3)])
        results["a_priori_error"].values[:] = 1.0
        results["test_error"].values[0] = np.nan
        assert "|3 (2 finite)|" in Read(results_page(results)).tables
        results["test_error"].values[:] = np.inf
        assert "|3 (0 finite)|" in Read(results_page(results)).tables

    def test_errors_of_different_kinds_never_share_a_table(self):
        records = [
            created(m, stream=s, seed=k) for m, s in (("lms", "drift"), ("class_rls", "class_digits")) for k in (0, 1)
        ]
        reported = Read(results_page(table(records))).tables
        for kind in ("root mean squared error", "share of wrong labels"):
            assert f"Cells: {kind}" in reported
            assert f"Means over seeds with 95 % confidence intervals (Student's t): {kind}" in reported

    def test_several_machines(self):
        def here(cpu):
            machine = {"cpu": cpu, "cores": 1, "memory": 1e9, "platform": "x"}
            return table([created()], machine=machine)

        reported = Read(results_page(collection.merge([here("left"), here("right")]))).tables
        assert "run 1|run 2" in reported
        assert "lms|numpy|drift|run 1|" in reported
        assert "lms|numpy|drift|run 2|" in reported
        assert reported.count("|drift, run 2 (right)|") == 4  # a figure of each kind
        assert "2 runs in one file" in reported

    def test_dates_of_cells_that_were_merged(self):
        early, late = (
            table([created(method)]).assign_attrs(date=date)
            for method, date in (("lms", "2026-01-01T10:00:00"), ("rls", "2026-01-02T10:00:00"))
        )
        for parts in ((early, late), (late, early)):
            page = results_page(collection.merge(list(parts)))
            assert "2026-01-01T10:00:00 to 2026-01-02T10:00:00" in Read(page).tables
            assert "in one file" not in page

    def test_backward_transfer_is_shown_if_recorded(self):
        one = table([created()])
        assert "thereof transfer" not in times(one).columns
        timed = times(one.assign(seconds_transfer=("cell", [0.25])))
        at = timed.columns.index("learning") + 1
        assert (timed.columns[at], timed.rows[0][at].text) == ("thereof transfer", "250 ms")

    def test_nothing_measured(self):
        reported = Read(results_page(table([failed(status="absent", reason="no such device")]))).tables
        assert "no such device" in reported
        assert reported.count("No figure for drift: none of its cells was measured.") == 4

    def test_says_how_many_of_many_methods_are_drawn(self):
        reported = Read(results_page(table([created(settings={"step_size": k}) for k in range(40)]))).tables
        assert (
            "drift: 20 of 40 methods, those with the least and the most forgetting. The error on each task" in reported
        )


class TestCommands:
    @pytest.fixture
    def file(self, tmp_path):
        results.write(table([created("lms"), created("rls", seed=1)]), tmp_path / "r.nc")
        return tmp_path / "r.nc"

    def call(self, *arguments):
        return CliRunner().invoke(main, [str(a) for a in arguments])

    def test_report(self, file, tmp_path):
        done = self.call("report", file)
        assert done.exit_code == 0, done.output
        assert f"Report: {tmp_path / 'r.html'}" in done.output
        assert (tmp_path / "r.html").read_text(encoding="utf-8").startswith("<!doctype html>")
        assert self.call("report", file, "--output", tmp_path / "other.html").exit_code == 0
        assert (tmp_path / "other.html").read_bytes() == (tmp_path / "r.html").read_bytes()

    def test_no_folder_no_report(self, file, tmp_path):
        done = self.call("report", file, "--output", tmp_path / "other.NC")
        assert done.exit_code == 2
        assert done.stderr.startswith(f"Error: {tmp_path / 'other.NC'}: a report is HTML, want .html")
        assert not (tmp_path / "other.NC").exists()
        done = self.call("report", file, "--output", tmp_path / "none" / "r.html")
        assert done.exit_code == 2
        assert "there is no folder" in done.output

    @pytest.mark.parametrize(
        "arguments",
        [
            ("report", "r.nc", "--output", "r.nc"),
            ("report", "r.nc", "--output", "link"),
            ("report", "r.html"),
            ("run", "--output", "r.html", "--report"),
            ("export", "r.csv", "r.csv"),
        ],
    )
    def test_output_may_not_replace_the_results(self, arguments, file, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("orfit_bench.bench.run", lambda *given, **more: pytest.fail("a run began"))
        (tmp_path / "link").symlink_to("r.nc")
        for name in ("r.html", "r.csv"):
            (tmp_path / name).write_bytes(file.read_bytes())
        done = self.call(*arguments)
        assert done.exit_code == 2
        assert "this is the file of the results" in done.output
        assert {(tmp_path / name).read_bytes() for name in ("r.nc", "r.html", "r.csv")} == {file.read_bytes()}

    def test_show_has_the_statistics_of_several_seeds(self, tmp_path):
        cells = [created(m, seed=s, test_error=e + s) for m, e in (("lms", 1.0), ("rls", 2.0)) for s in range(2)]
        results.write(table(cells), tmp_path / "r.nc")
        output = self.call("show", tmp_path / "r.nc").output
        assert "1.5 ± 6.4" in output
        assert "at most 2 pairs" in output

    def test_only_pairs_with_the_smallest_p_are_listed(self, monkeypatch):
        monkeypatch.setattr(results_listings, "MOST_PAIRS", 2)
        worse = {"lms": [1.0, 2.0] * 4, "rls": [0.1] * 8, "apa": [1.5] * 8}
        listed = results_listings.pairs(
            table([created(m, seed=s, test_error=e) for m, errors in worse.items() for s, e in enumerate(errors)])
        )
        assert listed.caption.endswith("the 2 pairs of 3 with the smallest p")
        assert {row[0] for row in listed.rows} | {row[1] for row in listed.rows} == set(worse)
        assert all("rls" in row[:2] for row in listed.rows)

    def test_run_makes_a_page_and_opens_none_off_a_terminal(self, tmp_path, monkeypatch):
        monkeypatch.setattr("webbrowser.open", lambda url: pytest.fail("a browser was opened"))
        monkeypatch.setattr("orfit_bench.bench.run", lambda *given, **more: table([created("lms")]))
        done = self.call("run", "--method", "lms", "--output", tmp_path / "r.nc", "--report")
        assert done.exit_code == 0, done.output
        assert "lms" in (tmp_path / "r.html").read_text(encoding="utf-8")

    @pytest.mark.parametrize(("terminal", "ci", "opened"), [(True, "", 1), (True, "true", 0), (False, "", 0)])
    def test_opens_the_browser_on_a_terminal_only_and_never_in_ci(self, terminal, ci, opened, tmp_path, monkeypatch):
        seen = []
        monkeypatch.setattr("webbrowser.open", seen.append)
        monkeypatch.setattr(report_cli, "sys", SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: terminal)))
        monkeypatch.setenv("CI", ci)
        report_cli.show_page(tmp_path / "r.html")
        assert seen == [(tmp_path / "r.html").as_uri()] * opened

    def test_missing_libraries_of_the_page_are_reported_before_the_run(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        done = self.call("run", "--method", "lms", "--output", tmp_path / "r.nc", "--report")
        assert done.exit_code == 2
        assert "pip install 'orfit-bench[plots]'" in done.output
        assert not list(tmp_path.iterdir())
