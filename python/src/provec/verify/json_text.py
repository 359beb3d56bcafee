"""JSON as ECMAScript reads it, and canonical JSON (RFC 8785)."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

LEVELS_MAX = 64


class RepeatedKey(ValueError):
    pass


def parse(text: str) -> Any:
    """Every number is a double, and of a key that an object has twice the last one counts."""
    return json.loads(text, parse_int=float, parse_constant=float)


def parse_once(text: str) -> Any:
    """The same, but raises RepeatedKey where an object has a key twice."""
    return json.loads(text, parse_int=float, parse_constant=float, object_pairs_hook=_object)


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(members)
    if len(value) < len(members):
        raise RepeatedKey("a key occurs twice in one object")
    return value


def canonical(value: Any, level: int = 0) -> str:
    """Raises ValueError for numbers that no double is and for more than 64 levels, and TypeError
    for what is no JSON."""
    if level > LEVELS_MAX:
        raise ValueError(f"JSON nests deeper than {LEVELS_MAX} levels")
    if isinstance(value, dict):
        members = sorted(value.items(), key=lambda member: member[0].encode("utf-16-be"))
        return (
            "{"
            + ",".join(f"{canonical(key)}:{canonical(item, level + 1)}" for key, item in members)
            + "}"
        )
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(canonical(item, level + 1) for item in value) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _number(float(value))
    return json.dumps(value, ensure_ascii=False)


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise ValueError("a number of the metadata is not finite")
    if value < 0:
        return "-" + _number(-value)
    _, parts, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    digits = "".join(map(str, parts))
    count = len(digits)
    point = count + exponent
    if 0 < point <= 21:
        return (
            digits + "0" * (point - count)
            if count <= point
            else f"{digits[:point]}.{digits[point:]}"
        )
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    return digits[0] + (f".{digits[1:]}" if count > 1 else "") + f"e{point - 1:+d}"
