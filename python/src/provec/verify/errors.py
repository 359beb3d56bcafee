from __future__ import annotations

from typing import Literal

#: `malformed`: not the documented shape. `not-canonical`: a shape that an honest server never
#: produces. `wrong-content`: not the expected record. `wrong-root`: does not lead to the root.
#: `wrong-account`: not the collection's account. `wrong-transaction`: did not anchor a root of the
#: collection.
Reason = Literal[
    "malformed",
    "not-canonical",
    "wrong-content",
    "wrong-root",
    "wrong-account",
    "wrong-transaction",
]


class VerificationError(Exception):
    """A failed check. The message describes it in a sentence; `reason` is its kind."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(reason, message)
        self.reason = reason

    def __str__(self) -> str:
        return str(self.args[1])


class LedgerError(Exception):
    """A node of the ledger was unreachable, or its answer was invalid."""


def check(holds: bool, reason: Reason, message: str) -> None:
    if not holds:
        raise VerificationError(reason, message)
