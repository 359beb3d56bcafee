"""Answers of a service that is not Provec are refused, whatever the operation."""

from __future__ import annotations

import json
from collections.abc import Callable

import httpx
import pytest

import provec as package
from provec import Provec, ProvecOperator
from provec._api import ROUTES
from provec._shape import assert_answer

NDJSON = "application/x-ndjson"
HEAD = {
    "collectionId": "11111111-2222-4333-8444-555555555555",
    "name": "notes",
    "dimensions": 1,
    "metric": "cosine",
    "version": 1,
    "merkleRoot": "0" * 64,
    "vectorCount": 1,
}
BEGUN = f'{json.dumps({"export": HEAD})}\n{{"id":"a","values":[1]}}\n'
END = json.dumps({"end": {"count": 1, "merkleRoot": "0" * 64}})


def answering(content: bytes, status: int = 200, media_type: str = NDJSON) -> httpx.Client:
    answer = httpx.Response(status, content=content, headers={"Content-Type": media_type})
    return httpx.Client(transport=httpx.MockTransport(lambda _: answer))


LIMITS = {
    "vectors": 1,
    "writes": 1,
    "queries": 1,
    "collections": 1,
    "keys": 1,
    "shards": 1,
    "anchoring": True,
}
provec = Provec("http://x", "k", http_client=answering(b"{}"))
operator = ProvecOperator("http://x", "k", http_client=answering(b"{}"))
notes = provec.collection("notes")
CALLS: dict[str, Callable[[], object]] = {
    "queryVectors": lambda: notes.query(id="a"),
    "queryMany": lambda: notes.query_many([{"id": "a"}]),
    "upsertVectors": lambda: notes.upsert([{"id": "a", "values": [1]}]),
    "importRecords": lambda: notes.import_records(b""),
    "fetchVectors": lambda: notes.fetch(["a"]),
    "countRecords": lambda: notes.count(),
    "facetRecords": lambda: notes.facets("a"),
    "listRecords": lambda: list(notes.list()),
    "updateRecords": lambda: notes.update([{"id": "a", "values": [1]}]),
    "deleteVectors": lambda: notes.delete(["a"]),
    "listNamespaces": lambda: list(notes.list_namespaces()),
    "deleteNamespace": lambda: notes.delete_namespace("a"),
    "getCollection": lambda: notes.describe(),
    "updateCollection": lambda: notes.configure(tags={}),
    "deleteCollection": lambda: provec.delete_collection("notes"),
    "listCollections": lambda: provec.list_collections().page(),
    "createCollection": lambda: provec.create_collection("notes", 1),
    "verifyCollection": lambda: notes.verify(),
    "proveRecord": lambda: notes.proof("a"),
    "beginVerification": lambda: notes.start_verification(),
    "getVerification": lambda: notes.get_verification("v"),
    "exportRecords": lambda: list(notes.export()),
    "listAnchors": lambda: list(notes.list_anchors()),
    "getMemory": lambda: notes.memory(),
    "createAuditLink": lambda: notes.create_audit_link(),
    "listAuditLinks": lambda: notes.list_audit_links(),
    "revokeAuditLink": lambda: notes.revoke_audit_link("l"),
    "getAudit": lambda: provec.get_audit("t"),
    "getAlias": lambda: provec.get_alias("a"),
    "putAlias": lambda: provec.put_alias("a", "notes"),
    "deleteAlias": lambda: provec.delete_alias("a"),
    "listAliases": lambda: list(provec.list_aliases()),
    "getUsage": lambda: provec.get_usage(),
    "getDailyUsage": lambda: provec.get_daily_usage(),
    "listKeys": lambda: list(provec.list_keys()),
    "listAuditEntries": lambda: list(provec.list_audit_entries()),
    "createKey": lambda: provec.create_key("k"),
    "revokeKey": lambda: provec.revoke_key("k"),
    "createAccount": lambda: operator.create_account("a", "free"),
    "listAccounts": lambda: list(operator.list_accounts()),
    "listPlans": lambda: operator.list_plans(),
    "putPlan": lambda: operator.put_plan("a", **LIMITS),
    "deletePlan": lambda: operator.delete_plan("a"),
    "changePlan": lambda: operator.change_plan("a", "free"),
    "deleteAccount": lambda: operator.delete_account("a"),
    "getAccount": lambda: operator.get_account("a"),
    "listAccountKeys": lambda: list(operator.list_keys("a")),
    "createAccountKey": lambda: operator.create_key("a", "k"),
    "revokeAccountKey": lambda: operator.revoke_key("a", "k"),
    "listAllAuditEntries": lambda: list(operator.list_audit_entries()),
    "listNodes": lambda: operator.list_nodes(),
    "drainNode": lambda: operator.drain_node("n"),
    "listShards": lambda: list(operator.list_shards()),
    "moveShard": lambda: operator.move_shard("c.0", "n"),
    "listAllCollections": lambda: list(operator.list_collections()),
    "listAllAnchors": lambda: list(operator.list_anchors()),
    "listAllVerifications": lambda: list(operator.list_verifications()),
    "resumeAnchoring": lambda: operator.resume_anchoring("c"),
    "startBackup": lambda: operator.start_backup(),
    "listBackups": lambda: list(operator.list_backups()),
    "getLedger": lambda: operator.get_ledger(),
}


