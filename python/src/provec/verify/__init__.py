"""Checks what a Provec says without trusting it: the format PV1 of docs/format.md. Nothing here
asks the service."""

from .account import Anchor, collection_address, verify_account
from .errors import LedgerError, VerificationError
from .export import VerifiedExport, root_of_records, verify_export, verify_export_async
from .proof import verify_proof
from .transaction import AnchoringTransaction, verify_transaction

__all__ = [
    "Anchor",
    "AnchoringTransaction",
    "LedgerError",
    "VerificationError",
    "VerifiedExport",
    "collection_address",
    "root_of_records",
    "verify_account",
    "verify_export",
    "verify_export_async",
    "verify_proof",
    "verify_transaction",
]
