"""Sends the operations of `/api/v1` to one service. In the ordinary course: one request, and its
JSON. Where that fails in passing, it tries again (`_retry.py`)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx

from .. import _retry
from .._api import ROUTES
from .._errors import ConnectionError, error_of
from .._wire import answer_of, base_of, header_of, json_of, path_of

NDJSON = "application/x-ndjson"
#: Makes the content of a request, for each attempt anew.
MakeContent = Callable[[], Any]


class AsyncTransport:
    def __init__(
        self,
        url: str,
        api_key: str,
        *,
        timeout: float,
        max_retries: int,
        max_retry_after: float,
        http_client: httpx.AsyncClient | None,
    ) -> None:
        self._base = base_of(url)
        self._headers = header_of(api_key)
        self._timeout = timeout
        self._max_retries = max_retries
        self._max_retry_after = max_retry_after
        self._is_own = http_client is None
        self._client = http_client or httpx.AsyncClient()

    async def aclose(self) -> None:
        if self._is_own:
            await self._client.aclose()

    async def send(
        self,
        operation: str,
        names: Mapping[str, str] | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        body: object = None,
    ) -> Any:
        """The answer of an operation. Raises a ProvecError or a ConnectionError."""
        content = None if body is None else json_of(body)
        make = None if content is None else lambda: content
        return await self._answer(operation, names, query, make, "application/json", True)

    async def send_lines(
        self, operation: str, names: Mapping[str, str], make: MakeContent, is_repeatable: bool
    ) -> Any:
        """As `send`, for a body of lines, which takes as long as it takes."""
        return await self._answer(operation, names, None, make, NDJSON, is_repeatable)

    async def _answer(
        self,
        operation: str,
        names: Mapping[str, str] | None,
        query: Mapping[str, Any] | None,
        make: MakeContent | None,
        content_type: str,
        is_repeatable: bool,
    ) -> Any:
        url, retry = self._base + path_of(ROUTES[operation][1], names or {}), 0
        while True:
            headers = (
                self._headers if make is None else {**self._headers, "Content-Type": content_type}
            )
            timeout = (
                httpx.Timeout(self._timeout, read=None) if content_type == NDJSON else self._timeout
            )
            try:
                return await self._attempt(operation, url, headers, query, make and make(), timeout)
            except Exception as error:
                await self._wait(operation, error, retry if is_repeatable else self._max_retries)
                retry += 1

    async def _attempt(
        self,
        operation: str,
        url: str,
        headers: Mapping[str, str],
        query: Mapping[str, Any] | None,
        content: Any,
        timeout: float | httpx.Timeout,
    ) -> Any:
        try:
            response = await self._client.request(
                ROUTES[operation][0],
                url,
                headers=headers,
                params=query,
                content=content,
                timeout=timeout,
                follow_redirects=False,
            )
        except httpx.TransportError as error:
            raise _no_answer(error) from error
        if not response.is_success:
            raise error_of(response.status_code, response.headers.get("retry-after"), response.text)
        return answer_of(response.status_code, response.text)

    async def _wait(self, operation: str, error: Exception, retry: int) -> None:
        """Waits until a retry may succeed; raises the error where none may."""
        wait = None
        if retry < self._max_retries and _retry.may_retry(operation, error):
            wait = _retry.retry_wait(retry, error, self._max_retry_after)
        if wait is None:
            raise error
        await asyncio.sleep(wait)

    @asynccontextmanager
    async def open(
        self, operation: str, names: Mapping[str, str]
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """The bytes of an answer that has begun. A connection that breaks later stays broken."""
        url, retry = self._base + path_of(ROUTES[operation][1], names), 0
        while True:
            request = self._client.build_request(
                "GET", url, headers=self._headers, timeout=self._timeout
            )
            try:
                response = await self._begun(request)
                break
            except Exception as error:
                await self._wait(operation, error, retry)
                retry += 1
        try:
            yield response.aiter_bytes()
        except httpx.TransportError as error:
            raise ConnectionError("The export was cut off.") from error
        finally:
            await response.aclose()

    async def _begun(self, request: httpx.Request) -> httpx.Response:
        try:
            response = await self._client.send(request, stream=True, follow_redirects=False)
        except httpx.TransportError as error:
            raise _no_answer(error) from error
        if response.is_success:
            return response
        try:
            text = (await response.aread()).decode(errors="replace")
        except httpx.TransportError as error:
            raise _no_answer(error) from error
        finally:
            await response.aclose()
        raise error_of(response.status_code, response.headers.get("retry-after"), text)


def _no_answer(error: httpx.TransportError) -> ConnectionError:
    return ConnectionError(f"No answer came: {type(error).__name__}: {error}".rstrip(": "))
