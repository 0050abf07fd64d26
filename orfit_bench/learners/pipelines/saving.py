"""The state of a pipeline outside of it: copies, bytes, files and data sets."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from orfit_bench.jobs.files import replace
from orfit_bench.learners.pipelines import storage
from orfit_bench.learners.pipelines.answers import Answers

if TYPE_CHECKING:
    import xarray


class Saving(Answers):
    """A pipeline that is copied and saved."""

    def copy(self) -> Self:
        """An independent pipeline in the same state."""
        return type(self)(self.transforms, self.learner.copy(), self.n_features, self.feature_names, self.position)

    def _header(self) -> dict[str, Any]:
        steps = [t.to_dict() for t in self.transforms]
        header = {"steps": steps, "n_features": self.n_features, "names": list(self.feature_names)}
        return header | ({} if self.position is None else {"position": self.position.to_dict()})

    def to_bytes(self) -> bytes:
        """The state as bytes with a checksum, without pickle; `orfit_bench.from_bytes` reads them."""
        return storage.encode(self._header(), self.learner.to_bytes())

    def save(self, path: str | PathLike[str]) -> None:
        """Write what `to_bytes` returns to a file; `orfit_bench.load` reads it."""
        data = self.to_bytes()
        replace(Path(path), lambda file: file.write(data))

    def state(self) -> xarray.Dataset:
        """The learner's state, with that of the transforms in attrs["pipeline"]; `orfit_bench.restore` reads it."""
        state: xarray.Dataset = self.learner.state()
        return state.assign_attrs(pipeline=json.dumps(self._header()))

    def __reduce__(self) -> tuple[Any, ...]:
        from orfit_bench.learners.restoring import from_bytes

        return from_bytes, (self.to_bytes(),)

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self.copy()
