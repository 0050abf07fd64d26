"""One HTML page in one file: words, tables and figures, which need no network, no script and no server to be read.

>>> from orfit_bench.report.page import Listing, Number, Section, Text, render
>>> table = Listing("Speed", ("method", "rows/s"), [("rls", Number(1.2e6, "1,200,000"))], sortable=True)
>>> page = render("A run", "All cells are ok.", [Section("Results", [Text(["One row a cell."]), table])])
>>> page.count("<table"), "https://" in page
(1, False)
"""

from __future__ import annotations

import base64
import hashlib
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from orfit_bench.errors import UnavailableError
from orfit_bench.report.pictures import INK, PAPER, close, matplotlib

TEMPLATES = Path(__file__).parent / "templates"
SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
REFERRING = ("id", "href", "clip-path", "mask", "fill", "stroke", "style")
"""Attributes that name an element, or refer to one."""


class Number(NamedTuple):
    """A cell that is sorted by its value and read as its text; NaN stands last in every order."""

    value: float
    text: str


Cell = str | Number


@dataclass(frozen=True, slots=True)
class Text:
    """Paragraphs of plain text."""

    paragraphs: Sequence[str]


@dataclass(frozen=True, slots=True)
class Listing:
    """A table. With `sortable` its rows can be sorted by any column, and filtered by words."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    sortable: bool = False

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{self.caption}: a row of {len(row)} cells, want {len(self.columns)}: {row}")

    @property
    def numeric(self) -> list[bool]:
        """Which columns hold numbers, and stand to the right."""
        return [any(isinstance(row[i], Number) for row in self.rows) for i in range(len(self.columns))]


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing: an SVG element, what stands under it, and what it shows, for those who cannot see it."""

    svg: str
    caption: str
    alt: str


Part = Text | Listing | Figure


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it."""

    heading: str
    parts: Sequence[Part]


def drawn(figure: Any, caption: str, alt: str) -> Figure:
    """Make a matplotlib figure, which is closed then, part of a page: no date, no font, no background.

    INK and PAPER become the colours of the page's text and background; other colours stay as they are, light or dark.
    """
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)
    close(figure)
    root = ElementTree.fromstring(buffer.getvalue())
    width = float(root.attrib.pop("width").removesuffix("pt"))
    del root.attrib["height"]
    root.attrib |= {"style": f"width: {width:.0f}pt", "fill": "currentColor"}
    _strip(root)
    for element in root.iter():
        for name in ("style", "fill", "stroke"):
            if name in element.attrib:
                element.attrib[name] = element.attrib[name].replace(INK, "currentColor").replace(PAPER, "var(--page)")
    return Figure(_written(root), caption, alt)


def render(title: str, summary: str, sections: Sequence[Section]) -> str:
    """The page as one text: a title, what to know first, a table of contents and the sections.

    All strings are plain text and are escaped; a figure's SVG alone is taken as it is, but for its ids, which become
    its own on this page. UnavailableError where Jinja is not installed.
    """
    script = (TEMPLATES / "page.js").read_text(encoding="utf-8")
    whole = environment().get_template("page.html")
    return str(
        whole.render(
            title=title,
            summary=summary,
            sections=sections,
            style=_safe((TEMPLATES / "page.css").read_text(encoding="utf-8")),
            script=_safe(script),
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )
    )


def embedded(figure: Figure, prefix: str) -> Any:
    """The figure's SVG, labelled by its alt text, every id and reference to it with the prefix."""
    root = ElementTree.fromstring(figure.svg)
    root.attrib |= {"role": "img", "aria-label": figure.alt}
    for element in root.iter():
        for name in REFERRING:
            if name in element.attrib:
                element.attrib[name] = _prefixed(name, element.attrib[name], prefix)
    return _safe(_written(root))


def _prefixed(name: str, value: str, prefix: str) -> str:
    if name == "id":
        return prefix + value
    if name == "href":
        return value.replace("#", f"#{prefix}", 1) if value.startswith("#") else value
    return value.replace("url(#", f"url(#{prefix}")


def _strip(root: ElementTree.Element) -> None:
    """Drop what is not drawn: metadata, and styles, which would hold for the whole page; links are plain `href`s."""
    for element in root.iter():
        for child in [c for c in element if c.tag in (f"{{{SVG}}}metadata", f"{{{SVG}}}style")]:
            element.remove(child)
        if f"{{{XLINK}}}href" in element.attrib:
            element.attrib["href"] = element.attrib.pop(f"{{{XLINK}}}href")


def _written(root: ElementTree.Element) -> str:
    ElementTree.register_namespace("", SVG)
    return ElementTree.tostring(root, encoding="unicode")


def _safe(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)  # our own: what comes from outside goes through Jinja's escapes


def require(*modules: str) -> None:
    """UnavailableError where what makes pages is not installed: said, and imported, before long work and not after."""
    environment()
    matplotlib()
    for module in ("matplotlib.figure", "matplotlib.backends.backend_svg", *modules):
        import_module(module)


@cache
def environment() -> Any:
    """What fills the template. UnavailableError where Jinja is not installed."""
    try:
        import jinja2
    except ImportError:
        raise UnavailableError(
            "HTML pages need Jinja, which is not installed: pip install 'orfit-bench[plots]'"
        ) from None
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "embedded": embedded,
        "number": lambda value: str(value).replace("inf", "Infinity"),
    }  # as JS has it
    made.tests["text"] = lambda part: isinstance(part, Text)
    made.tests["listing"] = lambda part: isinstance(part, Listing)
    made.tests["figure"] = lambda part: isinstance(part, Figure)
    made.tests["missing"] = lambda cell: isinstance(cell, Number) and math.isnan(cell.value)
    made.tests["valued"] = lambda cell: isinstance(cell, Number) and not math.isnan(cell.value)
    return made
