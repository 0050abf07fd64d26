"""HTML pages in a single file: text, tables and figures that can be read offline and without scripts.

>>> from orfit_bench.report.page import Listing, Number, Section, Text, render
>>> table = Listing("Speed", ("method", "samples/s"), [("rls", Number(1.2e6, "1,200,000"))], sortable=True)
>>> page = render("A run", "All cells are ok.", [Section("Results", [Text(["One row per cell."]), table])])
>>> page.count("<table"), "https://" in page
(1, False)
"""

from __future__ import annotations

import base64
import hashlib
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from orfit_bench.errors import UnavailableError
from orfit_bench.report.plotting import INK, PAPER, close, matplotlib

TEMPLATES = Path(__file__).parent / "templates"
SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
REFERRING = ("id", "href", "clip-path", "mask", "fill", "stroke", "style")
"""Attributes that define or reference the id of an element."""


class Number(NamedTuple):
    """A cell that is sorted by its value and displayed as its text; NaN is always last."""

    value: float
    text: str


Cell = str | Number


NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters that XML does not allow."""


@dataclass(frozen=True, slots=True)
class Text:
    """Paragraphs of plain text."""

    paragraphs: Sequence[str]


@dataclass(frozen=True, slots=True)
class Listing:
    """A table. If `sortable`, its rows can be sorted by any column and filtered by words."""

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
        """For each column, whether it is numeric and thus right-aligned."""
        return [any(isinstance(row[i], Number) for row in self.rows) for i in range(len(self.columns))]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: an SVG element, a caption and an alternative text."""

    svg: str
    caption: str
    alt: str


Part = Text | Listing | Figure


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and its contents."""

    heading: str
    parts: Sequence[Part]


def as_figure(figure: Any, caption: str, alt: str) -> Figure:
    """Convert a matplotlib figure to a part of a page, without date, font and background, and close it.

    INK and PAPER become the text and background colours of the page (light or dark); other colours are unchanged.
    """
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)
    close(figure)
    root = ElementTree.fromstring(NOT_XML.sub("\ufffd", buffer.getvalue()))  # a name may contain control characters
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
    """The page as HTML: a title, a summary, a table of contents and the sections.

    All strings are plain text and are escaped, except the SVG of figures, whose ids are made unique on the page. Raises
    UnavailableError if Jinja2 is not installed.
    """
    script = (TEMPLATES / "page.js").read_text(encoding="utf-8")
    template = environment().get_template("page.html")
    return str(
        template.render(
            title=title,
            summary=summary,
            sections=sections,
            style=_safe((TEMPLATES / "page.css").read_text(encoding="utf-8")),
            script=_safe(script),
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )
    )


def embedded(figure: Figure, prefix: str) -> Any:
    """The SVG of the figure with its alternative text, all ids and references prefixed."""
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
    """Remove metadata and styles (which would apply to the entire page); turn links into plain `href`s."""
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

    return Markup(text)  # our own text; everything else is escaped by Jinja2


def require(*modules: str) -> None:
    """Raise UnavailableError if Jinja2 or matplotlib is missing; called before long computations."""
    environment()
    matplotlib()
    for module in ("matplotlib.figure", "matplotlib.backends.backend_svg", *modules):
        import_module(module)


@cache
def environment() -> Any:
    """The Jinja2 environment. Raises UnavailableError if Jinja2 is not installed."""
    try:
        import jinja2
    except ImportError:
        raise UnavailableError(
            "HTML pages require Jinja2, which is not installed: pip install 'orfit-bench[plots]'"
        ) from None
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "embedded": embedded,
        "number": lambda value: str(value).replace("inf", "Infinity"),  # as in JavaScript
    }
    found.tests["text"] = lambda part: isinstance(part, Text)
    found.tests["listing"] = lambda part: isinstance(part, Listing)
    found.tests["figure"] = lambda part: isinstance(part, Figure)
    found.tests["missing"] = lambda cell: isinstance(cell, Number) and math.isnan(cell.value)
    found.tests["valued"] = lambda cell: isinstance(cell, Number) and not math.isnan(cell.value)
    return found
