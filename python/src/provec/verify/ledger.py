"""Builds requests to a node of the ledger, and checks a proof against its answers."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from .._json import json_in
from .account import Anchor, collection_address, verify_account
from .errors import LedgerError, VerificationError, check
from .json_text import LEVELS_MAX, levels
from .reader import is_base64
from .shape import checked
from .transaction import verify_transaction

#: Maximum size of an answer: a hundred times that of one with a collection's account.
ANSWER_MAX_BYTES = 256 * 1024

Account = tuple[str, bytes]


def host_of(rpc_url: str) -> str:
    """Returns the host of a node's URL. Raises LedgerError if the URL is invalid. Errors name at
    most the host, since paths and queries may contain keys."""
    try:
        parts = urlsplit(rpc_url)
        host = parts.hostname
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https") or "@" in parts.netloc:
        raise LedgerError("The ledger's URL must be http or https, without a user name.")
    return host


def account_request(address: str) -> dict[str, Any]:
    params = [address, {"encoding": "base64", "commitment": "confirmed"}]
    return {"jsonrpc": "2.0", "id": 1, "method": "getAccountInfo", "params": params}


def transaction_request(signature: str) -> dict[str, Any]:
    # Accepts newer versions, so that the verifier refuses them instead of the node.
    options = {
        "encoding": "base64",
        "commitment": "finalized",
        "maxSupportedTransactionVersion": 0,
    }
    params = [signature, options]
    return {"jsonrpc": "2.0", "id": 1, "method": "getTransaction", "params": params}


def _result_in(text: bytes, host: str, what: str) -> Any:
    try:
        answer = json_in(text)
        if levels(text.decode()) > LEVELS_MAX:
            raise LedgerError(f"{host} answered with JSON of more than {LEVELS_MAX} levels.")
        if answer.get("error") is not None:
            message = answer["error"].get("message", "it does not say which")
            raise LedgerError(f"{host} has an error in place of {what}: {message}")
        return answer["result"]
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        raise LedgerError(f"{host} answers without {what}.") from None


def account_in(text: bytes, host: str) -> Account | None:
    """Returns owner and bytes of the account in an answer, or None if there is no account."""
    try:
        value = _result_in(text, host, "an account")["value"]
        if value is None:
            return None
        owner, (data, encoding) = value["owner"], value["data"][:2]
    except (ValueError, TypeError, KeyError):
        raise LedgerError(f"{host} answers no account.") from None
    if not is_base64(data) or encoding != "base64" or not isinstance(owner, str):
        raise LedgerError(f"{host} answers no account in base64.")
    return owner, base64.b64decode(data)


def transaction_in(text: bytes, host: str) -> Any:
    """Returns a transaction for `verify_transaction`; None if it does not exist or is not final."""
    return _result_in(text, host, "a transaction")


def address_of(proof: Mapping[str, Any], authority: str, collection_id: str) -> str:
    """Returns the account's address. Raises VerificationError if the collection is another one."""
    proven = checked(proof)["collectionId"]
    other = f"The proof is about the collection {proven}."
    check(proven == collection_id, "wrong-content", other)
    return collection_address(authority, collection_id)


def current_anchor(
    account: Account | None, proof: Mapping[str, Any], authority: str, collection_id: str
) -> tuple[Anchor, str | None]:
    """Returns the account's content and the signature of the transaction that must have written
    the proof's root, or None if that is the account's current root."""
    whole = checked(proof)
    if account is None:
        address = collection_address(authority, collection_id)
        why = _why_absent(whole["ledgerTx"])
        raise VerificationError(
            "wrong-account", f"There is no account {address} on the ledger: {why}"
        )
    owner, data = account
    anchor = verify_account(owner, data, authority=authority, collection_id=collection_id)
    if (anchor.version, anchor.merkle_root) == (whole["version"], whole["merkleRoot"]):
        return anchor, None
    if whole["ledgerTx"] is not None:
        return anchor, str(whole["ledgerTx"])
    held, version = f"The ledger holds version {anchor.version}", int(whole["version"])
    unwritten = (
        f"{held}, and the proof is of version 0, before the first write, which has no anchor. "
        "Fetch it again."
    )
    check(version != 0, "wrong-root", unwritten)
    pending = (
        f"{held}, and the proof is of version {version}, whose anchor was pending when it was "
        "fetched: check it again when the ledger holds that version, or fetch it again."
    )
    check(anchor.version >= version, "wrong-root", pending)
    passed = (
        f"{held}, and the proof, of version {version}, names no transaction: the anchor of that "
        "version was pending when the proof was fetched. Fetch it again."
    )
    check(anchor.version == version, "wrong-root", passed)
    # A version is a sum over the shards, so two states can share one. This need not be tampering.
    another = (
        f"The ledger holds another root of version {anchor.version}, as it can while several "
        "shards are written: fetch a proof again when nothing is written. If that one differs "
        "too, it is not of what the ledger holds."
    )
    raise VerificationError("wrong-root", another)


def _why_absent(transaction: str | None) -> str:
    """A proof that names a transaction shows that the collection once had an account."""
    if transaction is None:
        return "no root of the collection was anchored so far, or it was deleted."
    return (
        "the collection was deleted, which closes its account, or the node is of another cluster. "
        "The verifier refuses proofs of deleted collections."
    )


def past_anchor(
    anchor: Anchor,
    transaction: Any,
    proof: Mapping[str, Any],
    authority: str,
    collection_id: str,
) -> Anchor:
    """Returns the anchor with the transaction that wrote the proof's root."""
    whole = checked(proof)
    verified = verify_transaction(
        transaction,
        authority=authority,
        collection_id=collection_id,
        signature=whole["ledgerTx"],
        merkle_root=whole["merkleRoot"],
        version=int(whole["version"]),
    )
    return anchor._replace(transaction=verified)
