"""The bytes of a pipeline: `MAGIC`, CRC-32 of the rest, length of the header, the header in JSON, and the learner."""

from __future__ import annotations

import json
import zlib
from struct import Struct
from typing import Any

MAGIC = b"\x93ORFITP\n"
START = Struct("<8sII")


def encode(header: dict[str, Any], learner: bytes) -> bytes:
    """The bytes of a header and of a learner."""
    head = json.dumps(header).encode()
    return START.pack(MAGIC, zlib.crc32(head + learner), len(head)) + head + learner


def is_pipeline(data: object) -> bool:
    """Whether bytes begin as those of a pipeline do."""
    return isinstance(data, (bytes, bytearray, memoryview)) and bytes(data[:8]) == MAGIC


def decode(data: bytes | bytearray | memoryview) -> tuple[dict[str, Any], bytes]:
    """The header and the bytes of the learner; ValueError if they were changed."""
    given = bytes(data)
    if len(given) < START.size:
        raise ValueError("the bytes of a pipeline were cut")
    _, checksum, length = START.unpack_from(given)
    body = given[START.size :]
    if zlib.crc32(body) != checksum or length > len(body):
        raise ValueError("the bytes of a pipeline were cut, extended or damaged: the checksum does not fit")
    return json.loads(body[:length]), body[length:]
