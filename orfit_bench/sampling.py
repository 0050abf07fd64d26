"""Orders in which the rows of a stream are visited: as they are, drawn uniformly, or reshuffled in each pass.

The functions return views: a slice gathers its rows when it is requested, and the seed fixes the order. Source:
slides, "Other SGD flavors: different sampling".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from operator import is_
from typing import Any

import numpy as np

from orfit_bench.spec import Choice, Data, Integer, Setting, Stream
from orfit_bench.spec.data import Pair
from orfit_bench.tables.columns import read_columns, refuse_named_rows
from orfit_bench.tables.row_labels import check_rows_agree
from orfit_bench.tables.row_selection import as_selectable, take_rows
from orfit_bench.visit_order import SampledView, VisitOrder

BLOCK = 1024
"""Number of rows that `uniform` draws at once."""

SAMPLING = Setting(
    "sampling",
    Choice(("once", "uniform", "reshuffled")),
    "once",
    "order of the rows: as they come, drawn with replacement, or each pass in a new random order",
)
PASSES = Setting("passes", Integer(1), 1, "number of passes, for sampling uniform or reshuffled")
SEED = Setting("seed", Integer(0), 0, "seed of the order of the rows")


def once(data: Data | Pair) -> Data:
    """Return the data in their own order.

    Parameters
    ----------
    data : Data or (X, y)
        The data of a stream, or X (n, d) with y (n,) or (n, c), or None for rows without targets: arrays or tables.

    Returns
    -------
    Data
        The same object if `data` is one, else the arrays as `Data`. Chunks of a table are tables, and a learner needs
        some hundred microseconds to read one; for chunks of a few rows pass an array.

    Raises
    ------
    TypeError
        If `data` is neither Data nor a pair, or X or y is masked, or X has a column that is not numeric.
    ValueError
        If X and y have different numbers of rows, or the same row labels in another order.

    Examples
    --------
    >>> once(([[1.0], [2.0]], [0.0, 1.0])).X.shape
    (2, 1)
    """
    if isinstance(data, Data):
        found = data
    elif not isinstance(data, (tuple, list)) or len(data) != 2:
        raise TypeError(f"data: got {type(data).__name__}, want Data or a pair (X, y); (X, None) for rows only")
    else:
        X, y = data
        found = _read_pair(X, y)
    found.check()
    check_rows_agree(found.X, found.y, "y")
    return found


def uniform(data: Data | Pair, n: int, seed: int = 0) -> Data:
    """Return a view of n rows, each drawn uniformly and with replacement.

    Parameters
    ----------
    data : Data or (X, y)
        The data of a stream, or X (n, d) with y (n,) or (n, c), or None for rows without targets: arrays or tables.
    n : int
        Number of rows to draw.
    seed : int
        Seed of the order.

    Returns
    -------
    Data
        Views of X and y. Test and validation rows are unchanged; there are no tasks.

    Raises
    ------
    TypeError
        As in `once`.
    ValueError
        If the data have no rows, or n < 1.

    Examples
    --------
    >>> len(uniform(([[1.0], [2.0]], [0.0, 1.0]), 5).X)
    5
    """
    data = once(data)
    rows = len(data.X)
    if not rows:
        raise ValueError("uniform: the data have no rows to draw from")
    return _view(
        data, VisitOrder(_positive("n", n), BLOCK, lambda rng: rng.integers(rows, size=BLOCK), SEED.check(seed))
    )


def reshuffled(data: Data | Pair, passes: int, seed: int = 0) -> Data:
    """Return a view of several passes through the data, each in a new random order.

    Parameters
    ----------
    data : Data or (X, y)
        The data of a stream, or X (n, d) with y (n,) or (n, c), or None for rows without targets: arrays or tables.
    passes : int
        Number of passes.
    seed : int
        Seed of the order.

    Returns
    -------
    Data
        Views of X and y with `passes` times the rows. Test and validation rows are unchanged; there are no tasks.

    Raises
    ------
    TypeError
        As in `once`.
    ValueError
        If passes < 1.

    Examples
    --------
    >>> sorted(reshuffled(([[1.0], [2.0]], [0.0, 1.0]), 2).y[:].tolist())
    [0.0, 0.0, 1.0, 1.0]
    """
    data = once(data)
    rows = len(data.X)
    order = VisitOrder(_positive("passes", passes) * rows, rows, lambda rng: rng.permutation(rows), SEED.check(seed))
    return _view(data, order)


def with_sampling(stream: Stream) -> Stream:
    """Return the stream with the settings `sampling` and `passes`, and `seed` if it has none.

    `ob.streams()` and suites offer streams in this form.

    Parameters
    ----------
    stream : Stream
        Any stream.

    Returns
    -------
    Stream
        The stream with these settings. A stream that declares `sampling` or `passes` itself is returned unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from orfit_bench.spec import Data, Stream
    >>> ramp = Stream("ramp", "0, 1, 2", make=lambda: Data(np.arange(3.0)[:, None], np.arange(3.0)))
    >>> len(with_sampling(ramp).load(sampling="reshuffled", passes=2).X)
    6
    """
    names = {s.name for s in stream.settings}
    if names & {SAMPLING.name, PASSES.name}:
        return stream
    added = (SAMPLING, PASSES) if "seed" in names else (SAMPLING, PASSES, SEED)
    return replace(stream, make=_Sampled(stream), settings=(*stream.settings, *added))


@dataclass(frozen=True, eq=False)
class _Sampled:
    """`make` of a stream with these settings."""

    stream: Stream

    def __call__(self, sampling: str, passes: int, seed: int | None = None, **settings: Any) -> Data:
        """The rows in the order that is asked for."""
        stream = self.stream
        if sampling == "once" and passes > 1:
            raise ValueError(
                f"stream {stream.name!r}: passes={passes} requires sampling='uniform' or 'reshuffled'; to repeat the "
                f"rows in the same order, set the passes of the protocol"
            )
        seeded = {"seed": seed} if any(s.name == "seed" for s in stream.settings) else {}
        data = stream.checked(stream.make(**settings, **seeded))
        if sampling == "uniform":
            return uniform(data, passes * len(data.X), seed or 0)
        return reshuffled(data, passes, seed or 0) if sampling == "reshuffled" else once(data)


def is_same_stream(stream: Stream, known: Stream) -> bool:
    """Return whether `stream` is `known` itself, or `with_sampling(known)`.

    Parameters
    ----------
    stream, known : Stream
        Any streams.

    Returns
    -------
    bool
        Whether nothing else was changed.

    Examples
    --------
    >>> import numpy as np
    >>> from orfit_bench.spec import Data, Stream
    >>> ramp = Stream("ramp", "0, 1, 2", make=lambda: Data(np.arange(3.0)[:, None], np.arange(3.0)))
    >>> is_same_stream(with_sampling(ramp), ramp), is_same_stream(with_sampling(ramp), with_sampling(ramp))
    (True, False)
    """
    if stream is known or not (isinstance(stream.make, _Sampled) and stream.make.stream is known):
        return stream is known
    other = with_sampling(known)
    same = len(stream.settings) == len(other.settings) and all(map(is_, stream.settings, other.settings))
    return same and all(
        getattr(stream, field.name) is getattr(other, field.name)
        for field in fields(Stream)
        if field.name not in ("make", "settings")
    )


def depends_on_seed(stream: Stream, settings: Mapping[str, Any]) -> bool:
    """Tell whether the rows of a stream depend on its seed.

    Parameters
    ----------
    stream : Stream
        The stream as it is declared, without the settings that `with_sampling` adds.
    settings : mapping
        Settings of the stream and of the order of its rows.

    Returns
    -------
    bool
        Whether another seed may give other rows, or the same in another order.

    Examples
    --------
    >>> import numpy as np
    >>> from orfit_bench.spec import Data, Stream
    >>> ramp = Stream("ramp", "0, 1, 2", make=lambda: Data(np.arange(3.0)[:, None], np.arange(3.0)))
    >>> depends_on_seed(ramp, {}), depends_on_seed(ramp, {"sampling": "uniform"})
    (False, True)
    """
    is_drawn = settings.get(SAMPLING.name, SAMPLING.default) != SAMPLING.default
    return is_drawn or any(s.name == SEED.name for s in stream.settings)


def _read_pair(X: Any, y: Any) -> Data:
    """X and y as data, tables unchanged. Refuses an X that learners refuse; only they know if y must be numbers."""
    refuse_named_rows(X, "X")
    rows = as_selectable(X, "X")
    names = read_columns(take_rows(rows, slice(0, 1)), "X").names
    if names and len(names) < rows.shape[1]:
        rows = rows.select(list(names))  # an Arrow table may hold the index of pandas, which is no feature
    return Data(rows, None if y is None else as_selectable(y, "y"), feature_names=names)


def _view(data: Data, order: VisitOrder) -> Data:
    """Views of X and y in this order; tasks are dropped, since their rows are no longer contiguous."""
    X: Any = SampledView(data.X, order)
    y: Any = None if data.y is None else SampledView(data.y, order)
    return replace(data, X=X, y=y, tasks=())


def _positive(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name}={value!r}: want an integer >= 1")
    if value < 1:
        raise ValueError(f"{name}={value}: want an integer >= 1")
    return int(value)
