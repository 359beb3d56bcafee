"""The client of Provec, the vector database that can prove what it stores."""

from . import _api as api
from ._async.client import AsyncProvec, AsyncProvecOperator
from ._async.collection import AsyncCollection
from ._async.listing import AsyncListing
from ._errors import (
    BadRequestError,
    ConflictError,
    ConnectionError,
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
from ._sync.listing import Listing
from .verify import (
    LedgerError,
    VerificationError,
    verify_account,
    verify_export,
    verify_on_ledger,
    verify_proof,
)

__all__ = [
    "AsyncCollection",
    "AsyncListing",
    "AsyncProvec",
    "AsyncProvecOperator",
    "BadRequestError",
    "Collection",
    "ConflictError",
    "ConnectionError",
    "ForbiddenError",
    "LedgerError",
    "Listing",
    "NotFoundError",
    "OutOfCapacityError",
    "PlanLimitError",
    "Provec",
    "ProvecError",
    "ProvecOperator",
    "RateLimitedError",
    "ServerError",
    "UnauthenticatedError",
    "UnavailableError",
    "VerificationError",
    "api",
    "verify_account",
    "verify_export",
    "verify_on_ledger",
    "verify_proof",
]
