"""The files of MNIST: from a folder of the user, the download cache, or the network."""

from __future__ import annotations

import gzip
import hashlib
import math
import os
import zlib
from pathlib import Path

import numpy as np

from orfit_bench.errors import UnavailableError
from orfit_bench.jobs.files import cache_folder
from orfit_bench.spec.data import Array, Pair

URL = "https://storage.googleapis.com/cvdf-datasets/mnist/"
SHA256 = {
    "train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}


class DataNotFound(UnavailableError):
    """The files of a data set are neither stored on this machine nor available for download."""


def read(part: str) -> Pair:
    """Images (k, 28, 28) with pixels 0 to 255 and labels (k,) of part "train" or "test", both uint8.

    Raises DataNotFound if the files can be neither found nor fetched, ValueError for a damaged file.
    """
    images, labels = (_path(name) for name in _names(part))
    pair = _decode(images, (28, 28)), _decode(labels, ())
    if len(pair[0]) != len(pair[1]) or pair[1].max(initial=0) > 9:
        raise ValueError(f"{labels} does not hold one label from 0 to 9 for each image of {images}: replace both")
    return pair


def why_absent(part: str) -> str:
    """Return the reason why a part is not available on disk; empty if it is."""
    missing = [name for name in _names(part) if not _find(name)]
    return f"{_lack(missing[0])}; a run that names the stream fetches it once when online" if missing else ""


def files() -> list[Path]:
    """Return the files of both parts that are on this machine."""
    return [path for name in SHA256 if (path := _find(name))]


def _lack(name: str) -> str:
    """The error message for a missing file, with the searched folders."""
    folder = os.environ.get("ORFIT_BENCH_DATA")
    if folder:
        return f"the folder in ORFIT_BENCH_DATA, {folder}, lacks mnist/{name}"
    return f"MNIST is not on this machine: ORFIT_BENCH_DATA may name a folder that holds mnist/{name}"


def _names(part: str) -> list[str]:
    return [name for name in SHA256 if name.startswith("train" if part == "train" else "t10k")]


def _cache() -> Path:
    return cache_folder() / "mnist"


def _find(name: str) -> Path | None:
    folder = os.environ.get("ORFIT_BENCH_DATA")
    if folder and (own := Path(folder).expanduser() / "mnist" / name).is_file():
        return own
    return cached if (cached := _cache() / name).is_file() else None


def _path(name: str) -> Path:
    path = _find(name) or _fetch(name)
    if path.parent == _cache() and hashlib.sha256(path.read_bytes()).hexdigest() != SHA256[name]:
        raise ValueError(f"{path} is damaged (its SHA-256 does not fit): delete it, and the next run fetches it again")
    return path


def _fetch(name: str) -> Path:
    import pooch

    pooch.get_logger().setLevel("WARNING")  # its "Downloading data" would appear among the output of a run
    try:
        return Path(pooch.retrieve(URL + name, known_hash=SHA256[name], fname=name, path=_cache()))
    except OSError as error:  # errors of requests are OSErrors too
        raise DataNotFound(
            f"{_lack(name)}; it could not be fetched ({type(error).__name__}): go online once and it is kept"
        ) from error


def _decode(path: Path, shape: tuple[int, ...]) -> Array:
    """(k, *shape) bytes of a gzipped idx file, which may have been recompressed, so that the contents are checked."""
    packed = path.read_bytes()
    try:
        idx = gzip.decompress(packed)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is damaged ({error}): replace it") from error
    start = 4 * (2 + len(shape))
    count = (len(idx) - start) // math.prod(shape)
    header = np.array([0x801 + len(shape), count, *shape], ">i4").tobytes()
    if not idx.startswith(header) or len(idx) != start + count * math.prod(shape):
        raise ValueError(f"{path} is damaged (its header and its length do not fit an idx file): replace it")
    return np.frombuffer(idx, np.uint8, offset=start).reshape(count, *shape)
