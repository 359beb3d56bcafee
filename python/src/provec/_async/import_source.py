from __future__ import annotations

import os
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping
from typing import IO, Any

from .._each import each
from .._json import json_of
from .transport import MakeContent

ImportedRecord = Mapping[str, Any] | str | bytes
#: Records or whole lines; NDJSON as bytes, as a file open in binary mode, or as a path.
AsyncImportSource = (
    AsyncIterable[ImportedRecord] | Iterable[ImportedRecord] | bytes | IO[bytes] | os.PathLike[str]
)

CHUNK_BYTES = 64 * 1024


def content_of(source: AsyncImportSource) -> tuple[MakeContent, bool]:
    """Returns a function that creates the body of an import, and whether it can be called again.
    Raises TypeError for text, which could be a path or NDJSON."""
    if isinstance(source, str):
        raise TypeError("give NDJSON as bytes, and the path of a file as a pathlib.Path")
    if isinstance(source, bytes):
        return lambda: source, True
    if isinstance(source, os.PathLike):
        return lambda: _file_chunks(source), True
    return lambda: _line_chunks(source), False


async def _file_chunks(path: os.PathLike[str]) -> AsyncIterator[bytes]:
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


async def _line_chunks(
    source: AsyncIterable[ImportedRecord] | Iterable[ImportedRecord],
) -> AsyncIterator[bytes]:
    chunk, at = bytearray(), 0
    async for record in each(source):
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
