"""`orfit-bench reproduce` with the experiments of this distribution, and the page of tables made from its files."""

import pytest
from click.testing import CliRunner

from benchmarks import experiments as experiments_page
from orfit_bench.cli import main
from orfit_bench.errors import UnavailableError
from orfit_bench_papers import EXPERIMENTS, running, setups
from orfit_bench_papers.setups import find, make_setup


class TestCommand:
    def invoke(self, *arguments):
        return CliRunner().invoke(main, ["reproduce", *arguments])

    def test_without_a_name_it_lists_the_experiments(self):
        result = self.invoke()
        assert result.exit_code == 0
        for experiment in EXPERIMENTS.values():
            assert experiment.name in result.output

    @pytest.mark.parametrize(
        ("arguments", "stated"),
        [
            (["orfit-rotated-digit"], "Did you mean 'orfit-rotated-digits'?"),
            (["survey-figure-8", "--data", "mnist"], "it makes its own rows"),
            (["sgd-rate", "--data", "mnist"], "want one of digits"),
            (["forgetting", "--data", "cifar10"], "want one of digits, mnist"),
            (["forgetting", "--runs", "0"], "runs=0, want an integer in [1, inf)"),
            (["forgetting", "--output", "no/such/folder"], "no/such"),
        ],
    )
    def test_a_mistake_is_reported_in_a_line_with_exit_status_two(self, arguments, stated, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        result = self.invoke(*arguments)
        assert result.exit_code == 2
        assert stated in result.output
        assert not list(tmp_path.iterdir())

    def test_data_that_are_not_here_are_named(self, monkeypatch, tmp_path):
        monkeypatch.setenv("ORFIT_BENCH_DATA", str(tmp_path))
        result = self.invoke("krasulina-table-1", "--data", "cifar10")
        assert result.exit_code == 2
        assert "data_batch_1.bin" in result.output

    def test_a_cell_that_fails_ends_in_one(self, monkeypatch, tmp_path):
        def fails(*arguments, **more):
            raise RuntimeError("counted failed at 1: ValueError: it broke")

        monkeypatch.setattr(running, "run", fails)
        result = self.invoke("forgetting", "--output", str(tmp_path / "made"))
        assert result.exit_code == 1
        assert "it broke" in result.output


@pytest.mark.slow
def test_the_page_of_tables_keeps_those_that_are_not_measured_anew(created, tmp_path, monkeypatch):
    file = tmp_path / "experiments.md"
    before = (
        "# Page\n\n<!-- measured -->\n## forgetting on digits\n\nold\n\n## sgd-rate on digits\n\nkept\n<!-- end -->\n"
    )
    file.write_text(before)
    monkeypatch.setattr(experiments_page, "PAGE", file)
    with pytest.raises(FileNotFoundError, match="no file of an experiment"):
        experiments_page.main(str(tmp_path))
    assert file.read_text() == before
    experiments_page.main(str(created("forgetting").file.parent))
    after = file.read_text()
    assert "kept" in after
    assert "old" not in after
    assert "## forgetting on digits\n\nCatastrophic" in after
    assert "; 1 run." in after
    assert "± in ours is a standard deviation over the runs" in after
    experiments_page.main(str(created("orfit-unlimited").file.parent))
    headings = [line for line in file.read_text().splitlines() if line.startswith("##")]
    assert headings == ["## orfit-unlimited on digits", "## forgetting on digits", "## sgd-rate on digits"]


def test_without_a_cpu_backend_it_says_so(monkeypatch):
    class Empty:
        backends = {}

    monkeypatch.setattr(setups, "registry", Empty)
    with pytest.raises(UnavailableError, match="neither the numba nor the numpy backend"):
        make_setup(find("forgetting"))
