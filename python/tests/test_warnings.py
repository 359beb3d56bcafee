"""Warnings in answers reach the program, whatever the method returns."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from provec import AsyncProvec, Collection, Provec, ProvecWarning
from provec import _warning as shown

WARNING = "No record has the field yaer; did you mean year?"
WRITTEN = {
    "merkleRoot": "0" * 64,
    "ledgerProgram": "p",
    "ledgerTx": None,
    "ledgerExplorerUrl": None,
    "anchor": {"status": "none"},
    "version": 1,
    "vectorCount": 1,
}
ANSWERS: dict[str, dict[str, Any]] = {
    "count": {"count": 0},
    "query": {"matches": []},
    "facets": {"values": [], "missing": 0},
    "list": {"records": []},
    "update": {"matchedCount": 0, "updatedCount": 0, **WRITTEN},
    "delete": {"deleted": True, "deletedCount": 0, **WRITTEN},
    "upsert": {"upsertedCount": 1, **WRITTEN},
    "import": {"importedCount": 1, **WRITTEN},
    "queries": {"results": [{"matches": [], "warnings": [WARNING]}, {"matches": []}]},
}
FILTER = {"yaer": 1}
CALLS: dict[str, Callable[[Collection], object]] = {
    "count": lambda notes: notes.count(filter=FILTER),
    "query": lambda notes: notes.query(id="a", filter=FILTER),
    "query_many": lambda notes: notes.query_many([{"id": "a", "filter": FILTER}, {"id": "a"}]),
    "facets": lambda notes: notes.facets("yaer"),
    "list": lambda notes: list(notes.list(filter=FILTER)),
    "update": lambda notes: notes.update(filter=FILTER, set_metadata={"a": 1}),
    "delete": lambda notes: notes.delete(filter=FILTER),
    "upsert": lambda notes: notes.upsert([{"id": "a", "values": [1]}]),
    "import_records": lambda notes: notes.import_records(b"{}"),
}
sent: list[str] = []


def answer(request: httpx.Request) -> httpx.Response:
    name = request.url.path.rsplit("/", 1)[1]
    sent.append(name)
    warned = {} if name == "queries" else {"warnings": [WARNING]}
    return httpx.Response(200, content=json.dumps({**ANSWERS[name], **warned}))


@pytest.fixture
def notes() -> Collection:
    sent.clear()
    shown.SHOWN.clear()
    client = httpx.Client(transport=httpx.MockTransport(answer))
    return Provec("http://x", "k", http_client=client).collection("notes")


@pytest.mark.parametrize("method", CALLS)
def test_each_method_warns_the_line_that_called_it(notes: Collection, method: str) -> None:
    with pytest.warns(ProvecWarning) as found:
        CALLS[method](notes)
    assert [(str(each.message), each.filename) for each in found] == [(WARNING, __file__)]


def test_with_await() -> None:
    async def count() -> int:
        client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
        async with client, AsyncProvec("http://x", "k", http_client=client) as provec:
            return await provec.collection("notes").count(filter=FILTER)

    with pytest.warns(ProvecWarning) as found:
        assert asyncio.run(count()) == 0
    assert [each.filename for each in found] == [__file__]


def test_a_line_warns_once_unless_filters_say_otherwise(notes: Collection) -> None:
    for action, times in (("default", 1), ("always", 3), ("ignore", 0)):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter(action, ProvecWarning)  # type: ignore[arg-type]
            for _ in range(3):
                notes.count(filter=FILTER)
        assert len(found) == times


def test_warnings_that_never_repeat_take_no_memory(
    notes: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown, "SHOWN_MAX", 3)
    for at in range(10):
        with pytest.warns(ProvecWarning):
            shown.warn([f"warning {at}"])
        assert len(shown.SHOWN) <= 5


def test_a_warning_as_an_error_stops_no_upsert(notes: Collection) -> None:
    records = [{"id": f"r{at}", "values": [at]} for at in range(2_500)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ProvecWarning):
            notes.upsert(records)
    assert sent == ["upsert"] * 3
