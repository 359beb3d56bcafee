"""Checks a proof of presence or absence offline (docs/format.md, 4). Unless SHA-256 is broken, a
verdict is true for the set of records behind the root, whatever the server sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from .._json import json_of
from .content import EMPTY, bit, inner_hash, key_hash, leaf_hash, meta_hash, vec_hash
from .errors import VerificationError, check
from .json_text import parse
from .shape import PARTS, checked, is_hash


def verify_proof(
    root: str,
    proof: Mapping[str, Any],
    *,
    id: str | None = None,
    namespace: str | None = None,
    values: Sequence[float] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Literal["present", "absent"]:
    """Returns whether the record of `proof["id"]` was in the collection when its root was `root`
    (64 hex digits). Raises VerificationError (`wrong-content`) if a given part of the record
    differs. With an `id`, `namespace` defaults to the default namespace. Without `values` and
    `metadata`, "present" means only that the id had a record. Raises ValueError or TypeError if a
    given part is invalid."""
    # Converts like an upsert does: numpy arrays and tuples become lists.
    vec = None if values is None else vec_hash(parse(json_of(values).decode()))
    meta = None if metadata is None else meta_hash(parse(json_of(metadata).decode()))
    if id is not None and namespace is None:
        namespace = ""
    whole = checked(proof)
    check(is_hash(root), "malformed", "root is not 64 lower-case hex digits.")
    check(whole["merkleRoot"] == root, "wrong-root", "The proof is about another root.")
    check(id in (None, whole["id"]), "wrong-content", "The proof is about another id.")
    is_same = namespace in (None, whole["namespace"])
    check(is_same, "wrong-content", "The proof is about another namespace.")
    content = _content_under(root, whole)
    is_present = content is not None
    if content is not None:
        check(vec in (None, content[0]), "wrong-content", "The record has other values.")
        check(meta in (None, content[1]), "wrong-content", "The record has other metadata.")
    elif vec is not None or meta is not None:
        raise VerificationError("wrong-content", "There is no record of that id.")
    opposite = "The proof shows the opposite of what it claims."
    check(whole["present"] == is_present, "malformed", opposite)
    return "present" if is_present else "absent"


def _content_under(root: str, proof: Mapping[str, Any]) -> tuple[bytes, bytes] | None:
    """Returns the hashes of the record's values and metadata, or None if it is absent."""
    key = key_hash(proof["id"], proof["namespace"])
    siblings = [bytes.fromhex(sibling) for sibling in proof["siblings"]]
    goes_on = bool(siblings) and siblings[-1] == EMPTY
    check(not goes_on, "not-canonical", "The path continues below a subtree of at most one record.")
    current, content = EMPTY, None
    if proof["terminal"] is not None:
        end_key, vec, meta = (bytes.fromhex(proof["terminal"][part]) for part in PARTS)
        is_beside = any(bit(end_key, depth) != bit(key, depth) for depth in range(len(siblings)))
        check(not is_beside, "not-canonical", "The path ends at a record beside it.")
        current = leaf_hash(end_key, vec, meta)
        content = (vec, meta) if end_key == key else None
    for depth in reversed(range(len(siblings))):
        pair = (siblings[depth], current) if bit(key, depth) else (current, siblings[depth])
        current = inner_hash(*pair)
    check(current.hex() == root, "wrong-root", "The path does not lead to the root.")
    return content
