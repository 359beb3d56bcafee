"""A collection's account on the ledger: its address, and what it says (docs/format.md, 5 and 6)."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, NamedTuple

from .base58 import decode_base58, encode_base58
from .content import sha256
from .errors import VerificationError, demand
from .reader import Reader
from .shape import WHOLE_MAX, is_hash, is_uuid, matches

if TYPE_CHECKING:
    from .transaction import AnchoringTransaction

TOKEN_2022 = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"
#: Where Token-2022 has what: a mint's fields end, its extensions begin.
MINT_BYTES, EXTENSIONS_AT, ACCOUNT_BYTES_MAX = 82, 166, 1024
METADATA = b"\x13\0"


class Anchor(NamedTuple):
    """What a collection's account says of it."""

    merkle_root: str
    version: int
    vector_count: int
    #: Counts what was decided over the account's head, as when an operator takes what is stored
    #: for right; it only grows.
    decisions: int
    #: The transaction that anchored a proof, if the account has moved on since.
    transaction: AnchoringTransaction | None = None


def decode_address(text: str) -> bytes:
    """Raises VerificationError for what is no address."""
    data = decode_base58(text, 32)
    if data is None:
        raise VerificationError("malformed", "The authority is not a ledger address.")
    return data


def collection_address(authority: str, collection_id: str) -> str:
    """Where the account of a collection is. Raises VerificationError for what is no address or
    UUID."""
    demand(is_uuid(collection_id), "malformed", "The collection id is not a lower-case UUID.")
    digest = sha256(b"PV1col\0", bytes.fromhex(collection_id.replace("-", "")))
    seed = base64.urlsafe_b64encode(digest[:24])
    return encode_base58(sha256(decode_address(authority), seed, decode_address(TOKEN_2022)))


def verify_account(owner: str, data: bytes, *, authority: str, collection_id: str) -> Anchor:
    """What the account at `collection_address` says, if only `authority` can have written it.
    `data`: its bytes, from a node of the ledger. Raises VerificationError."""
    demand(owner == TOKEN_2022, "wrong-account", "The account is not Token-2022's.")
    is_sized = EXTENSIONS_AT <= len(data) <= ACCOUNT_BYTES_MAX
    demand(is_sized, "malformed", "The account has a wrong size.")
    is_mint = data[165] == 1 and data[45] == 1 and not any(data[MINT_BYTES:165])
    demand(is_mint, "wrong-account", "The account is no mint.")
    metadata = Reader(_extensions(data[EXTENSIONS_AT:]).get(METADATA, b""), "account")
    is_authority = metadata.take(32) == decode_address(authority)
    demand(is_authority, "wrong-account", "Another address may write the account.")
    is_own = metadata.take(32) == decode_address(collection_address(authority, collection_id))
    demand(is_own, "wrong-account", "The metadata is that of another mint.")
    fields = _fields(metadata)
    root = fields.get("merkleRoot")
    if not is_hash(root):
        raise VerificationError("malformed", "The account has no root.")
    version, count, decisions = (
        _number(fields.get(name)) for name in ("version", "vectorCount", "decisions")
    )
    return Anchor(str(root), version, count, decisions)


def _number(digits: str | None) -> int:
    is_number = matches("[0-9]{20}", digits) and int(str(digits)) <= WHOLE_MAX
    demand(is_number, "malformed", "A number of the account is not 20 digits.")
    return int(str(digits))


def _extensions(data: bytes) -> dict[bytes, bytes]:
    reader, entries = Reader(data, "account"), dict[bytes, bytes]()
    while any(kind := reader.rest(2)):
        demand(kind not in entries, "malformed", "An extension occurs twice.")
        entries[kind] = reader.take(reader.number(2))
    demand(not any(reader.rest()), "malformed", "Bytes are left over behind the extensions.")
    demand(METADATA in entries, "wrong-account", "The mint has no metadata.")
    return entries


def _fields(reader: Reader) -> dict[str, str]:
    """The additional metadata, after name, symbol and URI."""
    for _ in ("name", "symbol", "uri"):
        reader.text()
    fields: dict[str, str] = {}
    for _ in range(reader.number(4)):
        field = reader.text()
        demand(field not in fields, "malformed", "A field of the account occurs twice.")
        fields[field] = reader.text()
    reader.end()
    return fields
