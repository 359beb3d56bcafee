"""JSON of requests and answers. What a program may have set for `json` itself does not matter: it
has objects of its own, with all of their options."""

from __future__ import annotations

from json import JSONDecoder, JSONEncoder
from typing import Any


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _plain(value: object) -> object:
    to_list = getattr(value, "tolist", None)
    if to_list is None:
        raise TypeError(f"{type(value).__name__} is no JSON value")
    return to_list()


_DECODER = JSONDecoder(parse_float=float, parse_int=int, parse_constant=_no_constant)
_ENCODER = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)


def json_in(content: bytes | str) -> Any:
    """Raises ValueError for what is no JSON, and RecursionError where it nests too deep."""
    return _DECODER.decode(content if isinstance(content, str) else content.decode())


def json_of(body: object) -> bytes:
    """JSON of a request; a numpy array is a list. Raises ValueError for NaN and infinity."""
    return _ENCODER.encode(body).encode()
