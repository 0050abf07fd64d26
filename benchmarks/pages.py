"""Pages of docs/ that hold what was measured between two marks, the rest being written by hand."""

from pathlib import Path

from orfit_bench.jobs.files import replace_text

BEGIN, END = "<!-- measured -->\n", "<!-- end -->\n"


def filled(page: str, measured: str) -> str:
    """The page with this between its marks."""
    before, _, rest = page.partition(BEGIN)
    return "".join([before, BEGIN, measured, END, rest.partition(END)[2]])


def measured(page: str) -> str:
    """What is between the page's marks."""
    return page.partition(BEGIN)[2].partition(END)[0]


def fill(path: Path, measured: str) -> None:
    """The same of a file, which is the old one or the whole new one at every moment."""
    page = filled(path.read_text(), measured)
    replace_text(path, page)
