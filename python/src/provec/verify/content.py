"""The hashes of format PV1 (docs/format.md, 1 and 2)."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Sequence
from typing import Any

from .json_text import canonical, double

EMPTY = bytes(32)
#: Of what is smaller, float32 has multiples of the other.
NORMAL_MIN, SUBNORMAL_MIN = 2.0**-126, 2.0**-149


def sha256(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def key_hash(id: str, namespace: str = "") -> bytes:
    """A record's place. Raises ValueError for what no id or namespace is."""
    if id.startswith("\0") or "\0" in namespace:
        raise ValueError("an id does not begin with U+0000, and a namespace does not have it")
    stored = f"\0{namespace}\0{id}" if namespace else id
    return sha256(b"PV1key\0", stored.encode())


def vec_hash(values: Sequence[float]) -> bytes:
    """Over the values as float32, with -0 taken as +0. Raises ValueError or TypeError for what no
    vector is."""
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    if not listed or not all(type(value) in (int, float) for value in listed):
        raise TypeError("values must be a list of at least one number")
    layout = f"<{len(listed)}f"
    try:
        plain = struct.pack(layout, *(double(value) + 0.0 for value in listed))
    except OverflowError:
        raise ValueError("a value is not finite as float32") from None
    if not all(map(math.isfinite, listed)):
        raise ValueError("a value is not finite as float32")
    if any(0 < abs(value) < NORMAL_MIN for value in listed):
        plain = b"".join(map(_single, listed))
    return sha256(b"PV1vec\0", struct.pack("<BI", 1, len(listed)), plain)


def _single(value: float) -> bytes:
    """A float32. Subnormal ones are computed, since the processor may take them for zeros: any
    shared library that was built with -ffast-math can have switched it so."""
    if abs(value) >= NORMAL_MIN:
        return struct.pack("<f", value)
    multiple = round(abs(value) / SUBNORMAL_MIN)
    return struct.pack("<I", multiple | (0x80000000 if value < 0 and multiple else 0))


def meta_hash(metadata: dict[str, Any]) -> bytes:
    """Over the metadata as canonical JSON."""
    if not isinstance(metadata, dict):
        raise TypeError("metadata must be a dictionary")
    return sha256(b"PV1met\0", canonical(metadata).encode())


def leaf_hash(key: bytes, vec: bytes, meta: bytes) -> bytes:
    """A subtree of one record."""
    return sha256(b"\0", key, vec, meta)


def inner_hash(left: bytes, right: bytes) -> bytes:
    """A subtree of more records, from its two halves."""
    return sha256(b"\1", left, right)


def bit(key: bytes, depth: int) -> int:
    return key[depth // 8] >> (7 - depth % 8) & 1
