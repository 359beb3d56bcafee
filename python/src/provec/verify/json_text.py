"""Parses JSON like ECMAScript, and writes canonical JSON (RFC 8785). Independent of a program's
settings: uses no context of `decimal` and no replaceable function of `json`."""

from __future__ import annotations

import math
import re
from itertools import accumulate
from json import JSONDecoder
from json.encoder import encode_basestring
from typing import Any

#: Maximum nesting of lists and objects in the JSON that verifiers accept (docs/format.md).
LEVELS_MAX = 64


class RepeatedKey(ValueError):
    pass


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(members)
    if len(value) < len(members):
        raise RepeatedKey("a key occurs twice in one object")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_NUMBERS: dict[str, Any] = {
    "parse_float": float,
    "parse_int": float,
    "parse_constant": _no_constant,
}
_DECODER = JSONDecoder(**_NUMBERS)
_STRICT_DECODER = JSONDecoder(**_NUMBERS, object_pairs_hook=_object)


def parse(text: str) -> Any:
    """Parses JSON. Every number becomes a double. The last of several equal keys wins."""
    return _DECODER.decode(text)


def parse_once(text: str) -> Any:
    """Same as `parse`, but raises RepeatedKey if an object has a key twice."""
    return _STRICT_DECODER.decode(text)


def levels(text: str) -> int:
    """Returns the maximum nesting of lists and objects."""
    brackets = re.sub(r'"(?:[^"\\]|\\.)*"|[^][{}]', "", text)
    return max(accumulate(1 if each in "[{" else -1 for each in brackets), default=0)


def canonical(value: Any, level: int = 0) -> str:
    """Returns canonical JSON. Raises ValueError for numbers outside the range of doubles and for
    more than 64 levels, and TypeError for values that JSON cannot represent."""
    if level > LEVELS_MAX:
        raise ValueError(f"JSON nests deeper than {LEVELS_MAX} levels")
    if value is None or value is True or value is False:
        return "null" if value is None else str(value).lower()
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, dict):
        return _members(value, level)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(canonical(item, level + 1) for item in value) + "]"
    if isinstance(value, (int, float)):
        return _number(double(value))
    raise TypeError(f"JSON cannot represent the type {type(value).__name__}")


def _members(value: dict[Any, Any], level: int) -> str:
    if not all(isinstance(key, str) for key in value):
        raise TypeError("the keys of an object must be text")
    members = sorted(value.items(), key=lambda member: member[0].encode("utf-16-be"))
    texts = (f"{encode_basestring(key)}:{canonical(item, level + 1)}" for key, item in members)
    return "{" + ",".join(texts) + "}"


def double(value: float) -> float:
    """Converts to a double. Raises ValueError for an integer out of range."""
    try:
        return value if isinstance(value, float) else int.__float__(value)
    except OverflowError:
        raise ValueError("a number is not finite") from None


def _number(value: float) -> str:
    """Formats a number like ECMAScript, which has Python's digits in another notation."""
    if not math.isfinite(value):
        raise ValueError("a number in the metadata is not finite")
    mantissa, _, exponent = float.__repr__(value).lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    leading = (whole + fraction).lstrip("0")
    digits = leading.rstrip("0")
    if not digits:
        return "0"
    point = len(leading) - len(fraction) + int(exponent or 0)
    return ("-" if value < 0 else "") + _placed(digits, point)


def _placed(digits: str, point: int) -> str:
    """`point`: index of the digit after the decimal point."""
    count = len(digits)
    if count <= point <= 21:
        return digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    return digits[0] + (f".{digits[1:]}" if count > 1 else "") + f"e{point - 1:+d}"
