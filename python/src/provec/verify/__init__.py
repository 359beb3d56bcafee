"""Verifies what a Provec service claims, without trusting or contacting the service (format PV1,
docs/format.md)."""

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
