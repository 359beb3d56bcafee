"""Checks an export. It needs no proof, since its records give the root."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Mapping
from typing import Any, NamedTuple

from .content import EMPTY, bit, inner_hash, key_hash, leaf_hash, meta_hash, vec_hash
from .errors import VerificationError, check
from .json_text import RepeatedKey, parse_once
from .shape import is_hash, is_uuid, is_whole

HEAD_FIELDS = {
    "collectionId",
    "name",
    "dimensions",
    "metric",
    "version",
    "merkleRoot",
    "vectorCount",
}
END_FIELDS = {"count", "merkleRoot"}
RECORD_FIELDS = {"id", "values", "metadata", "namespace"}


class VerifiedExport(NamedTuple):
    """What an export states about its collection. `verify_export` says which fields it verifies."""

    collection_id: str
    #: Not unique: while several shards are written, states with different roots can share it.
    version: int
    #: Compare it with the roots on the ledger, ignoring versions.
    merkle_root: str
    vector_count: int


def verify_export(lines: Iterable[str]) -> VerifiedExport:
    """Computes the root of an export (from `export_lines()` or a file) from its records alone.
    Raises VerificationError if the export names another root, was cut off, or has an invalid line,
    for example one with an unknown field or a repeated key.

    `collectionId`, `name`, `dimensions`, `metric` and `version` of the first line are not verified:
    compare the id with the one whose account has the root."""
    export = _ExportReader()
    for line in lines:
        export.take(line)
    return export.result()


async def verify_export_async(lines: AsyncIterable[str]) -> VerifiedExport:
    """Same as `verify_export`, for an asynchronous iterable of lines."""
    export = _ExportReader()
    async for line in lines:
        export.take(line)
    return export.result()


class _ExportReader:
    def __init__(self) -> None:
        self._number = 0
        self._records = RecordSet()
        self._head: dict[str, Any] | None = None
        self._end: dict[str, Any] | None = None

    def take(self, line: str) -> None:
        self._number += 1
        place = f"Line {self._number}"
        if line.strip() == "":
            return
        check(self._end is None, "malformed", "The export continues after its end.")
        said = _object(line, place)
        if self._head is None:
            self._head = _part(said, "export", HEAD_FIELDS, place)
            _check_head(self._head)
        elif "end" in said:
            self._end = _part(said, "end", END_FIELDS, place)
        else:
            _add(self._records, said, place)

    def result(self) -> VerifiedExport:
        head, end, count = self._head, self._end, len(self._records)
        if head is None or end is None:
            raise VerificationError("malformed", "The export was cut off: it has no end.")
        is_count = head["vectorCount"] == end.get("count") == count
        other_count = f"The export has {count} records, which is not the number that it states."
        check(is_count, "wrong-content", other_count)
        root = self._records.root()
        is_root = root == head["merkleRoot"] == end.get("merkleRoot")
        check(is_root, "wrong-root", "The records do not give the root.")
        return VerifiedExport(head["collectionId"], int(head["version"]), root, count)


def _check_head(head: dict[str, Any]) -> None:
    is_sound = is_uuid(head.get("collectionId")) and is_hash(head.get("merkleRoot"))
    is_sound = is_sound and is_whole(head.get("version")) and is_whole(head.get("vectorCount"))
    check(is_sound, "malformed", "The first line is not the head of an export.")


def root_of_records(records: Iterable[Mapping[str, Any]]) -> str:
    """Returns the root (64 hex digits) of a collection with exactly these records (`id`, `values`,
    `metadata`, `namespace`), in any order. Raises ValueError or TypeError for an invalid record,
    and for an id that occurs twice in a namespace."""
    found = RecordSet()
    for record in records:
        found.add(record)
    return found.root()


class RecordSet:
    """Set of records. Keeps only their hashes."""

    def __init__(self) -> None:
        self._leaves: dict[bytes, bytes] = {}

    def __len__(self) -> int:
        return len(self._leaves)

    def add(self, record: Mapping[str, Any]) -> None:
        id, namespace = record["id"], record.get("namespace", "")
        if not isinstance(id, str) or not isinstance(namespace, str) or id == "":
            raise TypeError("id must be text")
        key = key_hash(id, namespace)
        if key in self._leaves:
            raise ValueError(f"the record {id!r} occurs twice")
        self._leaves[key] = leaf_hash(
            key, vec_hash(record["values"]), meta_hash(record.get("metadata", {}))
        )

    def root(self) -> str:
        return _subtree(sorted(self._leaves.items()), 0).hex() if self._leaves else EMPTY.hex()


def _subtree(leaves: list[tuple[bytes, bytes]], depth: int) -> bytes:
    if len(leaves) == 1:
        return leaves[0][1]
    left = [leaf for leaf in leaves if not bit(leaf[0], depth)]
    right = leaves[len(left) :]
    return inner_hash(*(_subtree(half, depth + 1) if half else EMPTY for half in (left, right)))


def _object(line: str, place: str) -> dict[str, Any]:
    try:
        said = parse_once(line)
    except RepeatedKey:
        raise VerificationError("malformed", f"{place} has a key twice in one object.") from None
    except (ValueError, RecursionError):
        raise VerificationError("malformed", f"{place} is not JSON.") from None
    if not isinstance(said, dict):
        raise VerificationError("malformed", f"{place} is not an object.")
    return said


def _part(said: dict[str, Any], name: str, known: set[str], place: str) -> dict[str, Any]:
    part = said.get(name)
    if not isinstance(part, dict):
        raise VerificationError("malformed", f"{place} is not the {name} line of an export.")
    _refuse_others(said, {name}, place)
    _refuse_others(part, known, place)
    return part


def _refuse_others(said: dict[str, Any], known: set[str], place: str) -> None:
    """Refuses unknown fields: the root does not cover them, but later readers may rely on them."""
    others = sorted(set(said) - known)
    check(not others, "malformed", f"{place} has an unknown field: {others!r}.")


def _add(records: RecordSet, said: dict[str, Any], place: str) -> None:
    _refuse_others(said, RECORD_FIELDS, place)
    try:
        records.add(said)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise VerificationError("malformed", f"{place} is not a record: {error}") from None