@pytest.mark.parametrize("operation", ROUTES)
def test_an_empty_answer(operation: str) -> None:
    with pytest.raises(package.ServerError, match=rf"not an answer to {operation}: \w+ is missing"):
        CALLS[operation]()


def refused(answer: object) -> bool:
    try:
        assert_answer("queryVectors", answer, 200)
    except package.ServerError:
        return True
    return False


def test_each_part_counts() -> None:
    metadata = {"n": [None]}
    match = {"id": "a", "score": 1, "values": [0.5, 1], "metadata": metadata, "added": 1}
    answer = {"matches": [match], "shards": {"total": 1, "ok": 1.0, "failed": 0}}
    assert not refused(answer)
    for wrong in (
        None,
        [],
        {"matches": {}},
        {"matches": [None]},
        {"matches": [{"id": "a"}]},
        {"matches": [{**match, "score": "1"}]},
        {"matches": [{**match, "score": True}]},
        {"matches": [{**match, "score": None}]},
        {"matches": [match, {**match, "values": [1, "2"]}]},
        {"matches": [{**match, "values": [1, True]}]},
        {"matches": [{**match, "values": None}]},
        {"matches": [{**match, "metadata": []}]},
        {**answer, "shards": {"total": 1.5, "ok": 1, "failed": 0}},
        {**answer, "shards": {"total": 1, "ok": 1}},
    ):
        assert refused(wrong), wrong


@pytest.mark.parametrize("line", ["[]", "{}", '{"id":"a"}', '{"id":"a","values":["1"]}', "<html>"])
def test_a_line_that_is_none_of_an_export(line: str) -> None:
    client = Provec("http://x", "k", http_client=answering(line.encode()))
    with pytest.raises(package.ProvecError):
        list(client.collection("notes").export())


def lines_of(text: str, status: int = 200, media_type: str = NDJSON) -> list[str]:
    client = Provec(
        "http://x", "k", max_retries=0, http_client=answering(text.encode(), status, media_type)
    )
    return list(client.collection("notes").export_lines())


@pytest.mark.parametrize(
    ("text", "status", "media_type", "error"),
    [
        ("<html>", 200, "text/html", package.ServerError),
        (BEGUN + END, 200, "text/plain", package.ServerError),
        ("", 204, NDJSON, package.APIConnectionError),
        ("", 200, NDJSON, package.APIConnectionError),
        ("{}", 200, NDJSON, package.ServerError),
        ('{"id":"a","values":[1]}\n' + END, 200, NDJSON, package.ServerError),
        ("<html>\n" + END, 200, NDJSON, package.APIConnectionError),
        (BEGUN, 200, NDJSON, package.APIConnectionError),
        (BEGUN + END[:-5], 200, NDJSON, package.APIConnectionError),
        (BEGUN + END + '\n{"id":"b","values":[1]}\n', 200, NDJSON, package.APIConnectionError),
    ],
)
def test_lines_that_are_no_whole_export(
    text: str, status: int, media_type: str, error: type[package.ProvecError]
) -> None:
    with pytest.raises(error):
        lines_of(text, status, media_type)


@pytest.mark.parametrize("end", [END, END + "\n"])
def test_lines_of_a_whole_export(end: str) -> None:
    lines = lines_of(BEGUN + end, media_type="application/x-ndjson; charset=utf-8")
    assert lines == (BEGUN + END).split("\n")


@pytest.mark.parametrize("length", [1, 2, 3, 7])
def test_pages_in_a_cycle_end(length: int) -> None:
    pages = 0

    def answer(_: httpx.Request) -> httpx.Response:
        nonlocal pages
        pages += 1
        cursor = f"c{pages if pages < 5 else 5 + pages % length}"
        return httpx.Response(200, content=json.dumps({"records": [], "nextCursor": cursor}))

    http_client = httpx.Client(transport=httpx.MockTransport(answer))
    listing = Provec("http://x", "k", http_client=http_client).collection("notes").list()
    with pytest.raises(package.ServerError, match="form a cycle"):
        list(listing)
    assert pages < 5 + 4 * length + 8


def test_a_list_of_empty_pages_with_new_cursors_is_refused() -> None:
    pages = 0

    def answer(_: httpx.Request) -> httpx.Response:
        nonlocal pages
        # One page in every 900 has a record, up to a point.
        records = [{"id": "a"}] if pages < 2000 and pages % 900 == 0 else []
        pages += 1
        content = json.dumps({"records": records, "nextCursor": f"c{pages if pages < 5000 else 0}"})
        return httpx.Response(200, content=content)

    http_client = httpx.Client(transport=httpx.MockTransport(answer))
    listing = Provec("http://x", "k", http_client=http_client).collection("notes").list()
    with pytest.raises(package.ServerError, match="1000 pages in a row are empty"):
        list(listing)
    assert pages == 1800 + 1 + 1000
