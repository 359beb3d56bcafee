# Generated from _async by tools/unasync.py; edit that instead.
"""Reads the content of an answer up to a limit, so that no server can fill the client's memory."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator

import httpx

#: Accepts gzip, which `pieces_of` can read.
GZIP = {"Accept-Encoding": "gzip"}
#: Accepts answers only as they are; httpx would add codings of its own.
UNCOMPRESSED = {"Accept-Encoding": "identity"}
GZIP_WBITS = 31
#: Maximum number of bytes that are decompressed at a time.
PIECE_MAX_BYTES = 64 * 1024


def pieces_of(response: httpx.Response) -> Iterator[bytes]:
    """Yields the decompressed bytes of an answer. Raises httpx.RequestError."""
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if response.is_stream_consumed:  # by a hook of the caller's own http_client
        yield response.content
    elif encoding in ("", "identity"):
        for chunk in response.iter_raw():
            yield chunk
    elif encoding == "gzip":
        inflater = zlib.decompressobj(GZIP_WBITS)
        for chunk in response.iter_raw():
            while chunk:
                try:
                    yield inflater.decompress(chunk, PIECE_MAX_BYTES)
                except zlib.error as error:
                    raise httpx.DecodingError(str(error)) from error
                chunk = inflater.unconsumed_tail
        yield inflater.flush()
    else:
        raise httpx.DecodingError("the answer has a Content-Encoding that the client cannot read")


def content_of(
    response: httpx.Response, max_bytes: float, timeout: float | None
) -> bytes | None:
    """Returns the whole content, or None if it exceeds `max_bytes`. `timeout`: seconds. Raises
    httpx.RequestError."""
    content, began = bytearray(), time.monotonic()
    for piece in pieces_of(response):
        content += piece
        if len(content) > max_bytes:
            return None
        if timeout is not None and time.monotonic() - began > timeout:
            raise httpx.ReadTimeout(f"The answer did not end within {timeout:g} s.")
    return bytes(content)
