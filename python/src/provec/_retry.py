"""Decides which failures are transient, and how long to wait before a retry."""

from __future__ import annotations

import random
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx

from ._api import ONCE
from ._errors import APIConnectionError, APIStatusError, APITimeoutError, explained

#: 502 and 504 come from proxies.
PASSING = frozenset({502, 503, 504})
FIRST_WAIT = 0.5
WAIT_MAX = 8.0
#: Maximum timeout of a socket, in seconds.
TIMER_MAX = 2_147_483.0


@dataclass(frozen=True)
class RetryOptions:
    """`retry_for`: time in seconds from the first failure to the last retry."""

    retry_for: float
    max_retries: float
    max_retry_after: float


class Retries:
    """Decides on the retries of one call. `is_repeatable`: whether its body can be sent twice."""

    def __init__(
        self,
        operation: str,
        is_repeatable: bool,
        options: RetryOptions,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._operation = operation
        self._is_repeatable = is_repeatable
        self._options = options
        self._now = now
        self._began = now()
        self._failed: float | None = None
        self._attempts = 0

    def wait(self, error: Exception) -> float:
        """Returns the seconds to wait before the next attempt. Raises the error to give up."""
        options = self._options
        self._attempts += 1
        if self._failed is None:
            self._failed = self._now()
        if not _is_passing(self._operation, error):
            raise error
        if self._operation in ONCE and not _is_rate_limit(error):
            why = "It was not repeated, since the service may have carried it out."
            raise explained(error, why) from error
        if not self._is_repeatable:
            why = "It was not repeated, since its source cannot be read twice."
            raise explained(error, why) from error
        left = self._failed + options.retry_for - self._now()
        if self._attempts > options.max_retries or left <= 0:
            raise self._given_up(error) from error
        asked = error.retry_after or 0 if isinstance(error, APIStatusError) else 0
        if asked > min(options.max_retry_after, left):
            why = f"The client gave up: the service asked it to wait {asked:g} s."
            raise explained(error, why) from error
        return min(retry_wait(self._attempts - 1, asked), left, TIMER_MAX)

    def _given_up(self, error: Exception) -> Exception:
        if self._attempts == 1:
            return error
        took = f"{self._attempts} attempts in {self._now() - self._began:.1f} s"
        return explained(error, f"The client gave up after {took}.")


def _is_passing(operation: str, error: Exception) -> bool:
    """Whether the same request may succeed later."""
    if isinstance(error, APIStatusError):
        return error.status in PASSING or _is_rate_limit(error)
    if isinstance(error, APITimeoutError) and operation == "verifyCollection":
        return False  # A retry would start again and take just as long.
    return isinstance(error, APIConnectionError) and not any(map(_is_lasting, _causes(error)))


def _is_rate_limit(error: Exception) -> bool:
    return (
        isinstance(error, APIStatusError)
        and error.status == 429
        and error.code != "PLAN_LIMIT_REACHED"
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause = error.__cause__ or error.__context__
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _is_lasting(cause: BaseException) -> bool:
    """Whether the host name, the certificate, the protocol or the request is invalid."""
    if isinstance(cause, ssl.SSLError):
        return not isinstance(cause, (ssl.SSLEOFError, ssl.SSLZeroReturnError))
    if isinstance(cause, socket.gaierror):
        return cause.errno != socket.EAI_AGAIN
    return isinstance(
        cause,
        (
            httpx.DecodingError,
            httpx.LocalProtocolError,
            httpx.ProxyError,
            httpx.TooManyRedirects,
            httpx.UnsupportedProtocol,
        ),
    )


def retry_wait(retry: int, asked: float) -> float:
    """Returns the seconds to wait before retry number `retry`, counted from 0: the wait that the
    service asks for, plus exponential backoff. Half of the backoff is random, so that clients do
    not all retry at once."""
    return asked + (1 + random.random()) / 2 * min(FIRST_WAIT * 2.0**retry, WAIT_MAX)
