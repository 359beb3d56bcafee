# Generated from _async by tools/unasync.py; edit that instead.
from __future__ import annotations

from collections.abc import Iterator, Iterable, Mapping, Sequence
from typing import Any, Literal, cast

from .. import _api as api
from .._errors import APIConnectionError, ProvecError, ServerError
from .._json import json_in
from .._shape import assert_answer
from .._upsert_parts import UpsertParts, listed, starts_of
from .._warning import warn
from .._wire import given
from .import_source import ImportSource, content_of
from .listing import Listing
from .transport import Transport

#: Status of an answer that streams.
OK = 200
#: Maximum bytes of a line of an export: ten times what any record takes.
LINE_MAX_BYTES = 4 * 1024 * 1024
Consistency = Literal["strong", "eventual"]


class Collection:
    """A collection, by its name or an alias. Every method is one operation of `/api/v1`, which
    docs/api.md describes: its fields are keyword arguments, dictionaries are its JSON, and where
    the answer has a single field, the method gives that."""

    def __init__(self, transport: Transport, name: str) -> None:
        self.name = name
        self._transport = transport

    def describe(self) -> api.CollectionDetail:
        """What the collection is, how much it holds, its root and its newest anchor."""
        return cast(api.GetCollectionResult, self._send("getCollection"))["collection"]

    def configure(
        self, *, deletion_protection: bool | None = None, tags: Mapping[str, str] | None = None
    ) -> api.CollectionDetail:
        """Changes what is given, and answers with the collection.

        Args:
            deletion_protection: Whether the collection cannot be deleted.
            tags: Names with a text each, for your own use. They are added to those that are
                there; an empty text removes a tag.
        """
        body = given(deletion_protection=deletion_protection, tags=tags)
        return cast(api.UpdateCollectionResult, self._send("updateCollection", body=body))[
            "collection"
        ]

    def upsert(
        self, records: Iterable[api.Record | Mapping[str, Any]], *, namespace: str = ""
    ) -> api.UpsertResult:
        """Writes records; one that is there is replaced as a whole.

        More than 1,000 records, or more than 48 MiB, go out in several requests, one after
        another. If one of them fails, the records of those before it are stored, and the error
        says how many they are (`stored_count`).

        Args:
            records: Dictionaries of `id`, `values` and, if there is some, `metadata`. If several
                have the same id, the last one wins. All of an iterable is read before the first
                request; `import_records` streams.
            namespace: Namespace of all of them.
        """

        def send(part: Sequence[Any], warns: bool) -> Any:
            body = given(records=part, namespace=namespace)
            return self._send("upsertVectors", body=body, warns=warns)

        whole = listed(records)
        starts = starts_of(whole)
        if len(starts) == 1:
            return cast(api.UpsertResult, send(whole, True))
        parts = UpsertParts(whole, starts)
        for part in parts.unsent():
            try:
                parts.add(send(part, False))
            except ProvecError as error:
                raise parts.error_of(error) from error
        # Programs may turn warnings into exceptions, so all parts are sent before.
        warn(parts.warnings)
        return parts.result()

    def query(
        self,
        *,
        vector: api.Vector | None = None,
        id: str | None = None,
        top_k: int = 10,
        filter: api.Filter | None = None,
        namespace: str = "",
        all_namespaces: bool = False,
        include_values: bool = False,
        include_metadata: bool = True,
        score_threshold: float | None = None,
        exact: bool = False,
        consistency: Consistency = "strong",
        allow_partial: bool = False,
    ) -> api.QueryVectorsResult:
        """Finds the records most similar to a vector or to a record. Give one of the two.

        Args:
            vector: Numbers, as many as the collection has dimensions.
            id: Record whose vector to search near.
            top_k: Maximum number of matches to return.
            filter: What the metadata of all matches has to meet (docs/filters.md).
            namespace: Namespace to search.
            all_namespaces: All namespaces at once, in place of `namespace`.
            include_values: Return the vectors as well.
            include_metadata: Return the metadata as well.
            score_threshold: Only matches with at least this score.
            exact: Compare with every record instead of searching the index.
            consistency: "strong": the answer reflects every write acknowledged before it.
                "eventual": a copy may answer, and it may be behind.
            allow_partial: Answer from the shards that respond within 3 s; `shards` of the answer
                says how many did.
        """
        body = given(
            vector=vector,
            id=id,
            top_k=top_k,
            filter=filter,
            namespace=namespace,
            all_namespaces=all_namespaces or None,
            include_values=include_values,
            include_metadata=include_metadata,
            score_threshold=score_threshold,
            exact=exact,
            consistency=consistency,
            allow_partial=allow_partial,
        )
        return cast(api.QueryVectorsResult, self._send("queryVectors", body=body))

    def query_many(
        self, queries: Sequence[api.Query]
    ) -> Sequence[api.QueryManyResultResults]:
        """The results of up to 100 queries at once, in their order.

        Args:
            queries: Dictionaries of what `query` takes, by the names of docs/api.md: `topK`.
        """
        answer = self._send("queryMany", body={"queries": queries})
        return cast(api.QueryManyResult, answer)["results"]

    def fetch(
        self,
        ids: Sequence[str],
        *,
        namespace: str = "",
        consistency: Consistency = "strong",
    ) -> dict[str, api.StoredRecord]:
        """Records by id, without those that are not there.

        Args:
            ids: Ids of the records.
            namespace: Namespace of all of them.
            consistency: As of `query`.
        """
        body = given(ids=ids, namespace=namespace, consistency=consistency)
        return cast(api.FetchVectorsResult, self._send("fetchVectors", body=body))["vectors"]

    def count(
        self,
        *,
        filter: api.Filter | None = None,
        namespace: str = "",
        all_namespaces: bool = False,
        consistency: Consistency = "strong",
    ) -> int:
        """Number of records that match a filter, or of all of a namespace. Its warnings, such as
        one of a field that no record has, are a `ProvecWarning` each.

        Args:
            filter: Which records to count (docs/filters.md); None: all.
            namespace: Namespace to count in.
            all_namespaces: All namespaces at once, in place of `namespace`.
            consistency: As of `query`.
        """
        body = given(
            filter=filter,
            namespace=namespace,
            all_namespaces=all_namespaces or None,
            consistency=consistency,
        )
        return cast(api.CountRecordsResult, self._send("countRecords", body=body))["count"]

    def facets(
        self,
        field: str,
        *,
        filter: api.Filter | None = None,
        limit: int = 20,
        namespace: str = "",
        all_namespaces: bool = False,
        consistency: Consistency = "strong",
    ) -> api.FacetRecordsResult:
        """How often each value of a metadata field is there, the most frequent first.

        Args:
            field: Field of the metadata, as filters name it: a top-level key, else a dotted path.
            filter: Which records to look at (docs/filters.md); None: all.
            limit: Maximum number of values to return.
            namespace: Namespace to look in.
            all_namespaces: All namespaces at once, in place of `namespace`.
            consistency: As of `query`.
        """
        body = given(
            field=field,
            filter=filter,
            limit=limit,
            namespace=namespace,
            all_namespaces=all_namespaces or None,
            consistency=consistency,
        )
        return cast(api.FacetRecordsResult, self._send("facetRecords", body=body))

    def list(
        self,
        *,
        prefix: str | None = None,
        namespace: str = "",
        all_namespaces: bool = False,
        filter: api.Filter | None = None,
        limit: int = 100,
        cursor: str | None = None,
        include_values: bool = False,
        include_metadata: bool = False,
        consistency: Consistency = "strong",
    ) -> Listing[api.ListRecordsResult, api.ListedRecord]:
        """Records in the order of their ids; iterating asks for one page after another.

        Args:
            prefix: Only records whose ids begin with it, byte for byte.
            namespace: Namespace to list.
            all_namespaces: All namespaces at once, in place of `namespace`.
            filter: Which records to list (docs/filters.md); None: all.
            limit: Maximum number of records of a page.
            cursor: `nextCursor` of the page before the first one.
            include_values: Return the vectors as well.
            include_metadata: Return the metadata as well.
            consistency: As of `query`.
        """
        body = given(
            prefix=prefix,
            namespace=namespace,
            all_namespaces=all_namespaces or None,
            filter=filter,
            limit=limit,
            include_values=include_values,
            include_metadata=include_metadata,
            consistency=consistency,
        )

        def ask(cursor: str | None) -> api.ListRecordsResult:
            page = {**body, **given(cursor=cursor)}
            return cast(api.ListRecordsResult, self._send("listRecords", body=page))

        return Listing(ask, cursor, "records")

    def update(
        self,
        updates: Sequence[api.RecordUpdate] | None = None,
        *,
        filter: api.Filter | None = None,
        set_metadata: Mapping[str, Any] | None = None,
        unset_metadata: Sequence[str] | None = None,
        dry_run: bool = False,
        namespace: str = "",
    ) -> api.UpdateResult:
        """Changes values, and merges into metadata: of the records named, or of all that match.

        Args:
            updates: Dictionaries of `id` and what to change: `values`, `setMetadata`,
                `unsetMetadata`. Records that are not there are left out.
            filter: Instead of `updates`: which records to change (docs/filters.md).
            set_metadata: With `filter`: keys of the metadata to set, each as a whole; None is a
                value.
            unset_metadata: With `filter`: top-level keys of the metadata to remove.
            dry_run: With `filter`: count what would be updated, and update nothing.
            namespace: Namespace of the records.
        """
        body = given(
            updates=updates,
            filter=filter,
            set_metadata=set_metadata,
            unset_metadata=unset_metadata,
            dry_run=dry_run,
            namespace=namespace,
        )
        return cast(api.UpdateResult, self._send("updateRecords", body=body))

    def delete(
        self,
        ids: Sequence[str] | None = None,
        *,
        filter: api.Filter | None = None,
        all: bool = False,
        dry_run: bool = False,
        namespace: str = "",
        all_namespaces: bool = False,
    ) -> api.DeleteResult:
        """Deletes records by id, all that match a filter, or all of a namespace.

        Args:
            ids: Ids of the records.
            filter: Instead of `ids`: which records to delete (docs/filters.md).
            all: Instead of `ids`: delete all records of the namespace.
            dry_run: Count what would be deleted, and delete nothing.
            namespace: Namespace of the records.
            all_namespaces: All namespaces at once, in place of `namespace`.
        """
        body = given(
            ids=ids,
            filter=filter,
            all=all or None,
            dry_run=dry_run,
            namespace=namespace,
            all_namespaces=all_namespaces or None,
        )
        return cast(api.DeleteResult, self._send("deleteVectors", body=body))

    def list_namespaces(
        self, *, prefix: str | None = None, limit: int = 100, cursor: str | None = None
    ) -> Listing[api.ListNamespacesResult, api.ListNamespacesResultNamespaces]:
        """Namespaces that hold records, by name.

        Args:
            prefix: Only names that begin so.
            limit: Maximum number of namespaces of a page.
            cursor: `nextCursor` of the page before the first one.
        """

        def ask(cursor: str | None) -> api.ListNamespacesResult:
            query = given(prefix=prefix, limit=limit, cursor=cursor)
            return cast(api.ListNamespacesResult, self._send("listNamespaces", query=query))

        return Listing(ask, cursor, "namespaces")

    def delete_namespace(self, namespace: str) -> api.DeleteResult:
        """Deletes all records of a namespace.

        Args:
            namespace: Its name. The default namespace has none: `delete(all=True)` empties it.
        """
        names = {"name": self.name, "namespace": namespace}
        return cast(api.DeleteResult, self._transport.send("deleteNamespace", names))

    def export(self) -> Iterator[api.ExportedRecord]:
        """All records in one state, as they stream in; a ProvecError unless all came."""
        is_whole = False
        for line in self.export_lines():
            said = _line(line)
            if "end" in said:
                is_whole = True
            elif "export" not in said:
                yield said
        if not is_whole:
            raise APIConnectionError("The export was cut off: it has no end.")

    def export_lines(self) -> Iterator[str]:
        """The same as lines without their ends, for `verify_export` or to be kept: the head, the
        records, the end."""
        with self._transport.open("exportRecords", {"name": self.name}) as chunks:
            begun = b""
            for chunk in chunks:
                *lines, begun = (begun + chunk).split(b"\n")
                if len(begun) > LINE_MAX_BYTES:
                    error = f"The export has a line of more than {LINE_MAX_BYTES} bytes."
                    raise ServerError({"error": error, "status": OK})
                for line in lines:
                    yield line.decode(errors="replace")
            if begun:
                yield begun.decode(errors="replace")

    def import_records(self, source: ImportSource) -> api.ImportRecordsResult:
        """Writes any number of records. Those before one that is refused, or before the connection
        broke, are stored; sent again as a whole, an import replaces them with the same.

        Args:
            source: Records or whole lines; NDJSON as bytes, as a file that is open in binary mode,
                or as a `pathlib.Path`. Only an import of bytes or a path is tried again.
        """
        make, is_repeatable = content_of(source)
        answer = self._transport.send_lines(
            "importRecords", {"name": self.name}, make, is_repeatable
        )
        return cast(api.ImportRecordsResult, answer)

    def verify(self) -> api.VerifyResult:
        """Recomputes the root from what is stored and compares it with the ledger."""
        return cast(api.VerifyResult, self._send("verifyCollection"))

    def start_verification(self) -> api.Verification:
        """Starts the same in the background, for a collection that takes minutes."""
        return cast(api.Verification, self._send("beginVerification"))

    def get_verification(self, id: str) -> api.Verification:
        """How far a verification is, and its verdict.

        Args:
            id: As `start_verification` has it.
        """
        names = {"name": self.name, "id": id}
        return cast(api.Verification, self._transport.send("getVerification", names))

    def proof(self, id: str, *, namespace: str = "") -> api.RecordProof:
        """A proof that a record is there or is not, for `verify_proof` or `verify_on_ledger`.

        Args:
            id: Record to prove.
            namespace: Its namespace.
        """
        query = given(id=id, namespace=namespace)
        return cast(api.ProveRecordResult, self._send("proveRecord", query=query))["proof"]

    def list_anchors(
        self, *, limit: int = 100, cursor: str | None = None
    ) -> Listing[api.ListAnchorsResult, api.Anchor]:
        """Roots on the ledger, the newest first.

        Args:
            limit: Maximum number of roots of a page.
            cursor: `nextCursor` of the page before the first one.
        """

        def ask(cursor: str | None) -> api.ListAnchorsResult:
            query = given(limit=limit, cursor=cursor)
            return cast(api.ListAnchorsResult, self._send("listAnchors", query=query))

        return Listing(ask, cursor, "anchors")

    def _send(self, operation: str, **parts: Any) -> Any:
        return self._transport.send(operation, {"name": self.name}, **parts)


def _line(line: str) -> Any:
    """Raises a ProvecError for a value that is not a line of an export."""
    try:
        said = json_in(line)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise APIConnectionError("The export was cut off, or has a line that is not a JSON object.")
    assert_answer("exportRecords", said, OK)
    return said
