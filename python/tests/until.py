from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 30.0


def until(is_so: Callable[[], bool]) -> None:
    """Waits until the condition holds. Fails if it does not in time."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.02)
