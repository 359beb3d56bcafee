from __future__ import annotations

from typing import Literal

#: `malformed`: not of the documented shape. `not-canonical`: a shape that no honest server makes.
#: `wrong-content`: not the record that was expected. `wrong-root`: does not lead to the root.
#: `wrong-account`: not the account that belongs to the collection. `wrong-transaction`: none that
#: anchored a root of the collection.
Reason = Literal[
    "malformed",
    "not-canonical",
    "wrong-content",
    "wrong-root",
    "wrong-account",
    "wrong-transaction",
]


class VerificationError(Exception):
    """A check failed; the message says in a sentence which, and `reason` of what kind it is."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(reason, message)
        self.reason = reason

    def __str__(self) -> str:
        return str(self.args[1])


class LedgerError(Exception):
    """A node of the ledger could not be reached, or its answer is not valid."""


def demand(holds: bool, reason: Reason, message: str) -> None:
    if not holds:
        raise VerificationError(reason, message)
