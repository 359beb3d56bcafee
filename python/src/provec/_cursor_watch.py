from __future__ import annotations

from ._errors import ServerError


class CursorWatch:
    """Detects a cycle of cursors with Brent's algorithm. It keeps one cursor and replaces it after
    1, 2, 4, 8, ... pages. The caller reads at most the pages before the cycle and three times the
    cycle's length."""

    def __init__(self) -> None:
        self._kept: str | None = None
        self._since_kept = 0
        self._keep_for = 1

    def assert_new(self, cursor: str) -> None:
        """Raises ServerError if the cursor equals the one kept."""
        if cursor == self._kept:
            error = "The pages of this list form a cycle: the same nextCursor came twice."
            raise ServerError({"error": error, "status": 200})
        self._since_kept += 1
        if self._since_kept >= self._keep_for:
            self._kept, self._since_kept = cursor, 0
            self._keep_for *= 2
