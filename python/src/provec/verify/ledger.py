from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx

from .account import Anchor, collection_address, verify_account
from .errors import LedgerError, VerificationError, demand
from .proof import verify_proof
from .shape import checked

RPC_TIMEOUT = 15.0
#: A hundred times an answer with a collection's account.
ANSWER_MAX_BYTES = 256 * 1024


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
    """Checks a proof against the collection's account, asked for at `rpc_url`. `authority` and
    `collection_id` are the caller's own: from its notes, never from the answer that is checked.
    Raises VerificationError where it does not hold, as when the root is not on the ledger yet, and
    LedgerError where nobody could be asked."""
    whole = checked(proof)
    other = f"The proof is about the collection {whole['collectionId']}."
    demand(whole["collectionId"] == collection_id, "wrong-content", other)
    address = collection_address(authority, collection_id)
    account = ledger_account(rpc_url, address)
    if account is None:
        raise VerificationError("wrong-account", f"There is no account {address} on the ledger.")
    anchor = verify_account(*account, authority=authority, collection_id=collection_id)
    version = int(whole["version"])
    stale = f"The ledger holds version {anchor.version} and the proof is of version {version}"
    demand(anchor.version == version, "wrong-root", f"{stale}: fetch a proof again.")
    outcome = verify_proof(
        anchor.merkle_root, whole, id=id, namespace=namespace, values=values, metadata=metadata
    )
    return outcome, anchor


def ledger_account(rpc_url: str, address: str) -> tuple[str, bytes] | None:
    """Owner and bytes of an account, from a node of the ledger; None where there is none. Raises
    LedgerError, which names the node's host at most: keys stand in paths and queries."""
    parts = urlsplit(rpc_url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise LedgerError("The ledger's URL must be http or https, without a user name.")
    params = [address, {"encoding": "base64", "commitment": "confirmed"}]
    request = {"jsonrpc": "2.0", "id": 1, "method": "getAccountInfo", "params": params}
    try:
        with httpx.stream("POST", rpc_url, json=request, timeout=RPC_TIMEOUT) as response:
            text = b""
            for chunk in response.iter_bytes():
                text += chunk
                if len(text) > ANSWER_MAX_BYTES:
                    raise LedgerError(f"{parts.hostname} answers too much.")
        answer = httpx.Response(200, content=text).json()
        value = answer["result"]["value"]
        return (
            None
            if value is None
            else (value["owner"], base64.b64decode(value["data"][0], validate=True))
        )
    except httpx.TransportError as error:
        raise LedgerError(f"{parts.hostname} could not be asked: {type(error).__name__}.") from None
    except (ValueError, TypeError, KeyError, IndexError):
        raise LedgerError(f"{parts.hostname} answers no account.") from None
