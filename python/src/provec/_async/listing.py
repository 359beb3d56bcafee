from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Generic, TypeVar, cast

from .._endless_list import EndlessListDetector

T = TypeVar("T")
Page = TypeVar("Page")


class AsyncListing(Generic[Page, T]):
    """A paginated list. Iterating requests each page when it is needed. The constructor sends no
    request."""

    def __init__(
        self, ask: Callable[[str | None], Awaitable[Page]], cursor: str | None, field: str
    ) -> None:
        self._ask = ask
        self._cursor = cursor
        self._field = field

    async def page(self) -> Page:
        """Returns the page at the list's cursor, by default the first page."""
        return await self._ask(self._cursor)

    async def pages(self) -> AsyncIterator[Page]:
        """Yields that page and all pages after it."""
        cursor, detector = self._cursor, EndlessListDetector()
        while True:
            page = await self._ask(cursor)
            fields = cast("dict[str, Any]", page)
            cursor = fields.get("nextCursor")
            if cursor is not None:
                detector.assert_progress(len(fields[self._field]), cursor)
            yield page
            if cursor is None:
                return

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for item in cast("dict[str, list[T]]", page)[self._field]:
                yield item
