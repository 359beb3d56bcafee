from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from . import _api as api
from ._api import RECORDS_PER_UPSERT
from ._errors import APIStatusError, ProvecError, explained
from ._json import json_of

PLACE = re.compile(r"\brecords\[(\d+)\]")
# Maximum bytes of the records of a request. The service accepts bodies of 64 MiB.
PART_MAX_BYTES = 48 * 1024 * 1024
# Maximum characters of a number in JSON, with the comma that follows it.
NUMBER_MAX_CHARS = 25


def listed(records: Iterable[Any]) -> Sequence[Any]:
    """All of an iterable. Raises TypeError for what is not one of records."""
    if isinstance(records, (list, tuple)):
        return records
    if not isinstance(records, Iterable) or isinstance(records, (str, bytes, Mapping)):
        kind = type(records).__name__
        raise TypeError(f"records must be a list or an iterable. It has the type {kind}.")
    return list(records)


def starts_of(records: Sequence[Any]) -> list[int]:
    """Where each part of the records begins, in as few parts as requests can have. Raises as
    `json_of` does."""
    starts = [0]
    total = 0
    for at, record in enumerate(records):
        own = _most_bytes_of(record, at)
        total += own
        if at > starts[-1] and (at - starts[-1] == RECORDS_PER_UPSERT or total > PART_MAX_BYTES):
            starts.append(at)
            total = own
    return starts


def _most_bytes_of(record: Any, at: int) -> int:
    """Upper bound of the bytes of a record's JSON, without writing its vector."""
    if not isinstance(record, Mapping):
        return 0
    values: Any = record.get("values")
    rest = {name: value for name, value in record.items() if name != "values"}
    numbers = len(values) if hasattr(values, "__len__") else 0
    # The name of the vector and its brackets are 11 bytes.
    return 11 + len(json_of(rest, f"records[{at}]")) + NUMBER_MAX_CHARS * numbers


class UpsertParts:
    """An upsert in several requests, which begin at `starts`. Raises TypeError or ValueError,
    before anything is sent, for what JSON has no value for."""

    def __init__(self, records: Sequence[Any], starts: Sequence[int]) -> None:
        for at, record in enumerate(records):
            json_of(record, f"records[{at}]")
        self._records = records
        self._starts = starts
        self._from = 0
        self._count = 0
        #: Each once, with places among all records.
        self.warnings: list[str] = []
        self._last: dict[str, Any] = {}

    def unsent(self) -> Iterator[Sequence[Any]]:
        """The parts, one after another."""
        ends = [*self._starts[1:], len(self._records)]
        for start, end in zip(self._starts, ends, strict=True):
            self._from = start
            yield self._records[start:end]

    def add(self, answer: dict[str, Any]) -> None:
        """Takes the answer to the newest part."""
        self._last = answer
        self._count += answer["upsertedCount"]
        placed = map(self._placed, answer.get("warnings", []))
        self.warnings = list(dict.fromkeys([*self.warnings, *placed]))

    def result(self) -> api.UpsertResult:
        """The sums of the counts, all warnings, and otherwise the last answer."""
        whole = {**self._last, "upsertedCount": self._count}
        if self.warnings:
            whole["warnings"] = self.warnings
        return cast(api.UpsertResult, whole)

    def error_of(self, error: ProvecError) -> ProvecError:
        """The error of the newest part, with places among all records and `stored_count`."""
        if isinstance(error, APIStatusError):
            [body] = error.args
            details = [{**detail, "path": self._placed(detail["path"])} for detail in error.details]
            sentence = self._placed(str(error))
            error = type(error)({**body, "error": sentence, "details": details})
        stored = f"The first {self._from} of {len(self._records)} records were stored before."
        whole = cast(ProvecError, explained(error, stored))
        whole.stored_count = self._from
        return whole

    def _placed(self, text: str) -> str:
        return PLACE.sub(lambda found: f"records[{int(found[1]) + self._from}]", text)
