from __future__ import annotations

import io

from .errors import VerificationError, check
from .shape import matches


class Reader:
    """Reads little-endian data from front to back. `what`: name of the data in errors."""

    def __init__(self, data: bytes, what: str) -> None:
        self._stream = io.BytesIO(data)
        self._what = what

    def rest(self, size: int = -1) -> bytes:
        return self._stream.read(size)

    def take(self, size: int) -> bytes:
        data = self._stream.read(size)
        check(len(data) == size, "malformed", f"The {self._what} ends too early.")
        return data

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def text(self) -> str:
        """Reads the length (4 bytes) and then that many bytes of UTF-8."""
        try:
            return self.take(self.number(4)).decode()
        except UnicodeDecodeError:
            raise VerificationError(
                "malformed", f"The {self._what} has text that is not UTF-8."
            ) from None

    def end(self) -> None:
        check(not self.rest(), "malformed", f"Bytes are left over after the {self._what}.")


def is_base64(text: object) -> bool:
    return matches("[A-Za-z0-9+/]*={0,2}", text) and len(str(text)) % 4 == 0
