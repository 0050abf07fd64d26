"""The streams of the package, one module per family: every `Stream` defined by a module of this package is listed."""

from __future__ import annotations

from orfit_bench.catalogue.shared.modules import declared
from orfit_bench.catalogue.streams.mnist_files import DataNotFound
from orfit_bench.spec.stream import Stream

STREAMS: tuple[Stream, ...] = declared(Stream, __name__, __path__)
"""Every stream of the catalogue, ordered by module."""

__all__ = ["STREAMS", "DataNotFound"]
