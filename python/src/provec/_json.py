"""JSON of requests and answers. Has its own encoder and decoder with all options set, so changes
that a program makes to the module `json` have no effect."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from json import JSONDecoder, JSONEncoder
from math import isfinite
from typing import Any

#: Maximum nesting depth: deeper than any valid request, and within Python's stack.
LEVELS_MAX = 100
NAME = re.compile(r"[A-Za-z_$][\w$]*")


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_DECODER = JSONDecoder(parse_float=float, parse_int=int, parse_constant=_no_constant)
_ENCODER = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def json_in(content: bytes | str) -> Any:
    """Parses JSON. Raises ValueError if it is invalid, and RecursionError if it nests too deep."""
    return _DECODER.decode(content if isinstance(content, str) else content.decode())


def json_of(body: object, path: str = "") -> bytes:
    """Returns the JSON of a request; numpy arrays become lists. Raises TypeError or ValueError,
    which name the place of a value that JSON cannot represent. `path`: name of `body` in errors, ""
    for a whole body."""
    return _ENCODER.encode(_plain(body, path, [])).encode()


def _plain(value: object, path: str, holders: list[object]) -> object:
    """Converts `value` to dictionaries, lists and scalars. `holders`: objects that contain it."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        if not isfinite(value):
            raise ValueError(f"{path} is {value}; numbers are finite.")
        return value
    if isinstance(value, str):
        return _well_formed(value, path)
    if any(value is holder for holder in holders):
        raise ValueError(f"{path} contains itself; JSON has no such value.")
    if len(holders) == LEVELS_MAX:
        raise ValueError(f"{path} is nested too deeply; {LEVELS_MAX} levels are the maximum.")
    holders.append(value)
    plain = _plain_holder(value, path, holders)
    holders.pop()
    return plain


def _plain_holder(value: object, path: str, holders: list[object]) -> object:
    if isinstance(value, Mapping):
        return {
            _key(name, path): _plain(each, _member(path, name), holders)
            for name, each in value.items()
        }
    if isinstance(value, (list, tuple)):
        return _items(value, path, holders)
    to_list = getattr(value, "tolist", None)
    if to_list is None or isinstance(value, type):
        is_list = isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray))
        fault = f"has the type {type(value).__name__}; JSON has no such value."
        raise TypeError(f"{path or 'The body'} {fault}{' Give a list.' if is_list else ''}")
    return _plain(to_list(), path, holders)


def _items(values: list[Any] | tuple[Any, ...], path: str, holders: list[object]) -> list[object]:
    # A vector has thousands of numbers, so paths are built only when needed.
    return [
        each
        if (type(each) is float and isfinite(each)) or type(each) is int
        else _plain(each, f"{path}[{at}]", holders)
        for at, each in enumerate(values)
    ]


def _key(name: object, path: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"{path or 'The body'} has the key {name!r}; keys are strings.")
    return _well_formed(name, path)


def _well_formed(text: str, path: str) -> str:
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{path or 'The body'} has a lone surrogate: {text!r}.") from None
    return text


def _member(path: str, name: object) -> str:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        return f"{path}[{name!r}]"
    return f"{path}.{name}" if path else name
