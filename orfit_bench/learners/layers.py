"""Checks of a layered model: its matrices are its parameters, its inputs agree with its gradients."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index

from orfit_bench.spec.backend import Array
from orfit_bench.spec.model import Model

Shapes = tuple[tuple[int, int], ...]


def shapes(model: Model, d: int, c: int) -> Shapes:
    """The (inputs, outputs) of the layers' matrices; ValueError if they do not make up the parameters."""
    given = model.shapes(d, c) if model.shapes else ()
    try:
        found = tuple((index(n), index(m)) for n, m in given)
    except (TypeError, ValueError):
        raise ValueError(
            f"model {model.name!r}: shapes(d, c) returned {given!r}, want a pair of integers (inputs, outputs) a layer"
        ) from None
    if any(n < 1 or m < min(1, c) for n, m in found):  # without outputs there may be no columns
        raise ValueError(f"model {model.name!r}: shapes(d, c) returned {found}, want integers of at least 1")
    if (entries := sum(n * m for n, m in found)) != model.size(d, c):
        raise ValueError(
            f"model {model.name!r}: its layers' matrices, of shapes {found}, have {entries} entries, "
            f"but it has {model.size(d, c)} parameters"
        )
    return found


def inputs(model: Model, w: Array, x: Array, layers: int) -> Sequence[Array]:
    """The input of each layer for one row; ValueError if that is not one array per layer."""
    found: Sequence[Array] = model.layers(w, x)  # type: ignore[misc]  # create saw to it
    if not isinstance(found, (tuple, list)) or len(found) != layers:
        got = f"{len(found)} arrays" if isinstance(found, (tuple, list)) else type(found).__name__
        raise ValueError(f"model {model.name!r}: layers(w, x) returned {got}, want a tuple of {layers}, one per layer")
    return found


def check(model: Model, J: Array, found: Shapes, taken_in: Sequence[Array], cut: float) -> bool:
    """Raise ValueError if gradients J (c, p) of a row are not products of the inputs of the layers and a row.

    Returns whether the row is evidence: gradients of zero agree with any inputs.
    """
    start, shown = 0, True
    for k, ((n, m), a) in enumerate(zip(found, taken_in, strict=True)):
        G = J[:, start : start + n * m].reshape(-1, n, m)
        start += n * m
        i = int(abs(a).argmax())
        shown = shown and bool(G.any())
        difference = abs(G * a[i] - a[:, None] * G[:, i : i + 1]).max()
        if difference > cut * abs(G).max() * abs(a[i]) or (not a[i] and G.any()):
            raise ValueError(
                f"model {model.name!r}: layers(w, x)[{k}] and jacobian(w, x) do not agree: an output's gradient by "
                f"this layer's {n} x {m} matrix, in C order, is not a product of that vector and a row"
            )
    return shown
