# Generated from _async by tools/unasync.py; edit that instead.
from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import httpx

from .._deadline import within
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
from .answer import ENCODING, pieces_of

RPC_TIMEOUT = 15.0


def verify_on_ledger(
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
    """Checks a proof against the collection's account and, where that has moved on, against the
    transaction that anchored the proof's root. The node at `rpc_url` is asked for both.
    `authority` and `collection_id` are the caller's own: from its notes, never from the answer
    that is checked. Returns the outcome and what the account holds now, with that transaction.
    Raises VerificationError where the proof does not hold, as when its root is not on the ledger
    yet, and LedgerError if the ledger could not be read."""
    account = ledger_account(rpc_url, address_of(proof, authority, collection_id))
    anchor, signature = current_anchor(account, proof, authority, collection_id)
    if signature is not None:
        transaction = ledger_transaction(rpc_url, signature)
        anchor = past_anchor(anchor, transaction, proof, authority, collection_id)
    root = proof["merkleRoot"]
    known = {"id": id, "namespace": namespace, "values": values, "metadata": metadata}
    return verify_proof(root, proof, **known), anchor  # type: ignore[arg-type]


def ledger_account(rpc_url: str, address: str) -> Account | None:
    """Owner and bytes of an account; None where there is none. Raises LedgerError."""
    return account_in(*_ask(rpc_url, account_request(address)))


def ledger_transaction(rpc_url: str, signature: str) -> Any:
    """What `verify_transaction` takes of a transaction. Raises LedgerError."""
    return transaction_in(*_ask(rpc_url, transaction_request(signature)))


def _ask(rpc_url: str, request: dict[str, Any]) -> tuple[bytes, str]:
    """The answer of a node, and its host. Raises LedgerError."""
    host = host_of(rpc_url)
    try:
        # Closing the client on a timeout ends its connection.
        with httpx.Client(timeout=RPC_TIMEOUT) as client:
            exchange = partial(_exchange, client, rpc_url, host, request)
            return within(RPC_TIMEOUT, exchange), host
    except TimeoutError:
        raise LedgerError(f"{host} did not answer within {RPC_TIMEOUT:g} s.") from None
    except (httpx.RequestError, httpx.InvalidURL) as error:
        raise LedgerError(f"{host} could not be asked: {type(error).__name__}.") from None


def _exchange(
    client: httpx.Client, rpc_url: str, host: str, request: dict[str, Any]
) -> bytes:
    text = b""
    with client.stream("POST", rpc_url, json=request, headers=ENCODING) as response:
        if not response.is_success:
            raise LedgerError(f"{host} answered with HTTP status {response.status_code}.")
        for chunk in pieces_of(response):
            text += chunk
            if len(text) > ANSWER_MAX_BYTES:
                raise LedgerError(f"{host} answered with more than {ANSWER_MAX_BYTES} bytes.")
    return text
