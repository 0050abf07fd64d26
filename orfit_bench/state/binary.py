"""The state of a learner as bytes, for `to_bytes`, pickle, joblib and multiprocessing. The bytes contain no pickle.

| bytes | content |
| --- | --- |
| 8 | `MAGIC` |
| 2 | version of this layout |
| 4 | CRC-32 of everything after these 4 bytes |
| 8 | length of all bytes together |
| 4, 4 | lengths of the two headers |
| ... | header of the rule and header of the state, JSON; the latter lists name, dtype and shape of the arrays |
| ... | the arrays in this order, little-endian, C order |

Numbers are little-endian. Lengths and checksum are checked before anything is read, so that damaged bytes allocate
nothing.
"""

from __future__ import annotations

import json
import math
import sys
import zlib
from struct import Struct
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from orfit_bench.models import model_named
from orfit_bench.spec import Model, Transition
from orfit_bench.state import header, serialization
from orfit_bench.state.state import LearnerState, StateRule

MAGIC = b"\x93ORFITB\n"
VERSION = 1
PREFIX = Struct("<8sHI")
LENGTHS = Struct("<QII")
START = PREFIX.size + LENGTHS.size
ITEMSIZES = {"<f8": 8, "<f4": 4, "<c16": 16, "<c8": 8, "<i8": 8}
OF_THE_STATE = ("t", "n_samples_seen", "n_features", "n_outputs", "y_is_vector", "classes", *header.NAMES)
"""The entries of a header that change while a learner learns."""

_of_rules: WeakKeyDictionary[Any, bytes] = WeakKeyDictionary()


def encode(rule: StateRule, state: LearnerState | None) -> bytes:
    """The state and its rule as bytes."""
    of_rule = _of_rules.get(rule)
    if of_rule is None:
        head = header.header(rule, None)
        constant = {key: value for key, value in head.items() if key not in OF_THE_STATE}
        of_rule = _of_rules[rule] = json.dumps(constant).encode()
    return pack(of_rule, header.counts(rule, state), serialization.arrays(rule, state))


def pack(of_rule: bytes, changing: dict[str, Any], given: dict[str, np.ndarray[Any, Any]]) -> bytes:
    """A header in two parts, the first encoded already, and arrays as bytes."""
    arrays = {name: _little(a) for name, a in given.items()}
    table = [(name, a.dtype.str.replace("=", "<"), a.shape) for name, a in arrays.items()]
    of_state = json.dumps({**changing, "arrays": table}).encode()
    length = START + len(of_rule) + len(of_state) + sum(a.nbytes for a in arrays.values())
    lengths = LENGTHS.pack(length, len(of_rule), len(of_state))
    body = b"".join([lengths, of_rule, of_state, *(a.tobytes() for a in arrays.values())])
    return PREFIX.pack(MAGIC, VERSION, zlib.crc32(body)) + body


class Decoded(NamedTuple):
    """The content of the bytes of a learner."""

    of_rule: bytes
    """The header of the rule, JSON; learners of one rule have the same."""
    of_state: dict[str, Any]
    """The header of the state."""
    arrays: dict[str, np.ndarray[Any, Any]]

    @property
    def header_of_rule(self) -> dict[str, Any]:
        """The header of the rule; ValueError if it is not a JSON object."""
        try:
            return dict(json.loads(self.of_rule))
        except (TypeError, ValueError) as error:
            raise _unreadable(error) from error


def decode(data: bytes | bytearray | memoryview) -> Decoded:
    """Headers and arrays of the bytes of `encode`; TypeError for other types, ValueError for damaged or other bytes."""
    try:
        view = memoryview(data).cast("B")
    except TypeError as error:
        raise TypeError(f"from_bytes: got {type(data).__name__}, want the bytes that to_bytes() returned") from error
    _check(view)
    try:
        return _read(view)
    except (KeyError, TypeError, ValueError, AttributeError) as error:  # the checksum is right, but the table is wrong
        raise _unreadable(error) from error


def _unreadable(error: Exception) -> ValueError:
    return ValueError(f"from_bytes: the header cannot be read ({type(error).__name__}: {error})")


def _read(view: memoryview) -> Decoded:
    """Headers and arrays of bytes whose checksum is right."""
    _, of_rule, of_state = LENGTHS.unpack_from(view, PREFIX.size)
    changing = json.loads(bytes(view[START + of_rule : START + of_rule + of_state]))
    arrays, offset = {}, START + of_rule + of_state
    for name, dtype, shape in changing.pop("arrays"):
        size = math.prod(shape) * ITEMSIZES.get(dtype, 0)
        if dtype not in ITEMSIZES or min(shape, default=0) < 0 or offset + size > len(view):
            raise ValueError(f"the array {name!r} of dtype {dtype} and shape {shape} does not fit into the bytes")
        flat = np.frombuffer(view[offset : offset + size], dtype)
        arrays[name] = flat.reshape(shape).astype(dtype[1:])  # a copy, in the byte order of this machine
        offset += size
    if offset != len(view):
        raise ValueError(f"{len(view) - offset} bytes belong to no array")
    return Decoded(bytes(view[START : START + of_rule]), changing, arrays)


def _check(view: memoryview) -> None:
    """Raise ValueError unless these are complete and unchanged bytes of a known version."""
    if bytes(view[: len(MAGIC)]) != MAGIC:
        raise ValueError("from_bytes: these are not the bytes of a learner: they do not start as to_bytes() does")
    if len(view) < START:
        raise ValueError(f"from_bytes: got {len(view)} bytes, which end within the header")
    _, version, checksum = PREFIX.unpack_from(view)
    if version != VERSION:
        raise ValueError(
            f"from_bytes: layout version {version}, this version of orfit_bench reads {VERSION}: "
            f"the bytes are damaged or of another version"
        )
    length, of_rule, of_state = LENGTHS.unpack_from(view, PREFIX.size)
    if length != len(view) or START + of_rule + of_state > length:
        raise ValueError(f"from_bytes: got {len(view)} bytes, want {length}: they were cut, extended or damaged")
    if zlib.crc32(view[PREFIX.size :]) != checksum:
        raise ValueError("from_bytes: the checksum does not fit: the bytes are damaged")


def check_portable(rule: StateRule) -> None:
    """Raise TypeError if functions of the user belong to a learner, which neither bytes nor pickles hold."""
    for name, value in own_functions(rule).items():
        raise TypeError(
            f"{rule.method.name} with the {name} {value.name!r} cannot be pickled, since functions are not saved: "
            f"pass on the bytes of to_bytes() and call from_bytes(data, {name}=...)"
        )


def own_functions(rule: StateRule) -> dict[str, Model | Transition]:
    """The functions of the user that belong to a learner, by the arguments of `from_bytes`."""
    found: dict[str, Model | Transition] = {
        name: value for name, value in rule.settings.items() if isinstance(value, Transition)
    }
    if not rule.is_linear and model_named(rule.model.name) is not rule.model:
        found["model"] = rule.model
    return found


def _little(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return a if sys.byteorder == "little" else a.astype(a.dtype.newbyteorder("<"))
