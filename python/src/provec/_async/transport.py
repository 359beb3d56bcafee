"""Sends the operations of `/api/v1` to a service. Retries transient failures (`_retry.py`)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx

from .._api import ROUTES
from .._errors import APIConnectionError, APITimeoutError, ServerError, error_of
from .._json import json_of
from .._options import Options, base_of, key_of
from .._retry import TIMER_MAX, Retries
from .._warning import warn, warnings_in
from .._wire import answer_of, header_of, parameters, path_of, without_defaults
from .answer import GZIP, UNCOMPRESSED, content_of, pieces_of

NDJSON = "application/x-ndjson"
TIMEOUT = 90.0
#: Exceptions to TIMEOUT, in seconds: a verify may take ten minutes, the answer to an import comes
#: after its last record, and the service gives moves, resumes and drains longer than other calls.
TIMEOUTS = {
    "verifyCollection": 610.0,
    "importRecords": None,
    "moveShard": 280.0,
    "resumeAnchoring": 280.0,
    "drainNode": 120.0,
}
#: Maximum time for reading an answer, as a multiple of its timeout.
PAUSES_MAX = 10
ERROR_MAX_BYTES = 1024 * 1024
ERROR_TIMEOUT = 60.0
#: Creates the content of a request; called for each attempt.
MakeContent = Callable[[], Any]


class AsyncTransport:
    def __init__(
        self,
        url: str,
        key: str,
        options: Options,
        http_client: httpx.AsyncClient | None,
        key_name: str = "api_key",
    ) -> None:
        """`key_name`: option that holds the key. Raises ValueError or TypeError, which name the
        invalid option."""
        if not isinstance(http_client, (httpx.AsyncClient, type(None))):
            kind = type(http_client).__name__
            raise TypeError(f"http_client must be an httpx.AsyncClient. It has the type {kind}.")
        self._base = base_of(url)
        self._headers = {
            **header_of(key_of(key, key_name)),
            **(GZIP if options.compress else UNCOMPRESSED),
        }
        self._options = options
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
        body: Mapping[str, Any] | None = None,
        warns: bool = True,
    ) -> Any:
        """Returns the answer. Raises ProvecError. `warns`: whether to issue its warnings."""
        query = None if query is None else parameters(without_defaults(operation, query))
        content = None if body is None else json_of(without_defaults(operation, body))
        make = None if content is None else lambda: content
        answer = await self._answer(operation, names, query, make, True)
        if warns:
            warn(warnings_in(operation, answer))
        return answer

    async def send_lines(
        self, operation: str, names: Mapping[str, str], make: MakeContent, is_repeatable: bool
    ) -> Any:
        """Same as `send`, for a body of lines."""
        answer = await self._answer(operation, names, None, make, is_repeatable, NDJSON)
        warn(warnings_in(operation, answer))
        return answer

    async def _answer(
        self,
        operation: str,
        names: Mapping[str, str] | None,
        query: Mapping[str, Any] | None,
        make: MakeContent | None,
        is_repeatable: bool,
        content_type: str = "application/json",
    ) -> Any:
        retries = Retries(operation, is_repeatable, self._options.retries)
        while True:
            request = self._request(operation, names, query)
            if make is not None:
                request = {**request, "content": make()}
                request["headers"] = {**self._headers, "Content-Type": content_type}
            try:
                return await self._attempt(operation, request)
            except Exception as error:
                await asyncio.sleep(retries.wait(error))

    def _request(
        self,
        operation: str,
        names: Mapping[str, str] | None,
        query: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        method, pattern = ROUTES[operation]
        timeout = self._options.timeout or TIMEOUTS.get(operation, TIMEOUT)
        if timeout is not None and timeout > TIMER_MAX:
            timeout = None
        return {
            "method": method,
            "url": self._base + path_of(pattern, names or {}),
            "params": query,
            "headers": self._headers,
            # A failure to connect is reported after TIMEOUT at the latest.
            "timeout": httpx.Timeout(timeout, connect=min(timeout or TIMEOUT, TIMEOUT)),
        }

    async def _attempt(self, operation: str, request: Mapping[str, Any]) -> Any:
        response = await self._begun(self._client.build_request(**request))
        max_bytes, pause = self._options.max_answer_bytes, request["timeout"].read
        try:
            content = await content_of(response, max_bytes, pause and PAUSES_MAX * pause)
        except httpx.RequestError as error:
            raise _no_answer(error) from error
        finally:
            await response.aclose()
        if content is None:
            fault = f"The answer has more than {max_bytes} bytes, its maximum (max_answer_bytes)."
            raise ServerError({"error": fault, "status": response.status_code})
        return answer_of(operation, response.status_code, content)

    @asynccontextmanager
    async def open(
        self, operation: str, names: Mapping[str, str], media_type: str
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Streams the bytes of an answer of this media type. If the connection breaks later, does
        not retry."""
        request = self._client.build_request(**self._request(operation, names))
        retries = Retries(operation, True, self._options.retries)
        while True:
            try:
                response = await self._begun(request)
                break
            except Exception as error:
                await asyncio.sleep(retries.wait(error))
        try:
            _assert_type(response, operation, media_type)
            yield pieces_of(response)
        except httpx.RequestError as error:
            raise APIConnectionError("The export was cut off.") from error
        finally:
            await response.aclose()

    async def _begun(self, request: httpx.Request) -> httpx.Response:
        """Returns a successful answer before its body is read."""
        try:
            response = await self._client.send(request, stream=True, follow_redirects=False)
            if response.is_success:
                return response
            try:
                content = await content_of(response, ERROR_MAX_BYTES, ERROR_TIMEOUT)
            finally:
                await response.aclose()
        except httpx.RequestError as error:
            raise _no_answer(error) from error
        retry_after = response.headers.get("retry-after")
        raise error_of(response.status_code, retry_after, content or b"")


def _no_answer(error: httpx.RequestError) -> APIConnectionError:
    kind = APITimeoutError if isinstance(error, httpx.TimeoutException) else APIConnectionError
    return kind(f"No answer came: {type(error).__name__}: {error}".rstrip(":. "))


def _assert_type(response: httpx.Response, operation: str, media_type: str) -> None:
    """Raises ServerError if the answer has another media type."""
    given = response.headers.get("Content-Type", "").split(";")[0].strip().lower()
    if given != media_type:
        error = (
            f"This is not an answer to {operation}, which has the type {media_type}. "
            "Is this the address of a Provec?"
        )
        raise ServerError({"error": error, "status": response.status_code})
