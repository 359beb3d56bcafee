from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from . import _api as api
from ._api import RECORDS_PER_UPSERT
from ._errors import APIStatusError, ProvecError, explained
from ._json import json_of

PLACE = re.compile(r"\brecords\[(\d+)\]")
# Maximum size, in bytes, of the records in one request. The service accepts 64 MiB bodies.
PART_MAX_BYTES = 48 * 1024 * 1024
# Maximum number of characters for a number in JSON, including the comma after it.
NUMBER_MAX_CHARS = 25


def listed(records: Iterable[Any]) -> Sequence[Any]:
    """Reads all records. Raises TypeError if the value is not an iterable of records."""
    if isinstance(records, (list, tuple)):
        return records
    if not isinstance(records, Iterable) or isinstance(records, (str, bytes, Mapping)):
        kind = type(records).__name__
        raise TypeError(f"records must be a list or an iterable. It has the type {kind}.")
    return list(records)


def starts_of(records: Sequence[Any]) -> list[int]:
    """Splits records into as few parts as the limits of a request allow. Returns the index at which
    each part begins. Raises the errors of `json_of`."""
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
    """Returns an upper bound, in bytes, of a record's JSON, without encoding its vector."""
    if not isinstance(record, Mapping):
        return 0
    values: Any = record.get("values")
    rest = {name: value for name, value in record.items() if name != "values"}
    numbers = len(values) if hasattr(values, "__len__") else 0
    # The vector's name and brackets take 11 bytes.
    return 11 + len(json_of(rest, f"records[{at}]")) + NUMBER_MAX_CHARS * numbers


class UpsertParts:
    """An upsert in several requests, which begin at `starts`. Raises TypeError or ValueError for
    values that JSON cannot represent, before anything is sent."""

    def __init__(self, records: Sequence[Any], starts: Sequence[int]) -> None:
        for at, record in enumerate(records):
            json_of(record, f"records[{at}]")
        self._records = records
        self._starts = starts
        self._from = 0
        self._count = 0
        #: Distinct warnings. Their places count from the first of all records.
        self.warnings: list[str] = []
        self._last: dict[str, Any] = {}

    def unsent(self) -> Iterator[tuple[Sequence[Any], bool]]:
        """Yields the parts, one after another, and whether each is the last."""
        ends = [*self._starts[1:], len(self._records)]
        for start, end in zip(self._starts, ends, strict=True):
            self._from = start
            yield self._records[start:end], end == len(self._records)

    def add(self, answer: dict[str, Any]) -> None:
        """Records the answer to the latest part."""
        self._last = answer
        self._count += answer["upsertedCount"]
        placed = map(self._placed, answer.get("warnings", []))
        self.warnings = list(dict.fromkeys([*self.warnings, *placed]))

    def result(self) -> api.UpsertResult:
        """Returns the sum of the counts, all warnings, and the other fields of the last answer."""
        whole = {**self._last, "upsertedCount": self._count}
        if self.warnings:
            whole["warnings"] = self.warnings
        return cast(api.UpsertResult, whole)

    def error_of(self, error: ProvecError) -> ProvecError:
        """Adds `stored_count` to the latest part's error. Places count from the first record."""
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
