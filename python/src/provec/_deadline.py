from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent import futures
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


async def within_async(seconds: float, work: Callable[[], Awaitable[T]]) -> T:
    """Runs the work. Raises TimeoutError if it takes more than `seconds`."""
    try:
        return await asyncio.wait_for(work(), seconds)
    except asyncio.TimeoutError:
        raise TimeoutError from None


def within(seconds: float, work: Callable[[], T]) -> T:
    """Same as `within_async`, in a thread of its own. On a timeout, the thread keeps running."""
    outcome: futures.Future[T] = futures.Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    Thread(target=run, daemon=True).start()
    try:
        return outcome.result(seconds)
    except futures.TimeoutError:
        raise TimeoutError from None
