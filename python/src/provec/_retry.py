"""Which failures pass by themselves, and how long to wait for that."""

from __future__ import annotations

import random

from ._api import ONCE
from ._errors import APIConnectionError, APIStatusError, APITimeoutError

#: 502 and 504 come from proxies.
PASSING = frozenset({502, 503, 504})
#: With four retries 3.75 to 7.5 s in all: a service that is started anew is there again.
FIRST_WAIT = 0.5
WAIT_MAX = 8.0


def may_retry(operation: str, error: Exception) -> bool:
    """Whether the same request may succeed, and do no more than once what it asks for."""
    if isinstance(error, APIStatusError):
        if error.status == 429:
            return error.code != "PLAN_LIMIT_REACHED"
        return error.status in PASSING and operation not in ONCE
    if isinstance(error, APITimeoutError) and operation == "verifyCollection":
        return False  # It would begin anew, and take as long.
    return isinstance(error, APIConnectionError) and operation not in ONCE


def retry_wait(retry: int, error: Exception, maximum: float) -> float | None:
    """Seconds before retry number `retry` (from 0 on): exponential, half of it random so
    that clients do not come back all at once, and that much longer than the server asks for. None:
    the server asks for more than `maximum`."""
    asked = error.retry_after or 0 if isinstance(error, APIStatusError) else 0
    if asked > maximum:
        return None
    return asked + (1 + random.random()) / 2 * min(FIRST_WAIT * 2.0**retry, WAIT_MAX)
