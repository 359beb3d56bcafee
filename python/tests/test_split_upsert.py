from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import provec as package
from provec import Collection, Provec

RESULT = {
    "merkleRoot": "0" * 64,
    "ledgerProgram": "p",
    "ledgerTx": None,
    "ledgerExplorerUrl": None,
    "anchor": {"status": "none"},
}
Answer = Callable[[Any, int], tuple[int, Any]]


def written(sent: Any, request: int) -> tuple[int, Any]:
    count = len(sent["records"])
    return 200, {**RESULT, "upsertedCount": count, "version": request, "vectorCount": request}


def collection(answer: Answer) -> tuple[list[Any], Collection]:
    sent: list[Any] = []

    def handle(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.read()))
        status, body = answer(sent[-1], len(sent))
        return httpx.Response(status, json=body)

    http_client = httpx.Client(transport=httpx.MockTransport(handle))
    return sent, Provec("http://x", "k", http_client=http_client).collection("notes")


def records_of(count: int) -> list[dict[str, Any]]:
    return [{"id": f"r{at}", "values": [at]} for at in range(count)]


@pytest.mark.parametrize(
    ("count", "sizes"),
    [(1, [1]), (1_000, [1_000]), (1_001, [1_000, 1]), (2_500, [1_000, 1_000, 500])],
)
def test_parts(count: int, sizes: list[int]) -> None:
    sent, notes = collection(written)
    records = records_of(count)
    result = notes.upsert(records, namespace="n")
    expected = {"upsertedCount": count, "version": len(sizes), "vectorCount": len(sizes)}
    assert result == {**RESULT, **expected}
    assert [len(each["records"]) for each in sent] == sizes
    assert [record for each in sent for record in each["records"]] == records
    assert {each["namespace"] for each in sent} == {"n"}
    waits = [each.get("waitForAnchor", True) for each in sent]
    assert waits == [False] * (len(sizes) - 1) + [True]


@pytest.mark.parametrize(
    ("count", "rest", "sizes"),
    [
        (500, {"values": [0] * 8_192}, [245, 245, 10]),
        (3, {"values": [1], "metadata": {"text": "é" * 13_000_000}}, [1, 1, 1]),
    ],
)
def test_parts_of_large_records(count: int, rest: dict[str, Any], sizes: list[int]) -> None:
    sent, notes = collection(written)
    result: Any = notes.upsert([{"id": f"r{at}", **rest} for at in range(count)])
    assert result["upsertedCount"] == count
    assert [len(each["records"]) for each in sent] == sizes


def test_warnings_of_all_parts_come_once_each() -> None:
    def warning(sent: Any, request: int) -> tuple[int, Any]:
        status, result = written(sent, request)
        own = [] if request == 2 else [f"records[7].metadata.n in {request}"]
        return status, {**result, "warnings": ["the same", *own]}

    _, notes = collection(warning)
    with pytest.warns(package.ProvecWarning) as found:
        result: Any = notes.upsert(records_of(2_500))
    assert result["upsertedCount"] == 2_500
    expected = ["the same", "records[7].metadata.n in 1", "records[2007].metadata.n in 3"]
    assert result["warnings"] == [str(each.message) for each in found] == expected


def test_one_that_fails() -> None:
    refusal = {
        "error": "records[3].values must have 1 number, not 2.",
        "code": "DIMENSION_MISMATCH",
        "status": 400,
        "requestId": "r",
        "details": [{"path": "records[3].values", "expected": "1 number", "got": "2"}],
    }
    sent, notes = collection(lambda body, at: (400, refusal) if at == 3 else written(body, at))
    with pytest.raises(package.BadRequestError) as refused:
        notes.upsert(records_of(5_000))
    assert str(refused.value) == (
        "records[2003].values must have 1 number, not 2. "
        "The first 2000 of 5000 records were stored before."
    )
    assert refused.value.stored_count == 2_000
    assert refused.value.details[0]["path"] == "records[2003].values"
    assert len(sent) == 3


def test_no_record_is_sent_if_one_holds_nan() -> None:
    sent, notes = collection(written)
    records = records_of(2_500)
    records[2_400]["values"] = [float("nan")]
    with pytest.raises(ValueError, match=r"^records\[2400\]\.values\[0\] is nan"):
        notes.upsert(records)
    assert sent == []


def test_defaults_of_the_service_are_not_sent() -> None:
    """Otherwise a limit lowered by an operator could refuse the client's defaults."""
    answers = {
        "query": {"matches": []},
        "list": {"records": []},
        "facets": {"values": [], "missing": 0},
    }
    seen: list[Any] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append((request.url.query, json.loads(request.read() or b"null")))
        name = request.url.path.rsplit("/", 1)[1]
        return httpx.Response(200, json=answers.get(name, {"namespaces": []}))

    http_client = httpx.Client(transport=httpx.MockTransport(handle))
    notes = Provec("http://x", "k", http_client=http_client).collection("notes")
    notes.query(id="a")
    notes.query(id="a", top_k=10, include_metadata=False, allow_partial=True)
    list(notes.list())
    notes.facets("x", limit=21)
    list(notes.list_namespaces())
    list(notes.list_namespaces(limit=7))
    assert seen == [
        (b"", {"id": "a"}),
        (b"", {"id": "a", "includeMetadata": False, "allowPartial": True}),
        (b"", {}),
        (b"", {"field": "x", "limit": 21}),
        (b"", None),
        (b"limit=7", None),
    ]
