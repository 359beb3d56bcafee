"""Checks that a transaction anchored a root: only the authority signed it, and it did nothing but
write this root and version into the collection's account (docs/format.md, 7)."""

from __future__ import annotations

import base64
from datetime import datetime, timezone
from typing import Any, NamedTuple

from .account import TOKEN_2022, collection_address
from .base58 import decode_base58, encode_base58
from .ed25519 import is_signed_by
from .errors import VerificationError, check
from .reader import Reader, is_base64
from .shape import is_whole

COMPUTE_BUDGET = "ComputeBudget111111111111111111111111111111"
#: Maximum size of a transaction on the ledger, in bytes.
TRANSACTION_BYTES_MAX = 1232
#: Last second of the year 9999, in Unix time.
BLOCK_TIME_MAX = 253_402_300_799
#: First 8 bytes of the SHA-256 of "spl_token_metadata_interface:updating_field", and the Borsh
#: variant of an additional field.
UPDATE_FIELD = bytes.fromhex("dde9312db5cadcc8") + b"\x03"
FIELDS = {"merkleRoot", "version", "vectorCount", "decisions"}


class AnchoringTransaction(NamedTuple):
    """A transaction that wrote the root of a proof."""

    signature: str
    slot: int
    #: Time of the block, ISO 8601 UTC; None if the node does not know it.
    anchored_at: str | None


def verify_transaction(
    transaction: Any,
    *,
    authority: str,
    collection_id: str,
    signature: str,
    merkle_root: str,
    version: int,
) -> AnchoringTransaction:
    """Checks `transaction`, the `result` of `getTransaction` with `finalized` and `base64`, against
    its expected content. Raises VerificationError if a check fails."""
    if transaction is None:
        raise VerificationError(
            "wrong-transaction",
            f"No finalized transaction {signature} is on the ledger: if it was made just now, try "
            "again in a minute.",
        )
    data, meta, slot, block_time = _answered(transaction)
    has_succeeded = "err" in meta and meta["err"] is None
    check(has_succeeded, "wrong-transaction", "The transaction failed.")
    is_flat = meta.get("innerInstructions") in (None, [])
    check(is_flat, "wrong-transaction", "A program in the transaction called another program.")
    mint = collection_address(authority, collection_id)
    fields = _fields_written(Reader(data, "transaction"), authority, mint, signature)
    # `_fields_written` has checked that there is one signature. This check is slow, so it is late.
    signed, message = data[1:65], data[65:]
    is_signed = is_signed_by(decode_base58(authority, 32) or b"", signed, message)
    check(is_signed, "wrong-transaction", "The transaction's signature is not the authority's.")
    is_same = fields["merkleRoot"] == merkle_root and fields["version"] == f"{int(version):020}"
    check(is_same, "wrong-root", "The transaction wrote another root or another version.")
    if block_time is None:
        return AnchoringTransaction(signature, slot, None)
    time = datetime.fromtimestamp(block_time, timezone.utc)
    return AnchoringTransaction(signature, slot, time.strftime("%Y-%m-%dT%H:%M:%SZ"))


def _answered(transaction: Any) -> tuple[bytes, dict[str, Any], int, int | None]:
    whole = transaction if isinstance(transaction, dict) else {}
    slot, block_time, meta = whole.get("slot"), whole.get("blockTime"), whole.get("meta")
    is_timed = block_time is None or (is_whole(block_time) and block_time <= BLOCK_TIME_MAX)
    check(is_whole(slot) and is_timed, "malformed", "No valid `slot` or `blockTime`.")
    if not isinstance(meta, dict):
        raise VerificationError("malformed", "The answer has no `meta`.")
    wire = whole.get("transaction")
    is_encoded = isinstance(wire, list) and len(wire) > 1 and wire[1] == "base64"
    if not (isinstance(wire, list) and is_encoded and is_base64(wire[0])):
        raise VerificationError("malformed", "The transaction is not in base64.")
    data = base64.b64decode(wire[0])
    check(len(data) <= TRANSACTION_BYTES_MAX, "malformed", "The transaction is too long.")
    return data, meta, int(whole["slot"]), None if block_time is None else int(block_time)


def _fields_written(reader: Reader, authority: str, mint: str, signature: str) -> dict[str, str]:
    """Returns the fields that the transaction wrote. Raises if it did anything else."""
    is_one = _length(reader) == 1
    check(is_one, "wrong-transaction", "The transaction must have exactly one signature.")
    is_asked = reader.take(64) == decode_base58(signature, 64)
    check(is_asked, "wrong-transaction", "It is not the transaction that was asked for.")
    # Versioned transactions, which can take addresses from tables, have 128 or more here.
    has_one_signer = reader.take(2) == b"\1\0"
    check(has_one_signer, "wrong-transaction", "Not legacy, or not signed by the authority alone.")
    reader.take(1)
    addresses = [encode_base58(reader.take(32)) for _ in range(_length(reader))]
    is_authority = addresses[:1] == [authority]
    check(is_authority, "wrong-transaction", "Another authority signed the transaction.")
    reader.take(32)
    fields: dict[str, str] = {}
    for _ in range(_length(reader)):
        program, *accounts = (
            addresses[at] if at < len(addresses) else None
            for at in reader.take(1) + reader.take(_length(reader))
        )
        data = reader.take(_length(reader))
        if program == COMPUTE_BUDGET:
            continue
        is_update = program == TOKEN_2022 and data.startswith(UPDATE_FIELD)
        check(is_update, "wrong-transaction", "The transaction does something else.")
        is_own = accounts == [mint, authority]
        check(is_own, "wrong-transaction", "It writes another account, or for another authority.")
        field = Reader(data[len(UPDATE_FIELD) :], "field")
        name, value = field.text(), field.text()
        field.end()
        is_new = name in FIELDS and name not in fields
        check(is_new, "wrong-transaction", "It writes a field twice, or an unknown one.")
        fields[name] = value
    reader.end()
    check(set(fields) == FIELDS, "wrong-transaction", "The transaction does not write all fields.")
    return fields


def _length(reader: Reader) -> int:
    """Reads a length. Every length in an anchoring transaction fits in one byte."""
    length = reader.number(1)
    check(length < 0x80, "malformed", "A length in the transaction takes more than one byte.")
    return length
