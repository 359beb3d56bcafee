# Generated from _async by tools/unasync.py; edit that instead.
from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any

from .._json import json_of
from .transport import MakeContent

ImportedRecord = Mapping[str, Any] | str | bytes
#: Records or whole lines; NDJSON as bytes, as a file open in binary mode, or as a path.
ImportSource = (
    Iterable[ImportedRecord] | bytes | IO[bytes] | os.PathLike[str]
)

CHUNK_BYTES = 64 * 1024


def content_of(source: ImportSource) -> tuple[MakeContent, bool]:
    """Returns a function that creates the body of an import, and whether it can be called again.
    Raises TypeError for text, which could be a path or NDJSON."""
    if isinstance(source, str):
        raise TypeError("give NDJSON as bytes, and the path of a file as a pathlib.Path")
    if isinstance(source, bytes):
        return lambda: source, True
    if isinstance(source, os.PathLike):
        return lambda: _file_chunks(source), True
    return lambda: _line_chunks(source), False


def _file_chunks(path: os.PathLike[str]) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def _line_chunks(
    source: Iterable[ImportedRecord],
) -> Iterator[bytes]:
    chunk, at = bytearray(), 0
    for record in source:
        if isinstance(record, str):
            chunk += record.encode()
        elif isinstance(record, (bytes, bytearray)):
            chunk += record
        else:
            chunk += json_of(record, f"records[{at}]")
        at += 1
        if not chunk.endswith(b"\n"):
            chunk += b"\n"
        if len(chunk) >= CHUNK_BYTES:
            yield bytes(chunk)
            chunk.clear()
    if chunk:
        yield bytes(chunk)
