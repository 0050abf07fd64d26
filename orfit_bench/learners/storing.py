"""Copies of a learner, and its state as bytes, files and data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from orfit_bench.learners.attributes import Attributes
from orfit_bench.state import binary, dataset, files
from orfit_bench.state.serialization import read_array

if TYPE_CHECKING:
    from os import PathLike

    import xarray


class Stored(Attributes):
    """A learner that is copied and saved."""

    def state(self) -> xarray.Dataset:
        """Return a copy of the state.

        Returns
        -------
        xarray.Dataset
            The arrays in host memory, with named dimensions; settings and versions in `attrs`. `orfit_bench.restore`
            reads the arrays and `attrs["orfit_bench"]`; the other attributes are for information, as are the weights of
            `ridge`, which follow from its sums.

        Raises
        ------
        RuntimeError
            If an exception interrupted a kernel, so that the state cannot be trusted.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> state = ob.create("rls", backend="numpy").partial_fit([[1.0, 0.0], [0.0, 1.0]], [2.0, 3.0]).state()
        >>> state["w"].dims, state["w"].values.ravel()
        (('parameter', 'output'), array([1. , 1.5]))
        >>> state.attrs["method"], state.attrs["n_samples_seen"]
        ('rls', 2)
        """
        return dataset.to_dataset(self.rule, self._usable())

    def array(self, name: str) -> np.ndarray[Any, Any]:
        """Return a copy of one array of the state, without the other arrays and without xarray.

        Parameters
        ----------
        name : str
            A name in `state()`, such as "w".

        Returns
        -------
        ndarray
            The array in host memory, in the shape that it has in `state()`.

        Raises
        ------
        KeyError
            If the state has no array of this name.
        ValueError
            Before the first chunk.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> ob.create("lms", backend="numpy", step_size=0.5).partial_fit([[1.0]], [2.0]).array("w")
        array([[1.]])
        """
        return read_array(self.rule, self._begun(), name)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the state to an .npz file with a JSON header, without pickle; an old file is replaced atomically.

        Parameters
        ----------
        path : str or path
            The file, by its full name: no ending is added. The ending of another format, such as .nc, is refused.

        Raises
        ------
        ValueError
            If the ending is that of another format.
        RuntimeError
            If an exception interrupted a kernel, so that the state cannot be trusted.
        OSError
            If the file cannot be written; the old file is unchanged.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import orfit_bench as ob
        >>> path = Path(tempfile.mkdtemp(), "learner.npz")
        >>> ob.create("lms", backend="numpy").partial_fit([[1.0]], [2.0]).save(path)
        >>> ob.load(path).n_samples_seen_
        1
        """
        files.save(self.rule, self._usable(), path)

    def to_bytes(self) -> bytes:
        """Return the state as bytes with a checksum, without pickle: for databases, queues and other processes.

        Returns
        -------
        bytes
            The state, which `orfit_bench.from_bytes` reads.

        Raises
        ------
        RuntimeError
            If an exception interrupted a kernel, so that the state cannot be trusted.

        Notes
        -----
        pickle, joblib and multiprocessing transfer a learner this way.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> data = ob.create("lms", backend="numpy").partial_fit([[1.0]], [2.0]).to_bytes()
        >>> ob.from_bytes(data).n_samples_seen_
        1
        """
        return binary.encode(self.rule, self._usable())

    def copy(self) -> Self:
        """Return an independent learner in the same state.

        Returns
        -------
        learner
            A learner of the same class, with the same rule. What one of the two learns does not change the other.

        Raises
        ------
        RuntimeError
            If an exception interrupted a kernel, so that the state cannot be trusted.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> learner = ob.create("lms", backend="numpy", step_size=0.5).partial_fit([[1.0]], [2.0])
        >>> before = learner.copy()
        >>> learner.partial_fit([[1.0]], [5.0]).predict([[1.0]]), before.predict([[1.0]])
        (array([3.]), array([1.]))
        """
        state = self._usable()
        return type(self)(self.rule, self.rule.copy(state) if state else None)

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        from orfit_bench.learners.restoring import from_bytes

        binary.check_portable(self.rule)
        return from_bytes, (self.to_bytes(),)
