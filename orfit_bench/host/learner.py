"""The learner: a method, its settings, a backend and a state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from orfit_bench.host import inputs, snapshot
from orfit_bench.host.engine import Engine
from orfit_bench.spec.backend import Array

if TYPE_CHECKING:
    from os import PathLike

    import xarray


class Learner(Engine):
    """Learns a stream of rows X (n, d) with targets y (n,) or (n, c), cut into chunks in any way.

    Made by `orfit_bench.create`. All that decides how it goes on is in its state.
    """

    def partial_fit(self, X: Any, y: Any) -> Learner:
        """Learn the rows of X (n, d) with targets y (n,) or (n, c) in order; n may be 0 or 1. Returns self.

        Raises TypeError or ValueError for input that is no finite number or does not fit the earlier rows (the
        learner is then as before), DivergedError where a step would leave the finite numbers.
        """
        self._guarded(self._learn, X, y, False)
        return self

    def prequential(self, X: Any, y: Any) -> Array:
        """Learn the rows as `partial_fit` does; returns for each what `predict` would have said before its step."""
        return self._shaped(self._guarded(self._learn, X, y, True))

    def predict(self, X: Any) -> Array:
        """Predictions for X (n, d): (n,) or (n, c), the shape of y. Changes nothing; ignores rows that wait."""
        if self._features is None:
            raise ValueError(
                f"{self.method.name} has seen no chunk yet: call partial_fit first (a chunk of no rows will do)"
            )
        self._check_usable()
        X = inputs.matrix(X, "X", self.dtype, self._features)
        return self._shaped(self._predict(X if self._on_host else self.backend.asarray(X)))

    def step(self, A: Any, y: Any) -> Learner:
        """Learn the rows of A (M, d), M >= 1, as one step whatever batch_size is. Returns self.

        TypeError where the method has no block rule, ValueError while rows wait (call `flush` first).
        """
        if not self.method.blocks:
            raise TypeError(f"{self.method.name} learns row by row and has no rule for a block: use partial_fit")
        if self.pending:
            raise ValueError(
                f"{self.pending} rows wait for a full batch of {self._batch_size}: call flush() before step()"
            )
        self._guarded(self._learn_block, A, y)
        return self

    def flush(self) -> Learner:
        """Learn the rows that wait for a full batch as one shorter step. Returns self."""
        if self.pending:
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
        return snapshot.to_dataset(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the state to an .npz file with a JSON header; the file is replaced whole or not at all."""
        snapshot.save(self, path)

    def copy(self) -> Learner:
        """An independent learner in the same state."""
        return snapshot.rebuild(self, snapshot.header(self), snapshot.arrays(self))

    def __copy__(self) -> Learner:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, object]) -> Learner:
        return self.copy()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a learner is not pickled: hand on its state() and restore() it, or save(path) and load(path)")

    def __repr__(self) -> str:
        settings = "".join(f", {k}={v!r}" for k, v in self.settings.items())
        return f"<{self.method.name}{settings}; {self.backend.name}, {self.dtype}, {self._seen} rows seen>"
