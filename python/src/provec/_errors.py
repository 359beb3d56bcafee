"""Errors of calls (docs/errors.md)."""

from __future__ import annotations

import builtins
import math
import re
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

from ._json import json_in


class ProvecError(Exception):
    """Base of all errors of a call, except for invalid arguments."""

    #: Number of leading records that an upsert in several requests stored before it failed.
    stored_count: int | None = None


class APIConnectionError(ProvecError, builtins.ConnectionError):
    """There was no answer: the service is unreachable, or the connection broke."""


class APITimeoutError(APIConnectionError, builtins.TimeoutError):
    """There was no answer within `timeout`."""


class APIStatusError(ProvecError):
    """Provec refused a request or could not serve it. Each kind of error has a subclass."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        super().__init__(body)
        self.status: int = body["status"]
        #: Error code (docs/errors.md); None if the answer is not Provec's, such as a proxy's.
        self.code: str | None = body.get("code")
        self.request_id: str | None = body.get("requestId")
        #: Invalid fields of the request, each with `path`, `expected` and `got`.
        self.details: list[dict[str, str]] = body.get("details", [])
        #: Seconds to wait before trying again; None if the answer does not say.
        self.retry_after: float | None = body.get("retryAfterSeconds")
        self._sentence: str = body["error"]

    def __str__(self) -> str:
        return self._sentence


class BadRequestError(APIStatusError):
    """400, 405, 408, 413, 415: the request itself is wrong; `details` names the fields."""


class UnauthenticatedError(APIStatusError):
    """401: the key is absent, unknown, revoked or expired."""


class ForbiddenError(APIStatusError):
    """403: the key lacks the scope, or the collection is protected from deletion."""


class NotFoundError(APIStatusError):
    """404: no such collection, record, namespace, alias, key, verification or account."""


class ConflictError(APIStatusError):
    """409: the name is taken, or the current state does not allow the operation."""


class PlanLimitError(APIStatusError):
    """429 PLAN_LIMIT_REACHED: a limit of the plan is reached; a retry does not help."""


class RateLimitedError(APIStatusError):
    """429 RATE_LIMITED: too many requests, also at the last retry."""


class UnavailableError(APIStatusError):
    """503: the service or a shard is unavailable, also at the last retry."""


class OutOfCapacityError(APIStatusError):
    """507: memory or disk is full; reads and deletes still work."""


class ServerError(APIStatusError):
    """500, and all other statuses and answers that a server should not send."""


BY_STATUS: Mapping[int, type[APIStatusError]] = {
    400: BadRequestError,
    401: UnauthenticatedError,
    403: ForbiddenError,
    404: NotFoundError,
    405: BadRequestError,
    408: BadRequestError,
    409: ConflictError,
    413: BadRequestError,
    415: BadRequestError,
    429: RateLimitedError,
    503: UnavailableError,
    507: OutOfCapacityError,
}


def explained(error: Exception, sentence: str) -> Exception:
    """Adds a sentence to a ProvecError; returns any other error unchanged."""
    text = str(error)
    message = f"{text}{'' if text.endswith(('.', '?', '!')) else '.'} {sentence}"
    if isinstance(error, APIStatusError):
        [body] = error.args
        return type(error)({**body, "error": message})
    if isinstance(error, APIConnectionError):
        return type(error)(message)
    return error


def error_of(status: int, retry_after: str | None, content: bytes) -> APIStatusError:
    """Returns the error for an answer other than 2xx."""
    body = {**_body_of(content), "status": status}
    if "error" not in body:
        body["error"] = f"The answer has status {status} and is not Provec's: is the address right?"
    body["retryAfterSeconds"] = _wait_of(body.get("retryAfterSeconds"), retry_after)
    if body.get("code") == "PLAN_LIMIT_REACHED":
        return PlanLimitError(body)
    return BY_STATUS.get(status, ServerError)(body)


def _wait_of(said: object, header: str | None) -> float | None:
    """Parses a wait in seconds. A proxy's header may have a date; the input may be anything."""
    if isinstance(said, (int, float)) and 0 <= said < math.inf:
        return said
    if header is None:
        return None
    if re.fullmatch(r"[0-9]{1,9}", header):
        return int(header)
    try:
        moment = parsedate_to_datetime(header)
        return max(0.0, (moment - datetime.now(timezone.utc)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def _body_of(content: bytes) -> dict[str, Any]:
    try:
        body = json_in(content)
    except (ValueError, RecursionError):
        return {}
    is_error = isinstance(body, dict) and isinstance(body.get("error"), str) and "code" in body
    if is_error and not isinstance(body.get("details", []), list):
        del body["details"]
    return body if is_error else {}
