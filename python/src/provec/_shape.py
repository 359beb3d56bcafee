"""Checks that answers have the shape that the OpenAPI document defines (`_shapes.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._errors import ServerError
from ._shapes import ANSWERS, SHAPES

SCALARS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}
NUMBERS = {int, float}
MISSING = object()


def assert_answer(operation: str, value: object, status: int) -> None:
    """Raises ServerError if `value` is not a valid answer, or line of an answer."""
    fault = _fault(value, ANSWERS[operation], "")
    if fault is not None:
        error = f"This is not an answer to {operation}: {fault}. Is this the address of a Provec?"
        raise ServerError({"error": error, "status": status})


def _fault(value: object, shape: Any, path: str) -> str | None:
    """Describes the first mismatch, with its path; None if there is none."""
    if isinstance(shape, str):
        if shape.startswith("#"):
            return _fault(value, SHAPES[shape[1:]], path)
        kinds = shape.split(" | ")
        return None if any(_is_scalar(value, kind) for kind in kinds) else _wrong(value, path)
    if isinstance(shape, list):
        if shape[0] != "|":
            return _fault_of_items(value, shape[0], path)
        faults = [_fault(value, each, path) for each in shape[1:]]
        return None if None in faults else faults[0]
    if not isinstance(value, dict):
        return _wrong(value, path)
    if "*" in shape:
        members = {} if shape["*"] == "any" else dict.fromkeys(value, shape["*"])
    else:
        named = ((marked, marked.removesuffix("?"), each) for marked, each in shape.items())
        members = {name: each for marked, name, each in named if name == marked or name in value}
    for name, each in members.items():
        fault = _fault(value.get(name, MISSING), each, f"{path}.{name}" if path else name)
        if fault is not None:
            return fault
    return None


def _fault_of_items(value: object, shape: Any, path: str) -> str | None:
    if not isinstance(value, list):
        return _wrong(value, path)
    if shape == "number" and NUMBERS.issuperset(map(type, value)):
        return None
    for at, item in enumerate(value):
        fault = _fault(item, shape, f"{path}[{at}]")
        if fault is not None:
            return fault
    return None


def _is_scalar(value: object, kind: str) -> bool:
    if kind == "any":
        return value is not MISSING
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, SCALARS[kind])


def _wrong(value: object, path: str) -> str:
    kind = "missing" if value is MISSING else f"of type {type(value).__name__}"
    return f"{path or 'the answer'} is {kind}"
