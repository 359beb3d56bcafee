"""A value that JSON cannot represent is refused, with its place, before anything is sent."""

from __future__ import annotations

import datetime
import decimal
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from types import MappingProxyType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import httpx
import numpy
import pytest

from provec import Collection, Provec

NAN, INFINITY = float("nan"), float("inf")
holds_itself: dict[str, Any] = {}
holds_itself["self"] = [holds_itself]
deep: Any = 1
for _ in range(2_000):
    deep = [deep]
FAULTS = [
    (NAN, "is nan; numbers are finite"),
    (INFINITY, "is inf; numbers are finite"),
    (numpy.float32(NAN), "is nan; numbers are finite"),
    ({1, 2}, "has the type set; JSON has no such value"),
    (len, "has the type builtin_function_or_method"),
    (decimal.Decimal(1), "has the type Decimal"),
    (datetime.date(2026, 1, 1), "has the type date"),
    (b"bytes", "has the type bytes"),
    (1j, "has the type complex"),
    ((each for each in [1]), "has the type generator"),
    ({}.keys(), "has the type dict_keys; JSON has no such value. Give a list."),
    (SimpleNamespace(a=1), "has the type SimpleNamespace; JSON has no such value."),
    ({2020: "x"}, "has the key 2020; keys are strings"),
    ({None: "x"}, "has the key None; keys are strings"),
    ("\ud800", "has a lone surrogate"),
    ({"\ud800": 1}, "has a lone surrogate"),
]


UPSERTED = {
    "upsertedCount": 1,
    "merkleRoot": "0" * 64,
    "ledgerProgram": "p",
    "ledgerTx": None,
    "ledgerExplorerUrl": None,
    "version": 1,
    "vectorCount": 1,
    "anchor": {"status": "none"},
}


class Recorded:
    """A service that accepts every request and records the bodies."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

        def answer(request: httpx.Request) -> httpx.Response:
            self.bodies.append(request.read())
            return httpx.Response(200, json=UPSERTED)

        client = httpx.Client(transport=httpx.MockTransport(answer))
        self.notes: Collection = Provec("http://x", "k", http_client=client).collection("notes")


@pytest.fixture
def recorded() -> Recorded:
    return Recorded()


def refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}"):
        call()


@pytest.mark.parametrize(("fault", "says"), FAULTS)
def test_names_the_place(recorded: Recorded, fault: Any, says: str) -> None:
    notes = recorded.notes
    refused(lambda: notes.query(vector=[1], filter={"year": fault}), f"filter.year {says}")
    refused(
        lambda: notes.delete(filter={"$and": [{"a": 1}, {"b": {"$in": ["x", fault]}}]}),
        f"filter.$and[1].b.$in[1] {says}",
    )
    refused(lambda: notes.count(filter={"a b": fault}), f"filter['a b'] {says}")
    refused(
        lambda: notes.query_many([{"id": "a"}, {"id": "b", "filter": {"year": fault}}]),
        f"queries[1].filter.year {says}",
    )
    records = [{"id": "a", "values": [1]}, {"id": "b", "values": [1], "metadata": {"year": fault}}]
    refused(lambda: notes.upsert(records), f"records[1].metadata.year {says}")
    refused(lambda: notes.import_records(records), f"records[1].metadata.year {says}")
    assert recorded.bodies == []


def test_names_the_place_where_nesting_has_no_end(recorded: Recorded) -> None:
    notes = recorded.notes
    record = {"id": "a", "values": [1], "metadata": {"year": holds_itself}}
    refused(lambda: notes.count(filter=holds_itself), "filter.self[0] contains itself")
    refused(lambda: notes.upsert([record]), "records[0].metadata.year.self[0] contains itself")
    refused(lambda: notes.import_records([record]), "records[0].metadata.year.self[0] contains")
    with pytest.raises(ValueError, match=r"^filter\.year(\[0\])+ is nested too deeply; 100 levels"):
        notes.count(filter={"year": deep})
    # Every attribute of a mock is a mock, and so is what its `tolist` returns.
    with pytest.raises(ValueError, match=r"^filter\.year is nested too deeply"):
        notes.count(filter={"year": MagicMock()})
    assert recorded.bodies == []


def test_any_iterable_of_records_is_upserted(recorded: Recorded) -> None:
    def records(count: int) -> Iterator[dict[str, Any]]:
        yield from ({"id": f"r{at}", "values": [at]} for at in range(count))

    for count in (3, 2_001):
        recorded.bodies.clear()
        recorded.notes.upsert(records(count))
        sent = [record for body in recorded.bodies for record in json.loads(body)["records"]]
        assert sent == list(records(count))


async def no_records() -> AsyncIterator[Any]:
    yield {}


@pytest.mark.parametrize("wrong", [{"id": "a"}, "a", b"a", None, 5, no_records()])
def test_records_that_are_none(recorded: Recorded, wrong: Any) -> None:
    refused(lambda: recorded.notes.upsert(wrong), "records must be a list or an iterable. It has")
    assert recorded.bodies == []


def test_a_parameter_is_a_scalar(recorded: Recorded) -> None:
    notes = recorded.notes
    refused(lambda: notes.list_namespaces(prefix={}).page(), "prefix must be text")  # type: ignore[arg-type]
    refused(lambda: notes.proof(["a"]), "id must be text")  # type: ignore[arg-type]
    assert recorded.bodies == []


@pytest.mark.parametrize("values", [[1, NAN], (1, NAN), numpy.array([1, NAN], dtype="f4")])
def test_numbers_of_a_vector(recorded: Recorded, values: Any) -> None:
    notes = recorded.notes
    refused(lambda: notes.query(vector=values), "vector[1] is nan")
    refused(lambda: notes.upsert([{"id": "a", "values": values}]), "records[0].values[1] is nan")
    refused(
        lambda: notes.import_records([{"id": "a", "values": values}]),
        "records[0].values[1] is nan",
    )
    assert recorded.bodies == []


def test_all_that_json_has_is_sent(recorded: Recorded) -> None:
    twice = {"a": 1}
    metadata = {
        "text": "ü",
        "n": numpy.float64(0.5),
        "yes": numpy.bool_(True),
        "none": None,
        "list": ([], {}, 10**20),
        "view": MappingProxyType({"a": 1}),
        "twice": [twice, twice],
    }
    recorded.notes.upsert([{"id": "a", "values": numpy.array([1, 0.5]), "metadata": metadata}])
    [body] = recorded.bodies
    assert json.loads(body)["records"] == [
        {
            "id": "a",
            "values": [1, 0.5],
            "metadata": {
                "text": "ü",
                "n": 0.5,
                "yes": True,
                "none": None,
                "list": [[], {}, 10**20],
                "view": {"a": 1},
                "twice": [{"a": 1}, {"a": 1}],
            },
        }
    ]
