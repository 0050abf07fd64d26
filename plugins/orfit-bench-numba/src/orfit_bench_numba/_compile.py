"""Compile kernels to machine code: one version for each dtype, on first use, cached on disk for later processes.

Every compiled function must follow these rules: arrays are C-contiguous and have the dtype of the first argument;
arrays of rows are never written to; nothing is allocated inside the loop over rows; neither an argument nor a part of
an argument is returned.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from threading import Timer
from typing import Any, TypeVar

import numba
import numpy as np

from orfit_bench.kernels import guards
from orfit_bench_numba._borrow import borrowed

Function = TypeVar("Function", bound=Callable[..., Any])


def _can_cache() -> bool:
    """Whether machine code can be cached on disk: without a folder Numba would refuse to compile."""
    try:
        numba.njit(cache=True)(_can_cache)
    except RuntimeError:
        return False
    return True


FLAGS: dict[str, Any] = {
    "cache": _can_cache(),  # compile once for each machine, not for each process
    "nogil": True,  # other threads of the user may run
    "no_cfunc_wrapper": True,  # no entry point for C
    "error_model": "numpy",  # x / 0 is inf or NaN, as in NumPy, without a branch
    "fastmath": {"contract"},  # a * b + c with one rounding; nothing that depends on the width of vectors
}
CALLED: dict[str, Any] = FLAGS | {"cache": False, "forceinline": True, "no_cpython_wrapper": True}
"""Flags of helpers: they are inlined into the compiled functions that call them, and have no other entry point.

A call would pass the shapes, strides and pointers of all arrays through memory, which takes up to three quarters of the
time of a small row. Helpers are not cached on disk, since the cache would not notice changes in the functions that they
call.
"""
KINDS = {"W": (2, False), "R": (2, True), "w": (1, False), "r": (1, True), "C": (3, True), "M": (3, False)}
"""Kinds of arrays: the number of dimensions, and whether they are read-only.

Other kinds: I is a vector of integers, f a number of the dtype, i an integer, b a boolean; x is a real number and s a
read-only vector of real numbers, both in the precision of the dtype. Kinds in parentheses are a tuple, which Python
code passes as a plain tuple and the function converts to a named tuple, because Numba needs a microsecond to recognize
one.
"""


PATIENCE = 0.5
"""Seconds of compilation after which a message is shown; loading from disk takes a tenth of this time."""


def borrowing(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the same arguments that passes them `borrowed` to this function.

    Numba inlines the call before it compiles; otherwise both functions would be compiled, a fifth of all compilation
    time. The code has the file and line of the original function, by which Numba finds its cache and the lines of
    errors.
    """
    code, name = function.__code__, function.__name__
    given = ", ".join(code.co_varnames[: code.co_argcount])
    space: dict[str, Any] = {
        "__name__": function.__module__,
        "_learn": numba.njit(**CALLED | {"inline": "always"})(function),
        "_borrowed": borrowed,
    }
    exec(f"def {name}({given}):\n    {given}, = _borrowed(({given},))\n    return _learn({given})", space)
    found: Callable[..., Any] = space[name]
    found.__code__ = found.__code__.replace(co_filename=code.co_filename, co_firstlineno=code.co_firstlineno)
    return found


