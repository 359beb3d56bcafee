from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .base58 import decode_base58
from .errors import VerificationError, check

WHOLE_MAX = 2**53 - 1
SIBLINGS_MAX = 256
TEXT_BYTES_MAX = 512
PARTS = ("key", "vecHash", "metaHash")


def matches(pattern: str, value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(pattern, value, re.ASCII) is not None


def is_hash(value: object) -> bool:
    return matches("[0-9a-f]{64}", value)


def is_uuid(value: object) -> bool:
    return matches("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", value)


def is_signature(value: object) -> bool:
    return isinstance(value, str) and decode_base58(value, 64) is not None


def is_whole(value: object) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and 0 <= value <= WHOLE_MAX and value == int(value)  # type: ignore[operator, call-overload]


def _is_text(value: object, least: int, without: str) -> bool:
    if not isinstance(value, str) or re.search(without, value):
        return False
    try:
        return least <= len(value.encode()) <= TEXT_BYTES_MAX
    except UnicodeEncodeError:
        return False


def _is_terminal(value: object) -> bool:
    if not isinstance(value, dict):
        return value is None
    return all(is_hash(value.get(part)) for part in PARTS)


SHAPE: dict[str, Callable[[Any], bool]] = {
    "format": lambda value: value == "PV1",
    "id": lambda value: _is_text(value, 1, r"\A\0"),
    "namespace": lambda value: _is_text(value, 0, r"\0"),
    "present": lambda value: isinstance(value, bool),
    "merkleRoot": is_hash,
    "version": is_whole,
    "collectionId": is_uuid,
    "ledgerAddress": lambda value: value is None or isinstance(value, str),
    "siblings": lambda value: (
        isinstance(value, list) and len(value) <= SIBLINGS_MAX and all(map(is_hash, value))
    ),
    "terminal": _is_terminal,
    "ledgerTx": lambda value: value is None or is_signature(value),
}


def checked(proof: Any) -> dict[str, Any]:
    """Returns the proof with all fields. Raises VerificationError for any undocumented shape."""
    if not isinstance(proof, dict):
        raise VerificationError("malformed", "The proof is not a dictionary.")
    whole = {"namespace": "", "ledgerTx": None, **proof}
    for field, is_sound in SHAPE.items():
        check(field in whole and is_sound(whole[field]), "malformed", f"{field} is malformed.")
    return whole
