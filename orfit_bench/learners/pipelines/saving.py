"""Copies of a pipeline, and its state as bytes, files and data sets."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from orfit_bench.jobs.files import replace
from orfit_bench.learners.pipelines import storage
from orfit_bench.learners.pipelines.prediction import PipelinePredictions
from orfit_bench.state import binary

if TYPE_CHECKING:
    import xarray


class Saving(PipelinePredictions):
    """A pipeline that is copied and saved."""

    def copy(self) -> Self:
        """Return an independent pipeline in the same state.

        Returns
        -------
        Pipeline
            A pipeline of the same steps. What one of the two learns does not change the other.

        Raises
        ------
        RuntimeError
            As in `Learner.copy`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> p = ob.pipeline("intercept", ob.create("rls", backend="numpy")).partial_fit([[1.0]], [2.0])
        >>> before = p.copy()
        >>> p.partial_fit([[1.0]], [2.0]).n_samples_seen_, before.n_samples_seen_
        (2, 1)
        """
        copy = type(self)(self.transforms, self.learner.copy(), self.n_features, self.feature_names, self.position)
        copy.has_warned_of_names = self.has_warned_of_names
        return copy

    def _header(self) -> dict[str, Any]:
        steps = [t.to_dict() for t in self.transforms]
        header = {"steps": steps, "n_features": self.n_features, "names": list(self.feature_names)}
        return header | ({} if self.position is None else {"position": self.position.to_dict()})

    def to_bytes(self) -> bytes:
        """Return the state as bytes with a checksum, without pickle.

        Returns
        -------
        bytes
            The state, which `orfit_bench.from_bytes` reads.

        Raises
        ------
        RuntimeError
            As in `Learner.to_bytes`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> p = ob.pipeline("intercept", ob.create("rls", backend="numpy")).partial_fit([[1.0]], [2.0])
        >>> ob.from_bytes(p.to_bytes()).n_samples_seen_
        1
        """
        return storage.encode(self._header(), self.learner.to_bytes())

    def save(self, path: str | PathLike[str]) -> None:
        """Write what `to_bytes` returns to a file; `orfit_bench.load` reads it. An old file is replaced atomically.

        Parameters
        ----------
        path : str or path
            The file, by its full name: no ending is added.

        Raises
        ------
        RuntimeError
            As in `Learner.to_bytes`.
        OSError
            If the file cannot be written; the old file is unchanged.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import orfit_bench as ob
        >>> path = Path(tempfile.mkdtemp(), "pipeline.bin")
        >>> ob.pipeline("intercept", ob.create("rls", backend="numpy")).partial_fit([[1.0]], [2.0]).save(path)
        >>> ob.load(path).n_samples_seen_
        1
        """
        data = self.to_bytes()
        replace(Path(path), lambda file: file.write(data))

    def state(self) -> xarray.Dataset:
        """Return a copy of the state.

        Returns
        -------
        xarray.Dataset
            The learner's `state()`, with the state of the transforms in attrs["pipeline"]. `orfit_bench.restore` reads
            it.

        Raises
        ------
        RuntimeError
            As in `Learner.state`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> p = ob.pipeline("intercept", ob.create("rls", backend="numpy")).partial_fit([[1.0]], [2.0])
        >>> ob.restore(p.state()).n_samples_seen_
        1
        """
        state: xarray.Dataset = self.learner.state()
        return state.assign_attrs(pipeline=json.dumps(self._header()))

    def __reduce__(self) -> tuple[Any, ...]:
        from orfit_bench.learners.restoring import from_bytes

        binary.check_portable(self.learner.rule)
        return from_bytes, (self.to_bytes(),)

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self.copy()
