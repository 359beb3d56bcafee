from __future__ import annotations

from ._errors import ServerError


class CursorWatch:
    """Notices cursors that come in a circle. It keeps one of them, after ever more pages another
    (Brent's algorithm): a circle ends after three times its length and the pages before it."""

    def __init__(self) -> None:
        self._kept: str | None = None
        self._since_kept = 0
        self._keep_for = 1

    def assert_new(self, cursor: str) -> None:
        """Raises ServerError for the cursor that it keeps."""
        if cursor == self._kept:
            error = "The pages of this list come in a circle: a nextCursor came twice."
            raise ServerError({"error": error, "status": 200})
        self._since_kept += 1
        if self._since_kept >= self._keep_for:
            self._kept, self._since_kept = cursor, 0
            self._keep_for *= 2
