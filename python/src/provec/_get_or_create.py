from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import _api as api
from ._errors import APIConnectionError, ConflictError, ProvecError, UnavailableError


def may_exist(error: ProvecError) -> bool:
    """Whether the collection may exist after a creation failed with this error."""
    if isinstance(error, ConflictError):
        return error.code == "COLLECTION_EXISTS"
    return isinstance(error, (APIConnectionError, UnavailableError))


def matching(found: api.Collection, name: str, fixed: Mapping[str, Any]) -> api.Collection:
    """Raises ConflictError if the collection has other fixed fields, or the name is an alias."""
    if found["name"] != name:
        raise _conflict(f"{name} is an alias of the collection {found['name']}.")
    has: Mapping[str, Any] = {**found}
    for field, value in fixed.items():
        if has[field] != value:
            raise _conflict(f"The collection {name} exists with {field} {has[field]}, not {value}.")
    return found


def _conflict(error: str) -> ConflictError:
    return ConflictError({"error": error, "status": 409, "code": "COLLECTION_EXISTS"})
