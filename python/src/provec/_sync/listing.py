# Generated from _async by tools/unasync.py; edit that instead.
from __future__ import annotations

from collections.abc import Iterator, Callable
from typing import Any, Generic, TypeVar, cast

from .._endless_list import EndlessListDetector

T = TypeVar("T")
Page = TypeVar("Page")


class Listing(Generic[Page, T]):
    """A paginated list. Iterating requests each page when it is needed. The constructor sends no
    request."""

    def __init__(
        self, ask: Callable[[str | None], Page], cursor: str | None, field: str
    ) -> None:
        self._ask = ask
        self._cursor = cursor
        self._field = field

    def page(self) -> Page:
        """Returns the page at the list's cursor, by default the first page."""
        return self._ask(self._cursor)

    def pages(self) -> Iterator[Page]:
        """Yields that page and all pages after it."""
        cursor, detector = self._cursor, EndlessListDetector()
        while True:
            page = self._ask(cursor)
            fields = cast("dict[str, Any]", page)
            cursor = fields.get("nextCursor")
            if cursor is not None:
                detector.assert_progress(len(fields[self._field]), cursor)
            yield page
            if cursor is None:
                return

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            for item in cast("dict[str, list[T]]", page)[self._field]:
                yield item
