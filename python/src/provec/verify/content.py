"""Computes the hashes of format PV1 (docs/format.md, 1 and 2)."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Sequence
from typing import Any

from .json_text import canonical, double

EMPTY = bytes(32)
#: Smallest normal float32, and the step between the smaller (subnormal) ones.
NORMAL_MIN, SUBNORMAL_MIN = 2.0**-126, 2.0**-149


def sha256(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def key_hash(id: str, namespace: str = "") -> bytes:
    """Returns a record's position in the Merkle map. Raises ValueError for an invalid id or
    namespace."""
    if id.startswith("\0") or "\0" in namespace:
        raise ValueError("an id must not begin with U+0000, and a namespace must not contain it")
    stored = f"\0{namespace}\0{id}" if namespace else id
    return sha256(b"PV1key\0", stored.encode())


def vec_hash(values: Sequence[float]) -> bytes:
    """Hashes the values as float32; -0 counts as +0. Raises ValueError or TypeError for an invalid
    vector."""
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
    """Rounds to float32. Computes subnormal numbers, since the processor may flush them to zero:
    any shared library built with -ffast-math can turn that on."""
    if abs(value) >= NORMAL_MIN:
        return struct.pack("<f", value)
    multiple = round(abs(value) / SUBNORMAL_MIN)
    return struct.pack("<I", multiple | (0x80000000 if value < 0 and multiple else 0))


def meta_hash(metadata: dict[str, Any]) -> bytes:
    """Hashes the metadata as canonical JSON."""
    if not isinstance(metadata, dict):
        raise TypeError("metadata must be a dictionary")
    return sha256(b"PV1met\0", canonical(metadata).encode())


def leaf_hash(key: bytes, vec: bytes, meta: bytes) -> bytes:
    """Returns the hash of a subtree with one record."""
    return sha256(b"\0", key, vec, meta)


def inner_hash(left: bytes, right: bytes) -> bytes:
    """Returns the hash of a subtree with several records, from the hashes of its halves."""
    return sha256(b"\1", left, right)


def bit(key: bytes, depth: int) -> int:
    return key[depth // 8] >> (7 - depth % 8) & 1
