from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal, cast

from .. import _api as api
from .._errors import APIConnectionError
from .._json import json_in
from .._shape import assert_answer
from .._wire import given
from .import_source import AsyncImportSource, content_of
from .listing import AsyncListing
from .transport import AsyncTransport

#: Status of an answer that streams.
OK = 200
Consistency = Literal["strong", "eventual"]


class AsyncCollection:
    """A collection, by its name or an alias. Every method is one operation of `/api/v1`, which
    docs/api.md describes: its fields are keyword arguments, dictionaries are its JSON, and where
    the answer has a single field, the method gives that."""

    def __init__(self, transport: AsyncTransport, name: str) -> None:
        self.name = name
        self._transport = transport

    async def describe(self) -> api.CollectionDetail:
        """What it is, how much it holds, its root and its newest anchor."""
        return cast(api.GetCollectionResult, await self._send("getCollection"))["collection"]

    async def configure(
        self, *, deletion_protection: bool | None = None, tags: Mapping[str, str] | None = None
    ) -> api.CollectionDetail:
        body = given(deletion_protection=deletion_protection, tags=tags)
        return cast(api.UpdateCollectionResult, await self._send("updateCollection", body=body))[
            "collection"
        ]

    async def upsert(
        self, records: Sequence[api.Record | Mapping[str, Any]], *, namespace: str | None = None
    ) -> api.UpsertResult:
        """Writes up to 1,000 records; one that is there is replaced as a whole."""
        body = given(records=records, namespace=namespace)
        return cast(api.UpsertResult, await self._send("upsertVectors", body=body))

    async def query(
        self,
        *,
        vector: api.Vector | None = None,
        id: str | None = None,
        top_k: int | None = None,
        filter: api.Filter | None = None,
        namespace: str | None = None,
        all_namespaces: bool | None = None,
        include_values: bool | None = None,
        include_metadata: bool | None = None,
        score_threshold: float | None = None,
        exact: bool | None = None,
        consistency: Consistency | None = None,
        allow_partial: bool | None = None,
    ) -> api.QueryVectorsResult:
        """The records most similar to a vector or to a record."""
        body = given(
            vector=vector,
            id=id,
            top_k=top_k,
            filter=filter,
            namespace=namespace,
            all_namespaces=all_namespaces,
            include_values=include_values,
            include_metadata=include_metadata,
            score_threshold=score_threshold,
            exact=exact,
            consistency=consistency,
            allow_partial=allow_partial,
        )
        return cast(api.QueryVectorsResult, await self._send("queryVectors", body=body))

    async def query_many(
        self, queries: Sequence[api.Query]
    ) -> Sequence[api.QueryManyResultResults]:
        """The results of up to 100 queries at once, in their order."""
        answer = await self._send("queryMany", body={"queries": queries})
        return cast(api.QueryManyResult, answer)["results"]

    async def fetch(
        self,
        ids: Sequence[str],
        *,
        namespace: str | None = None,
        consistency: Consistency | None = None,
    ) -> dict[str, api.StoredRecord]:
        """Records by id, without those that are not there."""
        body = given(ids=ids, namespace=namespace, consistency=consistency)
        return cast(api.FetchVectorsResult, await self._send("fetchVectors", body=body))["vectors"]

    async def count(
        self,
        *,
        filter: api.Filter | None = None,
        namespace: str | None = None,
        all_namespaces: bool | None = None,
        consistency: Consistency | None = None,
    ) -> int:
        body = given(
            filter=filter,
            namespace=namespace,
            all_namespaces=all_namespaces,
            consistency=consistency,
        )
        return cast(api.CountRecordsResult, await self._send("countRecords", body=body))["count"]

    async def facets(
        self,
        field: str,
        *,
        filter: api.Filter | None = None,
        limit: int | None = None,
        namespace: str | None = None,
        all_namespaces: bool | None = None,
        consistency: Consistency | None = None,
    ) -> api.FacetRecordsResult:
        """How often each value of a metadata field is there."""
        body = given(
            field=field,
            filter=filter,
            limit=limit,
            namespace=namespace,
            all_namespaces=all_namespaces,
            consistency=consistency,
        )
        return cast(api.FacetRecordsResult, await self._send("facetRecords", body=body))

    def list(
        self,
        *,
        prefix: str | None = None,
        namespace: str | None = None,
        all_namespaces: bool | None = None,
        filter: api.Filter | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        include_values: bool | None = None,
        include_metadata: bool | None = None,
        consistency: Consistency | None = None,
    ) -> AsyncListing[api.ListRecordsResult, api.ListedRecord]:
        """Records in the order of their ids."""
        body = given(
            prefix=prefix,
            namespace=namespace,
            all_namespaces=all_namespaces,
            filter=filter,
            limit=limit,
            include_values=include_values,
            include_metadata=include_metadata,
            consistency=consistency,
        )

        async def ask(cursor: str | None) -> api.ListRecordsResult:
            page = {**body, **given(cursor=cursor)}
            return cast(api.ListRecordsResult, await self._send("listRecords", body=page))

        return AsyncListing(ask, cursor, "records")

    async def update(
        self,
        updates: Sequence[api.RecordUpdate] | None = None,
        *,
        filter: api.Filter | None = None,
        set_metadata: Mapping[str, Any] | None = None,
        unset_metadata: Sequence[str] | None = None,
        dry_run: bool | None = None,
        namespace: str | None = None,
    ) -> api.UpdateResult:
        """Changes values, and merges into metadata: of the records named, or of all that match."""
        body = given(
            updates=updates,
            filter=filter,
            set_metadata=set_metadata,
            unset_metadata=unset_metadata,
            dry_run=dry_run,
            namespace=namespace,
        )
        return cast(api.UpdateResult, await self._send("updateRecords", body=body))

    async def delete(
        self,
        ids: Sequence[str] | None = None,
        *,
        filter: api.Filter | None = None,
        all: Literal[True] | None = None,
        dry_run: bool | None = None,
        namespace: str | None = None,
        all_namespaces: bool | None = None,
    ) -> api.DeleteResult:
        body = given(
            ids=ids,
            filter=filter,
            all=all,
            dry_run=dry_run,
            namespace=namespace,
            all_namespaces=all_namespaces,
        )
        return cast(api.DeleteResult, await self._send("deleteVectors", body=body))

    def list_namespaces(
        self, *, prefix: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> AsyncListing[api.ListNamespacesResult, api.ListNamespacesResultNamespaces]:
        async def ask(cursor: str | None) -> api.ListNamespacesResult:
            query = given(prefix=prefix, limit=limit, cursor=cursor)
            return cast(api.ListNamespacesResult, await self._send("listNamespaces", query=query))

        return AsyncListing(ask, cursor, "namespaces")

    async def delete_namespace(self, namespace: str) -> api.DeleteResult:
        """Deletes all records of a namespace."""
        names = {"name": self.name, "namespace": namespace}
        return cast(api.DeleteResult, await self._transport.send("deleteNamespace", names))

    async def export(self) -> AsyncIterator[api.ExportedRecord]:
        """All records in one state, as they stream in; a ProvecError unless all came."""
        is_whole = False
        async for line in self.export_lines():
            said = _line(line)
            if "end" in said:
                is_whole = True
            elif "export" not in said:
                yield said
        if not is_whole:
            raise APIConnectionError("The export was cut off: it has no end.")

    async def export_lines(self) -> AsyncIterator[str]:
        """The same as lines without their ends, for `verify_export` or to be kept: the head, the
        records, the end."""
        async with self._transport.open("exportRecords", {"name": self.name}) as chunks:
            begun = b""
            async for chunk in chunks:
                *lines, begun = (begun + chunk).split(b"\n")
                for line in lines:
                    yield line.decode(errors="replace")
            if begun:
                yield begun.decode(errors="replace")

    async def import_records(self, source: AsyncImportSource) -> api.ImportRecordsResult:
        """Writes any number of records. Those before one that is refused, or before the connection
        broke, are stored; sent again as a whole, an import replaces them with the same. Only an
        import of bytes or a path is tried again."""
        make, is_repeatable = content_of(source)
        answer = await self._transport.send_lines(
            "importRecords", {"name": self.name}, make, is_repeatable
        )
        return cast(api.ImportRecordsResult, answer)

    async def verify(self) -> api.VerifyResult:
        """Recomputes the root from what is stored and compares it with the ledger."""
        return cast(api.VerifyResult, await self._send("verifyCollection"))

    async def start_verification(self) -> api.Verification:
        """Starts the same in the background, for a collection that takes minutes."""
        return cast(api.Verification, await self._send("beginVerification"))

    async def get_verification(self, id: str) -> api.Verification:
        names = {"name": self.name, "id": id}
        return cast(api.Verification, await self._transport.send("getVerification", names))

    async def proof(self, id: str, *, namespace: str | None = None) -> api.RecordProof:
        """A proof that a record is there or is not, for `verify_proof` or `verify_on_ledger`."""
        query = given(id=id, namespace=namespace)
        return cast(api.ProveRecordResult, await self._send("proveRecord", query=query))["proof"]

    def list_anchors(
        self, *, limit: int | None = None, cursor: str | None = None
    ) -> AsyncListing[api.ListAnchorsResult, api.Anchor]:
        """Roots on the ledger, the newest first."""

        async def ask(cursor: str | None) -> api.ListAnchorsResult:
            query = given(limit=limit, cursor=cursor)
            return cast(api.ListAnchorsResult, await self._send("listAnchors", query=query))

        return AsyncListing(ask, cursor, "anchors")

    async def _send(self, operation: str, **parts: Any) -> Any:
        return await self._transport.send(operation, {"name": self.name}, **parts)


def _line(line: str) -> Any:
    """Raises a ProvecError for what is no line of an export."""
    try:
        said = json_in(line)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise APIConnectionError("The export was cut off, or holds a line that is no JSON object.")
    assert_answer("exportRecords", said, OK)
    return said
