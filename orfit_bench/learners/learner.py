"""The learner: a method, its settings, a backend and a state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Self

from orfit_bench.learners import validation
from orfit_bench.learners.engine import Engine
from orfit_bench.spec.backend import Array
from orfit_bench.spec.capability import require
from orfit_bench.spec.setting import said
from orfit_bench.state import merging, serialization

if TYPE_CHECKING:
    from os import PathLike

    import xarray


class Learner(Engine):
    """What learners of every kind can do. Made by `orfit_bench.create`.

    All that decides how it goes on is in its state.
    """

    _outputs_grow = False  # whether the number of outputs may change as rows come

    def flush(self) -> Self:
        """Learn the rows that wait for a full batch as one shorter step. Returns self."""
        if self.pending:
            require("blocks", self._kernel, self.method, self.backend)
            self._guarded(self._learn_waiting)
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of features d, once a chunk was seen."""
        if self._features is None:
            raise AttributeError("n_features_in_ is known after the first call of partial_fit")
        return self._features

    @property
    def n_samples_seen_(self) -> int:
        """Rows taken in, those that wait included."""
        return self._seen

    @property
    def state_bytes(self) -> int:
        """Bytes of the state's arrays as they are used."""
        if self._features is None or self._outputs is None:
            return 0
        waiting = self.pending * (self._features + self._outputs) * self.dtype.itemsize
        return self._layout_.bytes(self._s) + waiting

    def state(self) -> xarray.Dataset:
        """A copy of the state in host memory, with named dimensions; settings and versions in attrs."""
        return serialization.to_dataset(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the state to an .npz file with a JSON header; the file is replaced whole or not at all."""
        serialization.save(self, path)

    def copy(self) -> Self:
        """An independent learner in the same state."""
        return serialization.rebuild(self, serialization.header(self), serialization.arrays(self))

    def merge(self, other: Learner) -> Self:
        """Take in what another learner of the same method, settings and dtype learned from other rows. Returns self.

        Exact, averaged or approximate, as `method.merge` declares; the other's rows follow this one's, and the other
        stays as it is. n_samples_seen_ adds up; the schedule's t becomes the larger one, after an exact merge the sum.
        ValueError where the two do not fit, rows wait, or the method has no rule.
        """
        merging.merge(self, other)
        return self

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self.copy()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a learner is not pickled: hand on its state() and restore() it, or save(path) and load(path)")

    def __repr__(self) -> str:
        settings = "".join(f", {k}={said(v)}" for k, v in self.settings.items())
        return f"<{self.method.name}{settings}; {self.backend.name}, {self.dtype}, {self._seen} rows seen>"

    def _asked(self, X: Any) -> Array:
        """Rows (n, d) that a question is about, checked, on the backend."""
        self._check_begun()
        return self._placed(validation.matrix(X, "X", self.dtype, self._features, xp=self._xp))

    def _check_begun(self) -> None:
        if self._features is None:
            raise ValueError(
                f"{self.method.name} has seen no chunk yet: call partial_fit first (a chunk of no rows will do)"
            )
        self._check_usable()

    def _check_step(self) -> None:
        if not self.method.blocks:
            raise TypeError(f"{self.method.name} learns row by row and has no rule for a block: use partial_fit")
        require("blocks", self._kernel, self.method, self.backend)
        if self.pending:
            raise ValueError(
                f"{self.pending} rows wait for a full batch of {self._batch_size}: call flush() before step()"
            )

    def _aligned(self, other: Any) -> Any:
        """The other learner with outputs in the order of this one's."""
        return other

    def _put(self, fields: dict[str, Any]) -> None:
        """Replace the state's arrays by these host arrays."""
        self._s = self._layout_.start(fields)

    def _take(self, other: Any) -> None:
        """Become the other's twin, on the own backend."""
        twin = serialization.rebuild(self, serialization.header(other), serialization.arrays(other))
        self.__dict__.update(twin.__dict__)

    def _more_header(self) -> dict[str, Any]:
        """What a kind of learners adds to the header of its state."""
        return {}

    def _take_header(self, head: dict[str, Any]) -> None:
        """Read it back; ValueError where it does not fit."""
