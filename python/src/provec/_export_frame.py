"""Checks the first and the last line of an export."""

from __future__ import annotations

from typing import Any

from ._errors import APIConnectionError, ProvecError, ServerError
from ._json import json_in
from ._shape import assert_answer

NDJSON_TYPE = "application/x-ndjson"
#: HTTP status of an answer that streams.
OK = 200
#: Maximum number of bytes in a line: ten times that of the largest record.
LINE_MAX_BYTES = 4 * 1024 * 1024


class ExportFrame:
    """Checks the lines of an export as they arrive."""

    def __init__(self) -> None:
        self._last: str | None = None

    def taken(self, line: str) -> str:
        """Returns the line. Raises ProvecError if it is the first one and not a head."""
        if self._last is None and "export" not in export_line(line):
            error = "The export has no head: is this the address of a Provec?"
            raise ServerError({"error": error, "status": OK})
        self._last = line
        return line

    def end(self) -> None:
        """Raises APIConnectionError if the last line is not the end of an export."""
        try:
            is_whole = self._last is not None and "end" in export_line(self._last)
        except ProvecError:
            is_whole = False
        if not is_whole:
            raise APIConnectionError("The export was cut off: it has no end.")


def export_line(line: str) -> Any:
    """Parses a line. Raises ProvecError if it is not a line of an export."""
    try:
        said = json_in(line)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise APIConnectionError("The export was cut off, or has a line that is not a JSON object.")
    assert_answer("exportRecords", said, OK)
    return said
