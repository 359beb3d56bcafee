"""Address and content of a collection's account on the ledger (docs/format.md, 5 and 6)."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, NamedTuple

from .base58 import decode_base58, encode_base58
from .content import sha256
from .errors import VerificationError, check
from .reader import Reader
from .shape import WHOLE_MAX, is_hash, is_uuid, matches

if TYPE_CHECKING:
    from .transaction import AnchoringTransaction

TOKEN_2022 = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"
#: Layout of a Token-2022 mint: end of its fields, start of its extensions, maximum size.
MINT_BYTES, EXTENSIONS_AT, ACCOUNT_BYTES_MAX = 82, 166, 1024
METADATA = b"\x13\0"


class Anchor(NamedTuple):
    """Content of a collection's account."""

    merkle_root: str
    version: int
    vector_count: int
    #: Number of decisions that overrode the account, such as an operator accepting the stored
    #: records as correct. Never decreases.
    decisions: int
    #: The transaction that anchored the proof's root; None if that is the account's current root.
    transaction: AnchoringTransaction | None = None


def decode_address(text: str) -> bytes:
    """Decodes a ledger address. Raises VerificationError if it is invalid."""
    data = decode_base58(text, 32)
    if data is None:
        raise VerificationError("malformed", "The authority is not a ledger address.")
    return data


def collection_address(authority: str, collection_id: str) -> str:
    """Returns the address of a collection's account. Raises VerificationError if the authority is
    not an address or the id is not a UUID."""
    check(is_uuid(collection_id), "malformed", "The collection id is not a lower-case UUID.")
    digest = sha256(b"PV1col\0", bytes.fromhex(collection_id.replace("-", "")))
    seed = base64.urlsafe_b64encode(digest[:24])
    return encode_base58(sha256(decode_address(authority), seed, decode_address(TOKEN_2022)))


def verify_account(owner: str, data: bytes, *, authority: str, collection_id: str) -> Anchor:
    """Returns the content of the account at `collection_address`. Raises VerificationError unless
    only `authority` can have written it. `data`: its bytes, from a node of the ledger."""
    check(owner == TOKEN_2022, "wrong-account", "The account is not owned by Token-2022.")
    is_sized = EXTENSIONS_AT <= len(data) <= ACCOUNT_BYTES_MAX
    check(is_sized, "malformed", "The account has a wrong size.")
    is_mint = data[165] == 1 and data[45] == 1 and not any(data[MINT_BYTES:165])
    check(is_mint, "wrong-account", "The account is not a mint.")
    metadata = Reader(_extensions(data[EXTENSIONS_AT:]).get(METADATA, b""), "account")
    is_authority = metadata.take(32) == decode_address(authority)
    check(is_authority, "wrong-account", "Another address may write the account.")
    is_own = metadata.take(32) == decode_address(collection_address(authority, collection_id))
    check(is_own, "wrong-account", "The metadata is that of another mint.")
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
    check(is_number, "malformed", "A number of the account is not 20 digits.")
    return int(str(digits))


def _extensions(data: bytes) -> dict[bytes, bytes]:
    reader, entries = Reader(data, "account"), dict[bytes, bytes]()
    while any(kind := reader.rest(2)):
        check(kind not in entries, "malformed", "An extension occurs twice.")
        entries[kind] = reader.take(reader.number(2))
    check(not any(reader.rest()), "malformed", "Bytes are left over after the extensions.")
    check(METADATA in entries, "wrong-account", "The mint has no metadata.")
    return entries


def _fields(reader: Reader) -> dict[str, str]:
    """Reads the additional fields, which follow name, symbol and URI."""
    for _ in ("name", "symbol", "uri"):
        reader.text()
    fields: dict[str, str] = {}
    for _ in range(reader.number(4)):
        field = reader.text()
        check(field not in fields, "malformed", "A field of the account occurs twice.")
        fields[field] = reader.text()
    reader.end()
    return fields
