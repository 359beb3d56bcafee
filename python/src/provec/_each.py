from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable
from typing import TypeVar

T = TypeVar("T")


async def each(source: AsyncIterable[T] | Iterable[T]) -> AsyncIterator[T]:
    """Yields the items of a synchronous or asynchronous iterable."""
    if isinstance(source, AsyncIterable):
        async for item in source:
            yield item
    else:
        for item in source:
            yield item
