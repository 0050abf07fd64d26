"""Pages of docs/ with measurements between two marks; everything else is written by hand."""

from pathlib import Path

from orfit_bench.jobs.files import replace_text

BEGIN, END = "<!-- measured -->\n", "<!-- end -->\n"


def filled(page: str, measured: str) -> str:
    """The page with this text between its marks."""
    before, _, rest = page.partition(BEGIN)
    return "".join([before, BEGIN, measured, END, rest.partition(END)[2]])


def measured(page: str) -> str:
    """The text between the marks of the page."""
    return page.partition(BEGIN)[2].partition(END)[0]


def fill(path: Path, measured: str) -> None:
    """Replace the text between the marks of a file atomically."""
    page = filled(path.read_text(), measured)
    replace_text(path, page)
