"""Client for Provec, the vector database that can prove what it stores."""

from . import _api as api
from ._async.client import AsyncProvec, AsyncProvecOperator
from ._async.collection import AsyncCollection
from ._async.ledger import verify_on_ledger as verify_on_ledger_async
from ._async.listing import AsyncListing
from ._errors import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    BadRequestError,
    ConflictError,
    ForbiddenError,
    NotFoundError,
    OutOfCapacityError,
    PlanLimitError,
    ProvecError,
    RateLimitedError,
    ServerError,
    UnauthenticatedError,
    UnavailableError,
)
from ._sync.client import Provec, ProvecOperator
from ._sync.collection import Collection
from ._sync.ledger import verify_on_ledger
from ._sync.listing import Listing
from ._warning import ProvecWarning
from .verify import (
    Anchor,
    AnchoringTransaction,
    LedgerError,
    VerificationError,
    VerifiedExport,
    collection_address,
    root_of_records,
    verify_account,
    verify_export,
    verify_export_async,
    verify_proof,
    verify_transaction,
)

__all__ = [
    "APIConnectionError",
    "APIStatusError",
    "APITimeoutError",
    "Anchor",
    "AnchoringTransaction",
    "AsyncCollection",
    "AsyncListing",
    "AsyncProvec",
    "AsyncProvecOperator",
    "BadRequestError",
    "Collection",
    "ConflictError",
    "ForbiddenError",
    "LedgerError",
    "Listing",
    "NotFoundError",
    "OutOfCapacityError",
    "PlanLimitError",
    "Provec",
    "ProvecError",
    "ProvecOperator",
    "ProvecWarning",
    "RateLimitedError",
    "ServerError",
    "UnauthenticatedError",
    "UnavailableError",
    "VerificationError",
    "VerifiedExport",
    "api",
    "collection_address",
    "root_of_records",
    "verify_account",
    "verify_export",
    "verify_export_async",
    "verify_on_ledger",
    "verify_on_ledger_async",
    "verify_proof",
    "verify_transaction",
]
