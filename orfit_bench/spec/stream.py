"""A stream: rows in a fixed order, with a test set where that makes sense."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

from orfit_bench.errors import with_place
from orfit_bench.spec.data import Data, refuse_empty, without_slices
from orfit_bench.spec.kinds import KindName
from orfit_bench.spec.probing import reason_of
from orfit_bench.spec.setting import Setting, check_settings

Offers = Literal["numbers", "labels", "rows", "integers", "gaps"]
OFFERS: dict[str, tuple[KindName, ...]] = {
    "numbers": ("regression", "filter", "subspace"),
    "labels": ("classification", "subspace"),
    "rows": ("subspace",),
    "integers": ("regression", "filter", "classification", "subspace"),
    "gaps": ("filter", "subspace"),
}
"""What a stream may offer, and the kinds of methods that can learn it: a subspace needs no y and ignores it.

"gaps" are numbers of which some are missing (NaN), in rows that filters only predict.
"""


@dataclass(frozen=True, slots=True)
class Stream:
    """A named source of data.

    Parameters
    ----------
    name, summary : str
        The name, and a description in one line.
    make : callable
        make(**settings) returns the `Data`, the same each time.
    settings : tuple of Setting
        The settings that `make` accepts.
    source : str
        Where the data come from.
    probe : callable
        probe() returns why the data cannot be loaded here, with the remedy, or an empty string. A run calls it before
        it loads the data; if it returns a reason, the cells of the stream are absent for that reason.
    files : callable
        files() returns the user's files from which the rows are read: a killed run resumes only if they are unchanged.
    offers : {"numbers", "labels", "rows", "integers", "gaps"}
        What y holds, and so which kinds of methods learn the stream; integers may be labels too.
    configure : callable, optional
        configure(settings) returns the stream with these settings as defaults; needed if `offers` depends on them.

    Examples
    --------
    >>> import numpy as np
    >>> from orfit_bench.spec import Data, Stream
    >>> line = Stream("line", "targets on a line", make=lambda: Data(np.ones((4, 1)), np.arange(4.0)))
    >>> line.load().y
    array([0., 1., 2., 3.])
    """

    name: str
    summary: str
    make: Callable[..., Data]
    settings: tuple[Setting, ...] = ()
    source: str = ""
    probe: Callable[[], str] = str
    files: Callable[[], list[Path]] = list
    offers: Offers = "numbers"
    configure: Callable[[Mapping[str, Any]], Stream] | None = None

    def __post_init__(self) -> None:
        """Refuse settings that could not be given, and an offer that no method could be planned for."""
        if not isinstance(self.settings, (tuple, list)) or not all(isinstance(s, Setting) for s in self.settings):
            raise TypeError(f"stream {self.name!r}: settings={self.settings!r}, want a tuple of settings")
        names = [setting.name for setting in self.settings]
        if repeated := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"stream {self.name!r}: two settings are named {repeated[0]!r}, want different names")
        if "self" in names:
            raise ValueError(f"stream {self.name!r}: a setting is named 'self', want another name")
        if self.offers not in OFFERS:
            raise ValueError(f"stream {self.name!r}: it offers {self.offers!r}, want one of {', '.join(OFFERS)}")

    @property
    def reason(self) -> str:
        """Why it cannot be loaded here; empty if it can."""
        return reason_of(self.probe)

    def suits(self, kind: str) -> bool:
        """Whether methods of this kind can learn it."""
        return kind in OFFERS[self.offers]

    def load(self, **settings: object) -> Data:
        """Make the data and check them.

        Parameters
        ----------
        **settings
            Settings of the stream.

        Returns
        -------
        Data
            The rows, with those to test on.

        Raises
        ------
        TypeError
            For an unknown setting, if `make` returns something else, or if rows cannot be taken from it by slices.
        ValueError
            For a setting outside of its range, or if there are no rows, or rows without targets.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> ob.streams()["regression"].load(n=20, d=3).X.shape
        (20, 3)
        """
        return self.checked(self.make(**check_settings(f"stream {self.name!r}", self.settings, settings)))

    def checked(self, data: object) -> Data:
        """The value that `make` returned; TypeError or ValueError, as in `load`, if it cannot be learned."""
        if not isinstance(data, Data):
            text = f"{with_place(self.make)} returned {type(data).__name__}"
            raise TypeError(f"stream {self.name!r}: {text}, want Data(X, y, ...)")
        if wrong := without_slices("X", data.X) or without_slices("y", data.y):
            raise TypeError(f"stream {self.name!r}: {with_place(self.make)} returned Data whose {wrong}")
        try:
            data.check()
            refuse_empty(data)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"stream {self.name!r}: {error}") from error
        return data

    @staticmethod
    def from_file(
        path: str | PathLike[str],
        target: str | Sequence[str] | None = None,
        *,
        test: float = 0.0,
        time: str | None = None,
        drop: Sequence[str] = (),
        one_hot: bool = False,
        categorical: Sequence[str] = (),
        indicators: bool = False,
        gaps: bool = False,
    ) -> Stream:
        """Return a stream of the rows of a file.

        Parameters
        ----------
        path : str or path-like
            A CSV (.csv, .csv.gz, .tsv), Parquet (.parquet, .pq), Arrow (.arrow, .arrows, .ipc, .feather), NumPy (.npy)
            or Zarr (.zarr) file, a folder of Parquet files, or the URL of one. Columns of .npy files and of matrices in
            Zarr files are named "0", "1", ...
        target : str or sequence of str, optional
            The column to predict, or several columns of numbers. Strings, integers and booleans can be labels; integers
            of a CSV file are read as strings if one has leading zeros (01234). Without a target, the stream has only
            rows, for subspaces.
        test : float
            The share of the rows, the last ones, that are never learned: `Data.test`.
        time : str, optional
            A column of numbers, dates or times that orders the rows; it is not learned. By default the rows are in
            order.
        drop : sequence of str
            Further columns that are not learned.
        one_hot : bool
            Whether a column of strings becomes one column of 0 and 1 for each distinct string. Otherwise such columns
            are refused.
        categorical : sequence of str
            Columns of strings, integers or booleans that become one column of 0 and 1 for each of their values, which
            are found by reading all rows. Two columns of the same name are refused.
        indicators : bool
            Whether missing values become 0, with a further column that is 1 where one is missing. Otherwise they are
            refused.
        gaps : bool
            Whether rows without a target are kept: a filter predicts them and does not learn them. Otherwise they are
            refused.

        Returns
        -------
        Stream
            For `orfit_bench.bench.Suite(streams=[...])`, and for a loop over `load().chunks(rows)`. Files of more than
            400 MB of numbers are read in batches.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError, TypeError
            If the format or a column is unknown, or the target holds neither numbers nor labels.
        UnavailableError
            If a library that reads the file is not installed; the extra `files` has all of them.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from orfit_bench.spec import Stream
        >>> path = Path(tempfile.mkdtemp(), "rides.csv")
        >>> _ = path.write_text("distance,night,fare\\n1,0,5\\n2,1,9\\n4,0,14\\n")
        >>> for X, y in Stream.from_file(path, "fare").load().chunks(2):
        ...     print(X.tolist(), y.tolist())
        [[1.0, 0.0], [2.0, 1.0]] [5, 9]
        [[4.0, 0.0]] [14]
        """
        from orfit_bench.spec.file_stream import stream_of_file

        if not isinstance(path, (str, PathLike)):
            raise TypeError(f"path: got {type(path).__name__}, want a path; a table in memory is for Stream.from_table")
        return stream_of_file(
            {"path": fspath(path), **_options(target, test, time, drop, one_hot, categorical, indicators, gaps)}
        )

    @staticmethod
    def from_table(
        table: Any,
        target: str | Sequence[str] | None = None,
        *,
        name: str = "table",
        test: float = 0.0,
        time: str | None = None,
        drop: Sequence[str] = (),
        one_hot: bool = False,
        categorical: Sequence[str] = (),
        indicators: bool = False,
        gaps: bool = False,
    ) -> Stream:
        """Return a stream of the rows of a table in memory: pandas, polars, Arrow, or any that narwhals reads.

        Parameters
        ----------
        table : table
            A table with named columns. It is not copied and must not be changed while the stream is used.
        name : str
            The name of the stream.
        target, test, time, drop, one_hot, categorical, indicators, gaps
            As in `from_file`.

        Returns
        -------
        Stream
            As in `from_file`; suites run it with `isolate=False`, since a worker process does not have the table.

        Raises
        ------
        TypeError
            If it is not a table.
        ValueError, UnavailableError
            As in `from_file`.

        Examples
        --------
        >>> import pandas as pd
        >>> from orfit_bench.spec import Stream
        >>> rides = pd.DataFrame({"distance": [1.0, 2.0, 4.0], "fare": [5, 9, 14]})
        >>> Stream.from_table(rides, "fare").load().y.tolist()
        [5, 9, 14]
        """
        from orfit_bench.spec.file_stream import stream_of_table
        from orfit_bench.tables.files import open_table

        return stream_of_table(
            open_table(table), name, _options(target, test, time, drop, one_hot, categorical, indicators, gaps)
        )


def _options(
    target: str | Sequence[str] | None,
    test: float,
    time: str | None,
    drop: Sequence[str],
    one_hot: bool,
    categorical: Sequence[str],
    indicators: bool,
    gaps: bool,
) -> dict[str, Any]:
    """The settings of a stream from a file or table."""
    return {
        "target": () if target is None else target,
        "test": test,
        "time": time,
        "drop": drop,
        "texts": "one_hot" if one_hot else "refuse",
        "categorical": categorical,
        "missing": "indicators" if indicators else "refuse",
        "gaps": "keep" if gaps else "refuse",
    }
