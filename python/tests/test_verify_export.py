from __future__ import annotations

import json
from typing import Any

import pytest

from provec import VerificationError, verify_export
from provec.verify import root_of_records

RECORDS: list[dict[str, Any]] = [
    {"id": "a", "values": [1, 2], "metadata": {"n": 1}},
    {"id": "b", "values": [0.5, -0.0], "metadata": {}},
    {"id": "a", "values": [1, 2], "metadata": {}, "namespace": "second"},
]
ROOT = root_of_records(RECORDS)
HEAD = {
    "collectionId": "11111111-2222-4333-8444-555555555555",
    "name": "notes",
    "dimensions": 2,
    "metric": "cosine",
    "version": 3,
    "merkleRoot": ROOT,
    "vectorCount": 3,
}
END = {"count": 3, "merkleRoot": ROOT}
LINES = [json.dumps(line) for line in [{"export": HEAD}, *RECORDS, {"end": END}]]


def nested(levels: int) -> str:
    return '{"id": "c", "values": [1], "metadata": {"a": ' + "[" * levels + "]" * levels + "}}"


def test_takes_what_is_whole_in_any_order() -> None:
    verified = verify_export(LINES)
    assert (verified.merkle_root, verified.vector_count, verified.version) == (ROOT, 3, 3)
    assert verify_export([LINES[0], *reversed(LINES[1:4]), LINES[4], ""]).merkle_root == ROOT


@pytest.mark.parametrize(
    ("reason", "lines"),
    [
        ("malformed", LINES[:-1]),
        ("malformed", LINES[1:]),
        ("malformed", []),
        ("malformed", [*LINES, LINES[1]]),
        ("malformed", [LINES[0], "[1]", *LINES[1:]]),
        ("malformed", [LINES[0], '{"id": "x"', *LINES[1:]]),
        ("malformed", [LINES[0], '{"id": "x", "id": "c", "values": [1]}', *LINES[1:]]),
        ("malformed", [LINES[0], '{"id": "c", "values": [1], "score": 1}', *LINES[1:]]),
        ("malformed", [LINES[0], LINES[1], *LINES[1:]]),
        ("malformed", [json.dumps({"export": HEAD, "id": "x"}), *LINES[1:]]),
        ("malformed", [json.dumps({"export": {**HEAD, "more": 1}}), *LINES[1:]]),
        ("malformed", [json.dumps({"export": {**HEAD, "merkleRoot": ROOT.upper()}}), *LINES[1:]]),
        ("malformed", [json.dumps({"export": {**HEAD, "name": float("nan")}}), *LINES[1:]]),
        ("malformed", [LINES[0], '{"id": "c", "values": "12"}', *LINES[1:]]),
        ("malformed", [LINES[0], '{"id": "c", "values": {"0": 1, "length": 1}}', *LINES[1:]]),
        ("malformed", [LINES[0], '{"id": "c", "values": []}', *LINES[1:]]),
        ("malformed", [LINES[0], '{"id": "c", "values": [1], "metadata": null}', *LINES[1:]]),
        ("malformed", [LINES[0], '{"id": "c", "values": [1], "metadata": []}', *LINES[1:]]),
        ("malformed", [LINES[0], '{"id": "", "values": [1]}', *LINES[1:]]),
        ("malformed", [LINES[0], nested(70), *LINES[1:]]),
        ("malformed", [LINES[0], nested(700), *LINES[1:]]),
        ("malformed", [LINES[0], nested(100_000), *LINES[1:]]),
        ("wrong-content", [*LINES[:3], LINES[4]]),
        ("wrong-content", [*LINES[:4], json.dumps({"end": {**END, "count": 2}})]),
        ("wrong-root", [*LINES[:3], LINES[3].replace("[1, 2]", "[1, 3]"), LINES[4]]),
        ("wrong-root", [*LINES[:4], json.dumps({"end": {**END, "merkleRoot": "0" * 64}})]),
    ],
)
def test_refuses_what_is_not(reason: str, lines: list[str]) -> None:
    with pytest.raises(VerificationError) as refused:
        verify_export(lines)
    assert refused.value.reason == reason
