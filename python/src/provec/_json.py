"""JSON of requests and answers. What a program may have set for `json` itself does not matter: it
has objects of its own, with all of their options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from json import JSONDecoder, JSONEncoder
from math import isfinite
from typing import Any

NAME = re.compile(r"[A-Za-z_$][\w$]*")


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_DECODER = JSONDecoder(parse_float=float, parse_int=int, parse_constant=_no_constant)
_ENCODER = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def json_in(content: bytes | str) -> Any:
    """Raises ValueError for what is no JSON, and RecursionError where it nests too deep."""
    return _DECODER.decode(content if isinstance(content, str) else content.decode())


def json_of(body: object, path: str = "") -> bytes:
    """JSON of a request; a numpy array is a list. Raises TypeError or ValueError, which name the
    place of a value that JSON cannot represent. `path` names `body` itself, "" for a whole body."""
    try:
        return _ENCODER.encode(_plain(body, path)).encode()
    except RecursionError:
        where = path or "The body"
        raise ValueError(f"{where} is nested too deeply, or contains itself.") from None


def _plain(value: object, path: str) -> object:
    """`value` of dictionaries, lists and scalars alone."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        if not isfinite(value):
            raise ValueError(f"{path} is {value}; numbers are finite.")
        return value
    if isinstance(value, str):
        return _well_formed(value, path)
    if isinstance(value, Mapping):
        return {_key(name, path): _plain(each, _member(path, name)) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return _items(value, path)
    to_list = getattr(value, "tolist", None)
    if to_list is None:
        kind = type(value).__name__
        raise TypeError(f"{path or 'The body'} has the type {kind}; JSON has no such value.")
    return _plain(to_list(), path)


def _items(values: list[Any] | tuple[Any, ...], path: str) -> list[object]:
    # A vector has thousands of numbers, so paths are built only when needed.
    return [
        each
        if (type(each) is float and isfinite(each)) or type(each) is int
        else _plain(each, f"{path}[{at}]")
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
