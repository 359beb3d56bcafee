from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

from . import _api as api
from ._api import RECORDS_PER_UPSERT
from ._errors import APIStatusError, ProvecError, explained
from ._json import json_of

PLACE = re.compile(r"\brecords\[(\d+)\]")


class UpsertParts:
    """An upsert of more records than one request has. Raises TypeError or ValueError, before
    anything is sent, for a value that JSON cannot represent."""

    def __init__(self, records: Sequence[Any]) -> None:
        for at, record in enumerate(records):
            json_of(record, f"records[{at}]")
        self._records = records
        self._from = 0
        self._count = 0
        self._warnings: list[str] = []
        self._last: dict[str, Any] = {}

    def unsent(self) -> Iterator[Sequence[Any]]:
        """The parts, one after another."""
        for at in range(0, len(self._records), RECORDS_PER_UPSERT):
            self._from = at
            yield self._records[at : at + RECORDS_PER_UPSERT]

    def add(self, answer: dict[str, Any]) -> None:
        """Takes the answer to the newest part."""
        self._last = answer
        self._count += answer["upsertedCount"]
        self._warnings += map(self._placed, answer.get("warnings", []))

    def result(self) -> api.UpsertResult:
        """The sums of the counts, all warnings, and otherwise the last answer."""
        whole = {**self._last, "upsertedCount": self._count}
        if self._warnings:
            whole["warnings"] = self._warnings
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
