from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import httpx

from ..verify.account import Anchor
from ..verify.errors import LedgerError
from ..verify.ledger import (
    ANSWER_MAX_BYTES,
    Account,
    account_in,
    account_request,
    address_of,
    anchored_root,
    host_of,
)
from ..verify.proof import verify_proof

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
    """Checks a proof against the collection's account, which the node at `rpc_url` is asked for.
    `authority` and `collection_id` are the caller's own: from its notes, never from the answer
    that is checked. Raises VerificationError where it does not hold, as when the root is not on
    the ledger yet, and LedgerError where nobody could be asked."""
    account = await ledger_account(rpc_url, address_of(proof, authority, collection_id))
    anchor = anchored_root(account, proof, authority, collection_id)
    root = anchor.merkle_root
    known = {"id": id, "namespace": namespace, "values": values, "metadata": metadata}
    return verify_proof(root, proof, **known), anchor  # type: ignore[arg-type]


async def ledger_account(rpc_url: str, address: str) -> Account | None:
    """Owner and bytes of an account; None where there is none. Raises LedgerError."""
    host, deadline, text = host_of(rpc_url), time.monotonic() + RPC_TIMEOUT, b""
    request = account_request(address)
    try:
        async with (
            httpx.AsyncClient(timeout=RPC_TIMEOUT) as client,
            client.stream("POST", rpc_url, json=request) as response,
        ):
            if not response.is_success:
                raise LedgerError(f"{host} answered with HTTP status {response.status_code}.")
            async for chunk in response.aiter_bytes():
                text += chunk
                if len(text) > ANSWER_MAX_BYTES or time.monotonic() > deadline:
                    raise LedgerError(f"{host} answers too much, or too slowly.")
    except (httpx.RequestError, httpx.InvalidURL) as error:
        raise LedgerError(f"{host} could not be asked: {type(error).__name__}.") from None
    return account_in(text, host)