class Compiled:
    """A function with one machine-code version for each dtype of its first argument."""

    def __init__(self, function: Callable[..., Any], kinds: str, is_complex: bool = False) -> None:
        self.__doc__, self.__name__ = function.__doc__, function.__name__
        self._function, self._kinds, self.is_complex = function, kinds, is_complex
        self._versions: dict[Any, Any] = {}
        self._entry_points: dict[Any, Callable[..., Any]] = {}

    def __call__(self, first: Any, *others: Any) -> Any:
        version = self._versions.get(first.dtype)
        return (version or self.compile(first.dtype))(first, *others)

    def compile(self, dtype: Any) -> Any:
        """Compile the version for a dtype, or load it from disk; a message is shown if it compiles."""
        number = numba.from_dtype(np.dtype(dtype))
        text = f"compiling {self._function.__module__} for {dtype}, once on this machine (orfit-bench warm: all)"
        patience = Timer(PATIENCE, print, (text,), {"file": sys.stderr, "flush": True})
        patience.daemon = True
        if sys.stderr and sys.stderr.isatty():
            patience.start()
        try:
            version = self._load_or_compile(self._signature(number))
            version.disable_compile()
            self._versions[dtype] = version
        finally:
            patience.cancel()
        return version

    def load(self, dtype: Any) -> None:
        """Load the version for a dtype if it is on disk, as `compile` also does."""
        if dtype not in self._versions and self._is_on_disk(dtype):
            self.compile(dtype)

    def _is_on_disk(self, dtype: Any) -> bool:
        """Whether machine code of the current source for this dtype is on disk."""
        version = numba.njit(**FLAGS)(borrowing(self._function))
        stamp_package(version)
        if not hasattr(version._cache, "_cache_file"):
            return False
        try:
            known = version._cache._cache_file._load_index()  # private to Numba, like the stamp
        except Exception:
            return True  # `compile` reports that it cannot be read
        return self._signature(numba.from_dtype(np.dtype(dtype))) in {key[0] for key in known}

    def _load_or_compile(self, signature: tuple[Any, ...]) -> Any:
        """The version for a signature. A cache on disk that cannot be read is reported, removed and created again."""
        version = numba.njit(**FLAGS)(borrowing(self._function))
        stamp_package(version)
        try:
            version.compile(signature)
        except Exception as error:
            if isinstance(error, numba.core.errors.NumbaError) or not remove_cache(version.stats.cache_path, error):
                raise
            version = numba.njit(**FLAGS)(borrowing(self._function))
            stamp_package(version)
            version.compile(signature)
        return version

    def entry_point(self, dtype: Any) -> Callable[..., Any]:
        """The machine code for a dtype, which does not check the dtypes and layouts of its arguments.

        This saves the lookup of the version and the check of all arguments, half of the time of a call. The result is
        cached, since Numba needs ten microseconds to find it.
        """
        entry = self._entry_points.get(dtype)
        if entry is None:
            version = self._versions.get(dtype) or self.compile(dtype)
            (signature,) = version.signatures
            entry = self._entry_points[dtype] = version.overloads[signature].entry_point
        return entry

    @property
    def signatures(self) -> list[str]:
        """The versions compiled in this process."""
        return [f"{self.__name__}{signature}" for v in self._versions.values() for signature in v.signatures]

    def _signature(self, number: Any) -> tuple[Any, ...]:
        real = getattr(number, "underlying_float", number)
        scalars = {"f": number, "x": real, "i": numba.int64, "b": numba.boolean}
        scalars |= {"I": numba.types.Array(numba.int64, 1, "C"), "s": numba.types.Array(real, 1, "C", readonly=True)}
        groups: list[list[Any]] = [[]]
        tuple_of: Any = numba.types.Tuple
        for kind in self._kinds.replace("(", "( ").replace(")", " )").split():
            if kind == "(":
                groups.append([])
            elif kind == ")":
                group = groups.pop()
                groups[-1].append(tuple_of(group))
            else:
                array = KINDS.get(kind)
                groups[-1].append(
                    numba.types.Array(number, array[0], "C", readonly=array[1]) if array else scalars[kind]
                )
        return tuple(groups[0])


def remove_cache(folder: str | None, error: Exception) -> bool:
    """Remove the files of Numba's cache in a folder, with a warning; return whether there were any."""
    files = list(Path(folder).glob("*.nb[ci]")) if folder else []
    for file in files:
        file.unlink(missing_ok=True)
    if files:
        warnings.warn(
            f"Numba's cache in {folder} cannot be read ({type(error).__name__}: {error}): it was removed, and "
            "kernels are compiled again",
            RuntimeWarning,
            stacklevel=2,
        )
    return bool(files)


def package_files() -> list[Path]:
    """The files on which machine code depends: those of this package and of the named tuples of its functions."""
    folders = Path(__file__).parent, Path(guards.__file__).parent
    return sorted(file for folder in folders for file in folder.glob("*.py"))


def hash_package() -> str:
    """A hash of all code of the package. Times do not suffice, since all files of a wheel can have the same time."""
    digest = sha256()
    for file in package_files():
        code = file.read_bytes()
        digest.update(f"{file.name} {len(code)} ".encode() + code)
    return digest.hexdigest()


PACKAGE_HASH = hash_package()
"""The hash of the code that this process imported; another version may be installed while it runs."""


def stamp_package(version: Any) -> None:
    """Recompile if any file of the package has changed; Numba itself checks only the file of the function."""
    if hasattr(version._cache, "_cache_file"):  # private to Numba, which has no public function for this
        version._cache._cache_file._source_stamp = PACKAGE_HASH


def compiled(kinds: str) -> Callable[[Callable[..., Any]], Compiled]:
    """Compile a function with real arguments of these kinds, see KINDS."""
    return lambda function: Compiled(function, kinds)


def compiled_complex(kinds: str) -> Callable[[Callable[..., Any]], Compiled]:
    """Compile a function with complex arguments of these kinds, see KINDS."""
    return lambda function: Compiled(function, kinds, is_complex=True)


def inline(function: Function) -> Function:
    """Compile a helper together with the compiled functions that call it."""
    helper: Function = numba.njit(**CALLED)(function)
    return helper


def inline_reordered(function: Function) -> Function:
    """Compile a helper together with its callers, where sums can be reordered and thus vectorized.

    Without reordering, each addition waits for the previous one: four sums in the loop of `_delayed_rank1` took twice
    the time.
    """
    helper: Function = numba.njit(**(CALLED | {"fastmath": {"contract", "reassoc"}}))(function)
    return helper
