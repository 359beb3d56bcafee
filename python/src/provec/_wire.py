"""Encodes requests and decodes answers."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from numbers import Number
from typing import Any
from urllib.parse import quote

from ._api import DEFAULTS
from ._errors import ServerError
from ._json import json_in
from ._shape import assert_answer

VERSION = version("provec")
#: Path segments that URLs resolve even if escaped, so they would address something else.
UNNAMEABLE = ("", ".", "..")


def header_of(key: str) -> dict[str, str]:
    """Returns the headers of every request."""
    return {"Authorization": f"Bearer {key}", "User-Agent": f"provec-python/{VERSION}"}


def path_of(pattern: str, names: Mapping[str, str]) -> str:
    """Returns the path of an operation. Raises ValueError for a name that no path can contain."""
    for name, value in names.items():
        if not isinstance(value, str) or value in UNNAMEABLE:
            raise ValueError(f"{name} cannot be {value!r} in a path")
        pattern = pattern.replace("{" + name + "}", quote(value, safe=""))
    return pattern


def given(**fields: Any) -> dict[str, Any]:
    """Returns the given fields with their names in JSON."""
    return {camel(name): value for name, value in fields.items() if value is not None}


def without_defaults(operation: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields whose values differ from the service's defaults."""
    defaults = DEFAULTS.get(operation, {})
    return {
        name: value
        for name, value in fields.items()
        if name not in defaults
        or type(value) is not type(defaults[name])
        or value != defaults[name]
    }


def parameters(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the parameters of a URL. Raises TypeError for a value that is not a scalar."""
    for name, value in fields.items():
        if not isinstance(value, (str, Number)):
            raise TypeError(f"{name} must be text, a number or a boolean.")
    return fields


def camel(name: str) -> str:
    first, *others = name.rstrip("_").split("_")
    return first + "".join(map(str.capitalize, others))


def answer_of(operation: str, status: int, content: bytes) -> dict[str, Any]:
    """Decodes the answer to an operation. Raises ServerError for anything else."""
    try:
        answer = json_in(content)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        error = "The answer is not a JSON object: is this the address of a Provec?"
        raise ServerError({"error": error, "status": status})
    assert_answer(operation, answer, status)
    return answer
