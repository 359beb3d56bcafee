from __future__ import annotations

from ._errors import ServerError

#: Maximum number of empty pages in a row.
EMPTY_PAGES_MAX = 1000


class EndlessListDetector:
    """Detects a list that never ends: its cursors form a cycle, or its pages stay empty. Finds
    cycles with Brent's algorithm. It keeps one cursor and replaces it after 1, 2, 4, 8, ... pages.
    The caller reads at most the pages before the cycle and three times the cycle's length."""

    def __init__(self) -> None:
        self._kept: str | None = None
        self._since_kept = 0
        self._keep_for = 1
        self._empty_pages = 0

    def assert_progress(self, items: int, cursor: str) -> None:
        """Takes in a page that is not the last: its number of items and its `nextCursor`. Raises
        ServerError if the cursor equals the one kept, or after too many empty pages."""
        if cursor == self._kept:
            raise _endless("The pages of this list form a cycle: the same nextCursor came twice.")
        self._empty_pages = 0 if items > 0 else self._empty_pages + 1
        if self._empty_pages >= EMPTY_PAGES_MAX:
            raise _endless(f"This list does not end: {EMPTY_PAGES_MAX} pages in a row are empty.")
        self._since_kept += 1
        if self._since_kept >= self._keep_for:
            self._kept, self._since_kept = cursor, 0
            self._keep_for *= 2


def _endless(error: str) -> ServerError:
    return ServerError({"error": error, "status": 200})
