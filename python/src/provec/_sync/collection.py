# Generated from _async by tools/unasync.py; edit that instead.
from __future__ import annotations

from collections.abc import Iterator, Iterable, Mapping, Sequence
from typing import Any, Literal, cast

from .. import _api as api
from .._errors import ProvecError, ServerError
from .._export_frame import LINE_MAX_BYTES, NDJSON_TYPE, OK, ExportFrame, export_line
from .._upsert_parts import UpsertParts, listed, starts_of
from .._warning import warn
from .._wire import given
from .import_source import ImportSource, content_of
from .listing import Listing
from .transport import Transport

Consistency = Literal["strong", "eventual"]


class Collection:
    """A collection, addressed by its name or an alias. Each method performs one operation of
    `/api/v1` (docs/api.md). The operation's fields are keyword arguments; dictionaries have the
    form of its JSON. If the answer has a single field, the method returns that field."""

    def __init__(self, transport: Transport, name: str) -> None:
        self.name = name
        self._transport = transport

    def describe(self) -> api.CollectionDetail:
        """Returns the collection's settings, size, root and newest anchor."""
        return cast(api.GetCollectionResult, self._send("getCollection"))["collection"]

    def configure(
        self, *, deletion_protection: bool | None = None, tags: Mapping[str, str] | None = None
    ) -> api.CollectionDetail:
        """Changes the given settings, and returns the collection.

        Args:
            deletion_protection: Whether the collection cannot be deleted.
            tags: Tags to add or replace, each a name and a text, for your own use. An empty text
                removes a tag.
        """
        body = given(deletion_protection=deletion_protection, tags=tags)
        return cast(api.UpdateCollectionResult, self._send("updateCollection", body=body))[
            "collection"
        ]

    def upsert(
        self,
        records: Iterable[api.Record | Mapping[str, Any]],
        *,
        namespace: str = "",
        wait_for_anchor: bool = True,
    ) -> api.UpsertResult:
        """Writes records. A record that exists is replaced as a whole.

        More than 1,000 records, or more than 48 MiB, are sent in several requests, one after
        another. Only the last one waits for its anchor, which covers the others. If a request
        fails, the earlier ones are stored, and the error's `stored_count` is the number of their
        records.

        Args:
            records: Dictionaries with `id`, `values` and, optionally, `metadata`. If several have
                the same id, the last one wins. An iterable is read to its end before the first
                request; to stream one, use `import_records`.
            namespace: Namespace of all records.
            wait_for_anchor: Whether to wait briefly until the new root is on the ledger.
        """

        def send(part: Sequence[Any], warns: bool, waits: bool = wait_for_anchor) -> Any:
            waiting = None if waits else False
            body = given(records=part, namespace=namespace, wait_for_anchor=waiting)
            return self._send("upsertVectors", body=body, warns=warns)

        whole = listed(records)
        starts = starts_of(whole)
        if len(starts) == 1:
            return cast(api.UpsertResult, send(whole, True))
        parts = UpsertParts(whole, starts)
        for part, is_last in parts.unsent():
            try:
                parts.add(send(part, False, is_last and wait_for_anchor))
            except ProvecError as error:
                raise parts.error_of(error) from error
        # Warnings come after all parts, since programs may turn them into exceptions.
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
        """Finds the records most similar to a vector or to a record. Give either `vector` or `id`.

        Args:
            vector: Vector to search near, with as many numbers as the collection has dimensions.
            id: Id of the record whose vector to search near.
            top_k: Maximum number of matches to return.
            filter: Filter that all matches must satisfy (docs/filters.md).
            namespace: Namespace to search.
            all_namespaces: Search all namespaces instead of `namespace`.
            include_values: Return the vectors as well.
            include_metadata: Return the metadata as well.
            score_threshold: Minimum score of a match.
            exact: Compare with every record instead of searching the index.
            consistency: "strong": the answer reflects every write acknowledged before it.
                "eventual": a copy may answer, and it may be behind.
            allow_partial: Answer from the shards that respond within 3 s. `shards` of the answer
                has their number.
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
        """Runs up to 100 queries in one request; the results have the order of the queries.

        Args:
            queries: Dictionaries with the arguments of `query`, named as in docs/api.md (`topK`).
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
        """Returns records by id; ids without a record are left out.

        Args:
            ids: Ids of the records.
            namespace: Namespace of the records.
            consistency: As in `query`.
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
        """Counts the records that match a filter, or all records of a namespace. Each warning, for
        example about a field that no record has, is issued as a `ProvecWarning`.

        Args:
            filter: Records to count (docs/filters.md); None for all.
            namespace: Namespace to count in.
            all_namespaces: Count in all namespaces instead of `namespace`.
            consistency: As in `query`.
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
        """Counts the records for each value of a metadata field, most frequent first.

        Args:
            field: Field of the metadata, as filters name it: a top-level key, else a dotted path.
            filter: Records to count (docs/filters.md); None for all.
            limit: Maximum number of values to return.
            namespace: Namespace to count in.
            all_namespaces: Count in all namespaces instead of `namespace`.
            consistency: As in `query`.
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
        """Lists records in the order of their ids. Iterating requests one page after another.

        Args:
            prefix: List only records whose ids begin with these bytes.
            namespace: Namespace to list.
            all_namespaces: List all namespaces instead of `namespace`.
            filter: Records to list (docs/filters.md); None for all.
            limit: Maximum number of records per page.
            cursor: `nextCursor` of a page, to start at the page after it.
            include_values: Return the vectors as well.
            include_metadata: Return the metadata as well.
            consistency: As in `query`.
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
        """Replaces vectors and changes keys of the metadata, by id or for all matches of a filter.

        Args:
            updates: Dictionaries with `id` and the changes: `values`, `setMetadata`,
                `unsetMetadata`. Records that do not exist are skipped.
            filter: Records to change (docs/filters.md), instead of `updates`.
            set_metadata: With `filter`: keys of the metadata to set, each to a whole new value.
                None is a value.
            unset_metadata: With `filter`: top-level keys of the metadata to remove.
            dry_run: With `filter`: count the records that would be updated, without updating them.
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
        """Deletes records by id, by filter, or all records of a namespace.

        Args:
            ids: Ids of the records.
            filter: Records to delete (docs/filters.md), instead of `ids`.
            all: Delete all records of the namespace, instead of `ids`.
            dry_run: Count the records that would be deleted, without deleting them.
            namespace: Namespace of the records.
            all_namespaces: Delete in all namespaces instead of `namespace`.
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
        """Lists the namespaces that hold records, in the order of their names.

        Args:
            prefix: List only names that begin with this text.
            limit: Maximum number of namespaces per page.
            cursor: `nextCursor` of a page, to start at the page after it.
        """

        def ask(cursor: str | None) -> api.ListNamespacesResult:
            query = given(prefix=prefix, limit=limit, cursor=cursor)
            return cast(api.ListNamespacesResult, self._send("listNamespaces", query=query))

        return Listing(ask, cursor, "namespaces")

    def delete_namespace(self, namespace: str) -> api.DeleteResult:
        """Deletes all records of a namespace.

        Args:
            namespace: Name of the namespace. The default one has no name; empty it with
                `delete(all=True)`.
        """
        names = {"name": self.name, "namespace": namespace}
        return cast(api.DeleteResult, self._transport.send("deleteNamespace", names))

    def export(self) -> Iterator[api.ExportedRecord]:
        """Streams all records, as of one state of the collection. Raises ProvecError if the export
        is incomplete."""
        for line in self.export_lines():
            said = export_line(line)
            if "end" not in said and "export" not in said:
                yield said

    def export_lines(self) -> Iterator[str]:
        """Streams an export as lines without line breaks, to store or for `verify_export`: the
        head, the records, the end. Raises ProvecError if the head or the end is missing."""
        frame = ExportFrame()
        names = {"name": self.name}
        with self._transport.open("exportRecords", names, NDJSON_TYPE) as chunks:
            begun = b""
            for chunk in chunks:
                *lines, begun = (begun + chunk).split(b"\n")
                if len(begun) > LINE_MAX_BYTES:
                    error = f"The export has a line of more than {LINE_MAX_BYTES} bytes."
                    raise ServerError({"error": error, "status": OK})
                for line in lines:
                    yield frame.taken(line.decode(errors="replace"))
            if begun:
                yield frame.taken(begun.decode(errors="replace"))
        frame.end()

    def import_records(self, source: ImportSource) -> api.ImportRecordsResult:
        """Writes any number of records. If a record is refused or the connection breaks, the
        records before that point are stored. Importing everything again replaces them with the
        same records.

        Args:
            source: Records or whole lines; NDJSON as bytes, as a file open in binary mode, or as a
                `pathlib.Path`. Only imports of bytes or a path are retried.
        """
        make, is_repeatable = content_of(source)
        answer = self._transport.send_lines(
            "importRecords", {"name": self.name}, make, is_repeatable
        )
        return cast(api.ImportRecordsResult, answer)

    def memory(self) -> api.GetMemoryResult:
        """Returns how much memory and disk each shard takes. Opens no shard."""
        return cast(api.GetMemoryResult, self._send("getMemory"))

    def verify(self) -> api.VerifyResult:
        """Recomputes the root from the stored records and compares it with the ledger."""
        return cast(api.VerifyResult, self._send("verifyCollection"))

    def start_verification(self) -> api.Verification:
        """Starts a verification in the background, for a collection that takes minutes."""
        return cast(api.Verification, self._send("beginVerification"))

    def get_verification(self, id: str) -> api.Verification:
        """Returns the progress of a verification, and its verdict once it is done.

        Args:
            id: `id` in the result of `start_verification`.
        """
        names = {"name": self.name, "id": id}
        return cast(api.Verification, self._transport.send("getVerification", names))

    def proof(self, id: str, *, namespace: str = "") -> api.RecordProof:
        """Returns a proof that a record is present or absent, for `verify_proof` or
        `verify_on_ledger`.

        Args:
            id: Id of the record.
            namespace: Namespace of the record.
        """
        query = given(id=id, namespace=namespace)
        return cast(api.ProveRecordResult, self._send("proveRecord", query=query))["proof"]

    def list_anchors(
        self, *, limit: int = 100, cursor: str | None = None
    ) -> Listing[api.ListAnchorsResult, api.Anchor]:
        """Lists the roots on the ledger, newest first.

        Args:
            limit: Maximum number of roots per page.
            cursor: `nextCursor` of a page, to start at the page after it.
        """

        def ask(cursor: str | None) -> api.ListAnchorsResult:
            query = given(limit=limit, cursor=cursor)
            return cast(api.ListAnchorsResult, self._send("listAnchors", query=query))

        return Listing(ask, cursor, "anchors")

    def create_audit_link(
        self, *, label: str | None = None, expires_at: str | None = None
    ) -> api.NewAuditLink:
        """Creates a link that shows the roots to anyone who has it. Only this answer has its token.

        Args:
            label: Shown to everyone who has the link.
            expires_at: Time at which the link ends, in ISO 8601 with an offset; None for never.
        """
        body = {
            **({} if label is None else {"label": label}),
            **({} if expires_at is None else {"expiresAt": expires_at}),
        }
        answer = self._send("createAuditLink", body=body)
        return cast(api.CreateAuditLinkResult, answer)["link"]

    def list_audit_links(self) -> Sequence[api.AuditLink]:
        """Lists the audit links, newest first, without their tokens."""
        return cast(api.ListAuditLinksResult, self._send("listAuditLinks"))["links"]

    def revoke_audit_link(self, id: str) -> None:
        """Revokes the audit link with this id."""
        self._transport.send("revokeAuditLink", {"name": self.name, "id": id})

    def _send(self, operation: str, **parts: Any) -> Any:
        return self._transport.send(operation, {"name": self.name}, **parts)
