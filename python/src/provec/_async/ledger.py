from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import httpx

from .._deadline import within_async
from ..verify.account import Anchor
from ..verify.errors import LedgerError
from ..verify.ledger import (
    ANSWER_MAX_BYTES,
    Account,
    account_in,
    account_request,
    address_of,
    current_anchor,
    host_of,
    past_anchor,
    transaction_in,
    transaction_request,
)
from ..verify.proof import verify_proof
from .answer import GZIP, content_of

RPC_TIMEOUT = 15.0


async def verify_on_ledger(
    proof: Mapping[str, Any],
    *,
    authority: str,
    collection_id: str,
    rpc_url: str,
    id: str | None = None,
    namespace: str | None = None,
    values: Sequence[float] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> tuple[Literal["present", "absent"], Anchor]:
    """Checks a proof against the collection's account. If the account has a newer root, checks the
    transaction that anchored the proof's root. Reads both from the node at `rpc_url`. Take
    `authority` and `collection_id` from your own notes, never from the answer that you check: a
    proof's root does not cover its `collectionId`. Returns the outcome and the account's current
    content, with that transaction. Raises VerificationError if the proof does not hold, also if its
    root is not on the ledger yet, and LedgerError if the ledger cannot be read."""
    account = await ledger_account(rpc_url, address_of(proof, authority, collection_id))
    anchor, signature = current_anchor(account, proof, authority, collection_id)
    if signature is not None:
        transaction = await ledger_transaction(rpc_url, signature)
        anchor = past_anchor(anchor, transaction, proof, authority, collection_id)
    root = proof["merkleRoot"]
    known = {"id": id, "namespace": namespace, "values": values, "metadata": metadata}
    return verify_proof(root, proof, **known), anchor  # type: ignore[arg-type]


async def ledger_account(rpc_url: str, address: str) -> Account | None:
    """Returns owner and bytes of an account, or None if there is none. Raises LedgerError."""
    return account_in(*await _ask(rpc_url, account_request(address)))


async def ledger_transaction(rpc_url: str, signature: str) -> Any:
    """Returns a transaction for `verify_transaction`. Raises LedgerError."""
    return transaction_in(*await _ask(rpc_url, transaction_request(signature)))


async def _ask(rpc_url: str, request: dict[str, Any]) -> tuple[bytes, str]:
    """Returns a node's answer and the node's host. Raises LedgerError."""
    host = host_of(rpc_url)
    try:
        # Closing the client on a timeout ends its connection.
        async with httpx.AsyncClient(timeout=RPC_TIMEOUT) as client:
            exchange = partial(_exchange, client, rpc_url, host, request)
            return await within_async(RPC_TIMEOUT, exchange), host
    except TimeoutError:
        raise LedgerError(f"{host} did not answer within {RPC_TIMEOUT:g} s.") from None
    except (httpx.RequestError, httpx.InvalidURL) as error:
        raise LedgerError(f"{host} could not be asked: {type(error).__name__}.") from None


async def _exchange(
    client: httpx.AsyncClient, rpc_url: str, host: str, request: dict[str, Any]
) -> bytes:
    async with client.stream("POST", rpc_url, json=request, headers=GZIP) as response:
        if not response.is_success:
            raise LedgerError(f"{host} answered with HTTP status {response.status_code}.")
        content = await content_of(response, ANSWER_MAX_BYTES, RPC_TIMEOUT)
    if content is None:
        raise LedgerError(f"{host} answered with more than {ANSWER_MAX_BYTES} bytes.")
    return content
