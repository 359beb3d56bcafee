"""Options of a client. Errors name the option."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from numbers import Real
from urllib.parse import urlsplit

import httpx

from ._retry import RetryOptions

BASE = "/api/v1"
KEY = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True)
class Options:
    """`timeout`: seconds without progress, None for the default of each operation."""

    timeout: float | None
    retries: RetryOptions
    max_answer_bytes: float
    compress: bool


def options_of(
    *,
    timeout: float | None,
    retry_for: float,
    max_retries: float,
    max_retry_after: float,
    max_answer_bytes: float,
    compress: bool,
) -> Options:
    """Raises TypeError for a value that is not a number, and ValueError if it is out of range."""
    if timeout is not None and _number("timeout", timeout) <= 0:
        raise _wrong("timeout", "above 0, math.inf for none", timeout)
    if _number("max_answer_bytes", max_answer_bytes) <= 0:
        raise _wrong("max_answer_bytes", "above 0", max_answer_bytes)
    if not isinstance(compress, bool):
        raise TypeError(f"compress must be True or False. It is {compress!r}.")
    durations = {"retry_for": retry_for, "max_retry_after": max_retry_after}
    for name, value in durations.items():
        if not _number(name, value) >= 0:
            raise _wrong(name, "0 or more", value)
    count = _number("max_retries", max_retries)
    if not (count == math.inf or (count >= 0 and count.is_integer())):
        raise _wrong("max_retries", "a whole number, 0 or more, or math.inf", max_retries)
    retries = RetryOptions(retry_for, max_retries, max_retry_after)
    return Options(timeout, retries, max_answer_bytes, compress)


def base_of(url: str) -> str:
    """Returns the API's address. Raises a ValueError that omits the URL: it may hold a secret."""
    try:
        parts = urlsplit(url)
        has_more = "@" in parts.netloc or bool(re.search(r"\s", url)) or BASE in parts.path
        has_more = has_more or parts.query != "" or parts.fragment != ""
        is_plain = parts.scheme in ("http", "https") and bool(parts.hostname) and not has_more
        # Both raise for an invalid port.
        is_plain = is_plain and parts.port != 0 and httpx.URL(url).host != ""
    except (ValueError, TypeError, AttributeError, httpx.InvalidURL):
        is_plain = False
    if not is_plain or not isinstance(url, str):
        kind = "an http or https address, such as http://127.0.0.1:8080"
        without = f"without user, query or {BASE}"
        raise ValueError(f"url must be the address of a Provec: {kind}, {without}.")
    return url.rstrip("/") + BASE


def key_of(key: str, name: str) -> str:
    """Returns the key. Raises a ValueError that omits the key."""
    if isinstance(key, str) and KEY.fullmatch(key):
        return key
    raise ValueError(f"{name} must be a key of Provec: printable ASCII without spaces.")


def _number(name: str, value: object) -> float:
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number. It has the type {type(value).__name__}.")
    if math.isnan(value):
        raise _wrong(name, "a number", value)
    return float(value)


def _wrong(name: str, expected: str, value: object) -> ValueError:
    return ValueError(f"{name} must be {expected}. It is {value}.")
